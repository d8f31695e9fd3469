import type { FrontierEntry } from '../core/drafter.js';
import { cutAtAgreement } from './frontier.js';
import { type Repeats, joinRuns } from './join-runs.js';
import { type LoadOptions, type RunSources, loadRun } from './load-run.js';
import { type StandIn, meanClaimStandIn, questionStandIn } from './stand-in.js';
import { thresholdCurve } from './threshold-curve.js';

/** Agreement at which drafters are compared: the bar of the papers and of the profile's default. */
export const FRONTIER_AGREEMENT = 0.9;

/**
 * A drafter on runs that it was not trained on: for each dataset the largest call cut at an agreement with its slots in the margin, beside both
 * baselines and the claims' own text (method.md §7). Every run is read once for each of them.
 */
export async function drafterFrontier(
  runs: readonly string[],
  sources: RunSources,
  drafted: StandIn,
  {
    meanClaims,
    agreement,
    repeats,
    ...options
  }: LoadOptions & { meanClaims: readonly Float32Array[]; agreement: number; repeats?: Repeats | undefined },
): Promise<FrontierEntry[]> {
  const cuts = async (standIn?: StandIn): Promise<{ dataset: string; questions: number; cut: number }[]> => {
    const loaded = [];
    for (const run of runs) loaded.push(await loadRun(run, { ...sources, drafter: undefined }, { ...options, standIn }));
    return joinRuns(loaded, repeats).datasets.map(({ dataset, questions }) => ({
      dataset,
      questions: questions.length,
      cut: cutAtAgreement(thresholdCurve(questions), agreement).callCut,
    }));
  };
  const own = await cuts(drafted);
  const mean = await cuts(meanClaimStandIn(drafted, meanClaims));
  const question = await cuts(questionStandIn);
  const text = await cuts();
  return own.map(({ dataset, questions, cut }, at) => ({
    dataset,
    questions,
    decider: sources.decider,
    agreement,
    drafter: cut,
    mean_claim: mean[at]?.cut as number,
    question: question[at]?.cut as number,
    claim_text: text[at]?.cut as number,
  }));
}

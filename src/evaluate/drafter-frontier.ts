import type { FrontierEntry } from '../core/drafter.js';
import { type LearntCounts, countLearnt } from '../core/training-questions.js';
import { cutAtAgreement } from './frontier.js';
import { type Repeats, joinRuns } from './join-runs.js';
import { type LoadOptions, type RunSources, loadRun } from './load-run.js';
import type { QuestionRun } from './question-run.js';
import { type StandIn, meanClaimStandIn, questionStandIn } from './stand-in.js';
import { thresholdCurve } from './threshold-curve.js';

/** Agreement at which drafters are compared: the bar of the papers and of the profile's default. */
export const FRONTIER_AGREEMENT = 0.9;

/** A drafter's frontier on some runs, and what to say of the questions that could not be used. */
export interface MeasuredFrontier {
  frontier: FrontierEntry[];
  warnings: string[];
}

/**
 * A drafter on runs: for each dataset the largest call cut at an agreement with its slots in the margin, beside both baselines and the
 * claims' own text (method.md §7). Questions that the drafter was trained on, or that chose its epoch, are left out and counted; a dataset
 * of which none is left has no entry. Every run is read once for each of the four.
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
): Promise<MeasuredFrontier> {
  const { learntFrom } = drafted;
  const heldOut = async (standIn?: StandIn): Promise<{ dataset: string; questions: QuestionRun[]; leftOut: LearntCounts }[]> => {
    const loaded = [];
    for (const run of runs) loaded.push(await loadRun(run, { ...sources, drafter: undefined }, { ...options, standIn, learntFrom }));
    return joinRuns(loaded, repeats).datasets.map(({ dataset, questions }) => ({
      dataset,
      questions: questions.filter((one) => !one.learnt),
      leftOut: countLearnt(questions.map((one) => one.learnt)),
    }));
  };
  const own = await heldOut(drafted);
  const mean = await heldOut(meanClaimStandIn(drafted, meanClaims));
  const question = await heldOut(questionStandIn);
  const text = await heldOut();
  const measured: MeasuredFrontier = { frontier: [], warnings: [] };
  for (const [at, { dataset, questions, leftOut }] of own.entries()) {
    const all = questions.length + leftOut.training + leftOut.epoch;
    if (questions.length < all) measured.warnings.push(`${dataset}: ${learntWords(leftOut, all)}: they are left out of the call cut`);
    if (questions.length === 0) {
      if (all > 0) measured.warnings.push(`${dataset}: no question is left that the drafter has not seen: its call cut is n/a`);
      continue;
    }
    const cut = (of: readonly { questions: QuestionRun[] }[]): number =>
      cutAtAgreement(thresholdCurve(of[at]?.questions ?? []), agreement).callCut;
    measured.frontier.push({
      dataset,
      questions: questions.length,
      left_out: leftOut,
      decider: sources.decider,
      agreement,
      drafter: cut(own),
      mean_claim: cut(mean),
      question: cut(question),
      claim_text: cut(text),
    });
  }
  return measured;
}

/** For each dataset of which the drafter in the margin has seen questions, a warning with how many. */
export function learntWarnings(datasets: readonly { dataset: string; questions: readonly QuestionRun[] }[]): string[] {
  return datasets.flatMap(({ dataset, questions }) => {
    const counts = countLearnt(questions.map((one) => one.learnt));
    if (counts.training + counts.epoch === 0) return [];
    return [`${dataset}: ${learntWords(counts, questions.length)}: figures on them are not those of held-out questions`];
  });
}

function learntWords({ training, epoch }: LearntCounts, all: number): string {
  return `the drafter was trained on ${training} of ${all} questions, and ${epoch} chose its epoch`;
}

import type { Claim } from '../../src/core/claims.js';
import { InputError } from '../../src/core/errors.js';
import type { Json } from '../../src/core/manifest.js';
import type { RetrievedSentence } from '../../src/core/trajectories.js';
import type { NliModel, NliPair } from '../models/nli-model.js';
import type { Decider } from './decider.js';
import { type LiveClaimsOptions, type LiveDecider, liveClaimsDecider } from './live.js';
import { type PairScore, candidateSentences, scanTrajectory } from './scan.js';
import { thresholdOf } from './threshold.js';
import { DEFAULT_THRESHOLD } from './verdict.js';

/**
 * How a claim becomes a hypothesis (method.md §8): a declarative sentence of title and target (primary), the two as a key phrase, or the
 * string that the verifier reads (degenerate in the papers, kept).
 */
export const HYPOTHESES = ['declarative', 'keyphrase', 'claim'] as const;
export type Hypothesis = (typeof HYPOTHESES)[number];

export interface NliOptions {
  /** θ: from which entailment probability on a sentence covers a claim, in (0, 1]. Default 0.5; the papers also take 0.9. */
  threshold?: number | undefined;
  /** Default `declarative`. */
  hypothesis?: Hypothesis | undefined;
  /** Score every claim against every candidate. Default false: a claim's scan ends at its first match. */
  allPairs?: boolean | undefined;
}

/**
 * A cross-encoder over the claims of a run: a claim is covered when some candidate sentence, with its page's title before it, entails the
 * claim's hypothesis. The model stays its owner's, who closes it.
 */
export function nliDecider(model: NliModel, options: NliOptions = {}): Decider {
  const { hypothesis = 'declarative', allPairs = false } = options;
  const threshold = thresholdOf(options);
  const pAtLeast = { ...DEFAULT_THRESHOLD, pAtLeast: threshold };
  return {
    name: 'nli',
    identity: identityOf(model, hypothesis, threshold),
    readsClaims: true,
    scan: { threshold: pAtLeast, allPairs },
    decide: async ({ trajectory, claims, signal }) => {
      if (claims === null)
        throw new InputError('the NLI decider reads claims, and none were given', {
          row: trajectory.row,
          questionId: trajectory.question_id,
        });
      if (claims.length === 0) return { claims: 0, noClaims: 'no_claims', verdicts: [] };
      const hypotheses = claims.map((claim) => hypothesisOf(claim, hypothesis));
      const verdicts = await scanTrajectory(
        trajectory,
        claims.length,
        async (claim, sentence): Promise<PairScore> => {
          const [scores] = await model.probabilities([nliPair(sentence, hypotheses[claim] as string)], { signal });
          return { lp_match: null, lp_partial: null, lp_null: null, p: scores?.[model.entailment] as number };
        },
        { threshold: pAtLeast, allPairs, candidates: candidateSentences, signal },
      );
      return { claims: claims.length, verdicts };
    },
  };
}

/** The cross-encoder in a running agent. */
export function liveNliDecider(
  model: NliModel,
  options: Omit<NliOptions, 'allPairs'> & Pick<LiveClaimsOptions, 'policy'> = {},
): LiveDecider {
  const { hypothesis = 'declarative', policy } = options;
  const threshold = thresholdOf(options);
  return liveClaimsDecider({
    name: 'nli',
    identity: identityOf(model, hypothesis, threshold),
    threshold: { ...DEFAULT_THRESHOLD, pAtLeast: threshold },
    // Pairs run one by one, so what lies behind a match would be read in vain.
    lookAhead: 1,
    policy,
    score: async ({ claims }, pairs, { signal }) => {
      const scores = await model.probabilities(
        pairs.map(({ claim, sentence }) => nliPair(sentence, hypothesisOf(claims?.[claim] as Claim, hypothesis))),
        { signal },
      );
      return scores.map((one) => ({ lp_match: null, lp_partial: null, lp_null: null, p: one[model.entailment] as number }));
    },
  });
}

function identityOf(model: NliModel, hypothesis: Hypothesis, threshold: number): Json {
  return {
    decider: 'nli',
    model: model.identity,
    hypothesis,
    hypothesis_text: HYPOTHESIS_TEXTS[hypothesis],
    premise: 'title: sentence',
    threshold,
  };
}

function nliPair({ title, text }: RetrievedSentence, hypothesis: string): NliPair {
  return { premise: `${title.trim()}: ${text.trim()}`, hypothesis };
}

/** What stands in manifests for each form; also what `hypothesisOf` writes. */
const HYPOTHESIS_TEXTS: { readonly [form in Hypothesis]: string } = {
  declarative: '{page} is connected to {expected_target}.',
  keyphrase: '{page}, {expected_target}',
  claim: '{expected_claim}',
};

/** The hypothesis of a claim; where page and target are the same, or one is empty, the other stands alone. */
export function hypothesisOf(claim: Claim, form: Hypothesis): string {
  const [page, target] = [claim.page.trim(), claim.expected_target.trim()];
  if (form === 'claim' || (page === '' && target === '')) return claim.expected_claim.trim();
  if (page === '' || target === '' || page === target) {
    const one = page === '' ? target : page;
    return form === 'declarative' ? `This is about ${one}.` : one;
  }
  return HYPOTHESIS_TEXTS[form].replace('{page}', () => page).replace('{expected_target}', () => target);
}

/** Shares of firing loops outside which a decider's cell is trivial: it hardly rules at all (CoVeR, table 5). */
export const TRIVIAL_SHARES = { below: 0.02, above: 0.98 } as const;

/** Why a decider's verdicts say nothing when it is called after every loop; undefined where they say something. */
export function trivialCell({ firing_loops: firing, loops }: { firing_loops: number; loops: number }): string | undefined {
  const share = loops === 0 ? 0 : firing / loops;
  if (share >= TRIVIAL_SHARES.below && share <= TRIVIAL_SHARES.above) return undefined;
  return `trivial: the decider fires on ${firing} of ${loops} loops (${(100 * share).toFixed(1)}%), ${share < 0.5 ? 'under 2%' : 'over 98%'}; what a gate saves of it says nothing`;
}

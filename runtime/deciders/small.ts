import { type Claim, type ClaimText, claimText } from '../../src/core/claims.js';
import { InputError } from '../../src/core/errors.js';
import type { Json } from '../../src/core/manifest.js';
import type { Pair } from '../../src/core/pair-features.js';
import type { RetrievedSentence } from '../../src/core/trajectories.js';
import type { SmallVerifier } from '../verifier/small-verifier.js';
import type { Decider } from './decider.js';
import { type LiveClaimsOptions, type LiveDecider, liveClaimsDecider } from './live.js';
import { type PairScore, candidateSentences, scanTrajectory } from './scan.js';
import { DEFAULT_THRESHOLD } from './verdict.js';

export interface SmallDeciderOptions {
  /** Which text of a claim the verifier reads. Default `expected_claim`, as the verifier's prompt does (method.md §4). */
  claimText?: ClaimText | undefined;
  /** Score every claim against every candidate, as a threshold sweep needs it. Default false: a claim's scan ends at its first match. */
  allPairs?: boolean | undefined;
}

/**
 * The small verifier over the claims of a run: a question is covered when each claim has a match among the candidates retrieved so far
 * (method.md §4). A question without claims is never covered. The verifier stays its owner's, who closes it.
 */
export function smallDecider(verifier: SmallVerifier, options: SmallDeciderOptions = {}): Decider {
  const { claimText: which = 'expected_claim', allPairs = false } = options;
  return {
    name: 'small',
    identity: identityOf(verifier, which),
    readsClaims: true,
    scan: { threshold: DEFAULT_THRESHOLD, allPairs },
    decide: async ({ trajectory, claims, signal }) => {
      if (claims === null)
        throw new InputError('the small verifier reads claims, and none were given', {
          row: trajectory.row,
          questionId: trajectory.question_id,
        });
      if (claims.length === 0) return { claims: 0, noClaims: 'no_claims', verdicts: [] };
      const pairOf = (claim: number, sentence: RetrievedSentence): Pair => pairOfClaim(claims[claim] as Claim, sentence, which);
      const sentences = trajectory.loops.flatMap((loop) => candidateSentences(loop.sentences));
      // Every text is encoded once and in batches; which pairs are scored is up to the scan.
      const encoded = await verifier.encode(
        claims.flatMap((_, claim) => sentences.map((one) => pairOf(claim, one))),
        { signal },
      );
      const verdicts = await scanTrajectory(
        trajectory,
        claims.length,
        async (claim, sentence): Promise<PairScore> => {
          const [scores] = await verifier.score([pairOf(claim, sentence)], { encoded, signal });
          return { ...(scores as Omit<PairScore, 'p'>), p: null };
        },
        { allPairs, candidates: candidateSentences, signal },
      );
      return { claims: claims.length, verdicts };
    },
  };
}

/** The small verifier in a running agent. */
export function liveSmallDecider(
  verifier: SmallVerifier,
  { claimText: which = 'expected_claim', policy }: Pick<SmallDeciderOptions, 'claimText'> & Pick<LiveClaimsOptions, 'policy'> = {},
): LiveDecider {
  return liveClaimsDecider({
    name: 'small',
    identity: identityOf(verifier, which),
    policy,
    score: async ({ claims }, pairs, { signal }) => {
      const scores = await verifier.score(
        pairs.map(({ claim, sentence }) => pairOfClaim(claims?.[claim] as Claim, sentence, which)),
        { signal },
      );
      return scores.map((one) => ({ ...one, p: null }));
    },
  });
}

function identityOf(verifier: SmallVerifier, which: ClaimText): Json {
  const { encoder, features } = verifier.details;
  return {
    decider: 'small',
    model_sha256: verifier.sha256,
    encoder: { ...encoder },
    features: { ...features },
    claim_text: which,
  } satisfies Json;
}

function pairOfClaim(claim: Claim, { title, text }: RetrievedSentence, which: ClaimText): Pair {
  return { question: claim.question, claim: claimText(claim, which), claimPage: claim.page, evidencePage: title, sentence: text.trim() };
}

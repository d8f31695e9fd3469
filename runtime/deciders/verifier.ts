import type { Claim } from '../../src/core/claims.js';
import { InputError } from '../../src/core/errors.js';
import type { Json } from '../../src/core/manifest.js';
import type { RetrievedSentence, Trajectory } from '../../src/core/trajectories.js';
import type { VerifierFields } from '../../src/core/verifier-fields.js';
import type { PairVerifier, ReadCounts } from '../verifier/verifier.js';
import { type ScanPair, claimScan } from './claim-scan.js';
import type { Decider, VerdictScore } from './decider.js';
import { type LiveClaimsOptions, type LiveDecider, liveClaimsDecider } from './live.js';
import type { PairScore } from './scan.js';
import { DEFAULT_THRESHOLD } from './verdict.js';

export interface VerifierDeciderOptions {
  /** Score every claim against every candidate, as a threshold sweep needs it. Default false: a claim's scan ends at its first match. */
  allPairs?: boolean | undefined;
  /**
   * Sentences of a claim that are scored together before its scan looks for a match; those behind the match were read in vain. Default 2:
   * of whole trajectories it reads 6% more than one by one, in two thirds of the passes (DESIGN, what was tried).
   */
  lookAhead?: number | undefined;
  /**
   * The order in which a call reaches the claims after this loop (`byMargin`); a call then ends behind the first claim that stays
   * unmatched. Verdicts under `all_match` are the same, with fewer pairs. Default: every claim is scored.
   */
  claimOrder?: ((trajectory: Trajectory, loop: number) => readonly number[]) | undefined;
}

const LOOK_AHEAD = 2;

/**
 * The trained verifier over the claims of a run, called after every loop: a question is covered when each claim has a match among the
 * candidates retrieved so far (method.md §4). A question without claims is never covered. The verifier stays its owner's, who closes it.
 */
export function verifierDecider(verifier: PairVerifier, options: VerifierDeciderOptions = {}): Decider {
  const { allPairs = false, lookAhead = LOOK_AHEAD, claimOrder } = options;
  return {
    name: 'verifier',
    identity: identityOf(verifier),
    readsClaims: true,
    scan: { threshold: DEFAULT_THRESHOLD, allPairs },
    prepare: async () => ({ counts: await verifier.prepare(), warnings: [] }),
    decide: async ({ trajectory, claims, signal }) => {
      if (claims === null)
        throw new InputError('the verifier reads claims, and none were given', {
          row: trajectory.row,
          questionId: trajectory.question_id,
        });
      if (claims.length === 0) return { claims: 0, noClaims: 'no_claims', verdicts: [] };
      const before = verifier.counts();
      const scan = claimScan(claims.length, { allPairs, lookAhead });
      const verdicts: VerdictScore[] = [];
      for (const { loop, sentences } of trajectory.loops) {
        scan.bring(loop, sentences);
        const { rows } = await scan.call((pairs) => scoredPairs(verifier, claims, pairs, signal), {
          signal,
          claimOrder: claimOrder?.(trajectory, loop),
        });
        verdicts.push(...rows);
      }
      // What another question reads must not depend on whether this one came before it: an interrupted run ends with the same bytes.
      verifier.release();
      return { claims: claims.length, verdicts, counts: difference(verifier.counts(), before) };
    },
  };
}

/** The trained verifier in a running agent; the cached verdicts' own identity. What it keeps of prompts it forgets by itself when others come. */
export function liveVerifierDecider(
  verifier: PairVerifier,
  {
    lookAhead = LOOK_AHEAD,
    policy,
    inMarginOrder,
  }: Pick<VerifierDeciderOptions, 'lookAhead'> & Pick<LiveClaimsOptions, 'policy' | 'inMarginOrder'> = {},
): LiveDecider {
  return liveClaimsDecider({
    name: 'verifier',
    identity: identityOf(verifier),
    lookAhead,
    policy,
    inMarginOrder,
    score: ({ claims }, pairs, { signal }) => scoredPairs(verifier, claims as readonly Claim[], pairs, signal),
  });
}

function identityOf(verifier: PairVerifier): Json {
  return { decider: 'verifier', ...(verifier.identity as { [name: string]: Json }) };
}

async function scoredPairs(
  verifier: PairVerifier,
  claims: readonly Claim[],
  pairs: readonly ScanPair[],
  signal: AbortSignal | undefined,
): Promise<PairScore[]> {
  const scores = await verifier.score(
    pairs.map(({ claim, sentence }) => verifierFieldsOf(claims[claim] as Claim, sentence)),
    { signal },
  );
  return scores.map((one) => ({ ...one, p: null }));
}

/** What the verifier reads of a claim and a sentence: the same fields as a label row of both. */
export function verifierFieldsOf(claim: Claim, { title, text }: RetrievedSentence): VerifierFields {
  return {
    question: claim.question,
    answer_candidate: claim.expected_target,
    expected_claim: claim.expected_claim,
    expected_page: claim.page,
    expected_target: claim.expected_target,
    expected_target_role: claim.role,
    evidence_page: title,
    evidence_sentence: text.trim(),
  };
}

function difference(after: ReadCounts, before: ReadCounts): ReadCounts {
  return Object.fromEntries(Object.entries(after).map(([name, value]) => [name, value - (before[name] ?? 0)]));
}

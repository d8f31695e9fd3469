import type { RetrievedSentence, Trajectory } from '../../src/core/trajectories.js';
import type { VerdictScore } from './decider.js';
import { DEFAULT_THRESHOLD, type Threshold, isMatch } from './verdict.js';

export type PairScore = Pick<VerdictScore, 'lp_match' | 'lp_partial' | 'lp_null' | 'p'>;

export interface ScanOptions {
  /** Above which score the scan of a claim ends. Default: p ≥ 0.5, match margin > 0. */
  threshold?: Threshold | undefined;
  /** Score every claim against every sentence, as a threshold sweep needs it. Default false. */
  allPairs?: boolean | undefined;
  signal?: AbortSignal | undefined;
}

/**
 * The order in which a decider with claims scores a trajectory (method.md §4, "Loop"): loop by loop, each claim that no earlier sentence
 * matched against the sentences which the loop brought, until the first match.
 *
 * @param claims number of claims
 * @param score the pair's score; called once a pair, in order
 */
export async function scanTrajectory(
  trajectory: Trajectory,
  claims: number,
  score: (claim: number, sentence: RetrievedSentence) => PairScore | Promise<PairScore>,
  options: ScanOptions = {},
): Promise<VerdictScore[]> {
  const { threshold = DEFAULT_THRESHOLD, allPairs = false, signal } = options;
  const matched = Array.from({ length: claims }, () => false);
  const rows: VerdictScore[] = [];
  for (const { loop, sentences } of trajectory.loops) {
    for (let claim = 0; claim < claims; claim++) {
      for (const one of sentences) {
        if (matched[claim] && !allPairs) break;
        signal?.throwIfAborted();
        const row = { ...(await score(claim, one)), loop, claim, page: one.page, sentence: one.sentence };
        rows.push(row);
        if (isMatch(row, threshold)) matched[claim] = true;
      }
    }
  }
  return rows;
}

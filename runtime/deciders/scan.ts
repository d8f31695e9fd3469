import type { RetrievedSentence, Trajectory } from '../../src/core/trajectories.js';
import type { VerdictScore } from './decider.js';
import { DEFAULT_THRESHOLD, type Threshold, isMatch } from './verdict.js';

export type PairScore = Pick<VerdictScore, 'lp_match' | 'lp_partial' | 'lp_null' | 'p'>;

export interface ScanOptions {
  /** Above which score the scan of a claim ends. Default: p ≥ 0.5, match margin > 0. */
  threshold?: Threshold | undefined;
  /** Score every claim against every sentence, as a threshold sweep needs it. Default false. */
  allPairs?: boolean | undefined;
  /**
   * Which of a loop's sentences are scored. Default: all. Deciders that read text take `candidateSentences` (method.md §4); the gold
   * decider looks at labels, not at text.
   */
  candidates?: ((sentences: readonly RetrievedSentence[]) => readonly RetrievedSentence[]) | undefined;
  signal?: AbortSignal | undefined;
}

/** Shortest sentence that a verifier is asked about, in characters (UTF-16 units), and how many of a chunk at most (method.md §4). */
export const CANDIDATE_RULE = { leastCharacters: 20, mostPerChunk: 12 } as const;

/** A loop's candidates: of each chunk, that is of each page, the first twelve sentences of at least 20 characters (method.md §4). */
export function candidateSentences(sentences: readonly RetrievedSentence[]): RetrievedSentence[] {
  const ofPage = new Map<number, number>();
  return sentences.filter(({ page, text }) => {
    if (text.trim().length < CANDIDATE_RULE.leastCharacters) return false;
    const before = ofPage.get(page) ?? 0;
    ofPage.set(page, before + 1);
    return before < CANDIDATE_RULE.mostPerChunk;
  });
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
  const { threshold = DEFAULT_THRESHOLD, allPairs = false, candidates, signal } = options;
  const matched = Array.from({ length: claims }, () => false);
  const rows: VerdictScore[] = [];
  for (const { loop, sentences: brought } of trajectory.loops) {
    const sentences = candidates ? candidates(brought) : brought;
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

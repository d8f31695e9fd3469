import type { RetrievedSentence } from '../../src/core/trajectories.js';
import type { VerdictScore } from './decider.js';
import { type PairScore, candidateSentences } from './scan.js';
import { DEFAULT_THRESHOLD, type Threshold, isMatch } from './verdict.js';

/** A claim before a sentence that it has not been scored against. */
export interface ScanPair {
  claim: number;
  sentence: RetrievedSentence;
}

export interface ClaimScanOptions {
  /** Above which score the scan of a claim ends. Default: p ≥ 0.5, match margin > 0. */
  threshold?: Threshold | undefined;
  /** Score every claim against every sentence, as a threshold sweep needs it, in whatever order. Default false. */
  allPairs?: boolean | undefined;
  /**
   * Sentences of a claim that are scored together before its scan looks for a match. Those behind the match are read in vain and no rows;
   * fewer at a time make more passes. Default: all that wait.
   */
  lookAhead?: number | undefined;
}

export interface CallOptions {
  /**
   * Claims in the order in which they are reached, the least covered first; the call ends behind the first of them that stays unmatched,
   * since `all_match` can no longer hold (method.md §5, order inside a call). Default: all claims are scored.
   */
  claimOrder?: readonly number[] | undefined;
  signal?: AbortSignal | undefined;
}

/** What one call scored, and how it left the claims. */
export interface ScanCall {
  /** In the order of loop, claim and sentence. */
  rows: VerdictScore[];
  /** By claim, this call's and all earlier ones'. */
  matched: readonly boolean[];
}

/**
 * One question's scan (method.md §4, "Loop"): a call rules on every sentence brought so far that a claim has not been scored against,
 * whichever loops were skipped or left unreached before. Only unmatched claims are scored; a claim's scan ends at its first match.
 */
export interface ClaimScan {
  /** What a loop brought (one-based). Candidates alone are kept, each once: at least 20 characters, the first 12 of a chunk. */
  bring(loop: number, sentences: readonly RetrievedSentence[]): void;
  call(score: (pairs: readonly ScanPair[]) => Promise<PairScore[]>, options?: CallOptions): Promise<ScanCall>;
}

export function claimScan(claims: number, options: ClaimScanOptions = {}): ClaimScan {
  const { threshold = DEFAULT_THRESHOLD, allPairs = false, lookAhead = Infinity } = options;
  const matched = Array.from({ length: claims }, () => false);
  const waiting = Array.from({ length: claims }, (): Waiting[] => []);
  const known = new Set<string>();
  let brought = 0;

  /** Scores what waits for these claims until each is matched or has nothing left. */
  const scan = async (
    of: readonly number[],
    score: Parameters<ClaimScan['call']>[0],
    signal: AbortSignal | undefined,
  ): Promise<Scored[]> => {
    const scored: Scored[] = [];
    for (;;) {
      signal?.throwIfAborted();
      const open = of.filter((claim) => (waiting[claim] as Waiting[]).length > 0);
      const next = open.flatMap((claim) => (waiting[claim] as Waiting[]).slice(0, lookAhead).map((one) => ({ claim, ...one })));
      if (next.length === 0) return scored;
      const scores = await score(next);
      for (const [at, { claim, loop, sentence, place }] of next.entries()) {
        if (matched[claim] && !allPairs) continue;
        const row = { ...(scores[at] as PairScore), loop, claim, page: sentence.page, sentence: sentence.sentence };
        scored.push({ row, place });
        if (isMatch(row, threshold)) matched[claim] = true;
      }
      for (const claim of open) waiting[claim] = matched[claim] && !allPairs ? [] : (waiting[claim] as Waiting[]).slice(lookAhead);
    }
  };

  return {
    bring: (loop, sentences) => {
      // An agent may retrieve a sentence again: it has been scored, or still waits.
      const found = candidateSentences(sentences)
        .filter(({ page, sentence }) => known.size < known.add(`${page} ${sentence}`).size)
        .map((sentence) => ({ loop, sentence, place: brought++ }));
      for (const [claim, list] of waiting.entries()) if (allPairs || !matched[claim]) list.push(...found);
    },
    call: async (score, { claimOrder, signal } = {}) => {
      const scored: Scored[] = [];
      if (claimOrder === undefined) {
        scored.push(...(await scan([...matched.keys()], score, signal)));
      } else {
        for (const claim of claimOrder) {
          scored.push(...(await scan([claim], score, signal)));
          if (!matched[claim] && !allPairs) break;
        }
      }
      scored.sort((a, b) => a.row.loop - b.row.loop || (a.row.claim as number) - (b.row.claim as number) || a.place - b.place);
      return { rows: scored.map(({ row }) => row), matched: [...matched] };
    },
  };
}

/** Claims by descending margin, the least covered first; of equal ones the first (method.md §5). */
export function byMargin(margins: readonly number[]): number[] {
  return [...margins.keys()].sort((a, b) => (margins[b] as number) - (margins[a] as number) || a - b);
}

interface Waiting {
  loop: number;
  sentence: RetrievedSentence;
  /** Number of the sentence among all that were brought. */
  place: number;
}

interface Scored {
  row: VerdictScore;
  place: number;
}

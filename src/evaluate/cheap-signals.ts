import { bm25Index, placeKey, sentencePool } from '../retrieval/index.js';
import { evidenceText } from '../core/embeddings.js';
import type { EvidenceText } from '../core/embeddings.js';
import { readWords } from '../core/pair-features.js';
import type { HopRecord } from '../core/records.js';
import type { Trajectory } from '../core/trajectories.js';
import { roundMargin } from '../core/units.js';

/**
 * What a router may read instead of the margin (evaluation.md §1), after each loop. `lexical` and `bm25` lie in [0, 1] and, like a margin,
 * are the lower the more is covered; rounded to 1e-6 before any comparison.
 */
export interface CheapSignals {
  /** Sentences retrieved so far. */
  sentences: Int32Array;
  /** 1 − the recall of each claim's content words in all evidence so far; of the claims the largest, for `any_match` the smallest. */
  lexical: Float64Array;
  /**
   * 1 − each claim's best BM25 score among the sentences retrieved so far over its best in the question's own pool; of the claims the
   * largest, for `any_match` the smallest. Null without a pool.
   */
  bm25: Float64Array | null;
}

export interface SignalOptions {
  evidenceText: EvidenceText;
  policy: 'all_match' | 'any_match';
  /** The question's own pages; undefined where the run has no records. */
  pages: HopRecord['pages'] | undefined;
}

/**
 * The cheap signals of one trajectory. A claim without a content word, or one that no sentence of the pool shares a word with, counts as
 * covered (CoVeR, appendix G: missing signals as covered). `claims` are the texts that the margin is made of.
 */
export async function cheapSignals(
  { loops }: Trajectory,
  claims: readonly string[],
  { evidenceText: text, policy, pages }: SignalOptions,
): Promise<CheapSignals> {
  const pick = policy === 'all_match' ? Math.max : Math.min;
  const wanted = claims.map((claim) => readWords(claim).content);
  const pool = pages && sentencePool({ pages });
  const scores = pool && pool.length > 0 ? await Promise.all(claims.map((claim) => poolScores(pool, claim))) : null;
  const seen = new Set<string>();
  const best = claims.map(() => 0);
  let count = 0;
  const signals: CheapSignals = {
    sentences: new Int32Array(loops.length),
    lexical: new Float64Array(loops.length),
    bm25: scores && new Float64Array(loops.length),
  };
  for (const [at, { sentences }] of loops.entries()) {
    for (const one of sentences) {
      if (one.text.trim() === '') continue;
      count++;
      for (const word of readWords(evidenceText(one.title, one.text, text)).content) seen.add(word);
      for (const [claim, { of }] of (scores ?? []).entries())
        best[claim] = Math.max(best[claim] as number, of.get(placeKey(one.page, one.sentence)) ?? 0);
    }
    signals.sentences[at] = count;
    signals.lexical[at] = roundMargin(pick(...wanted.map((words) => 1 - recall(words, seen))));
    if (scores && signals.bm25)
      signals.bm25[at] = roundMargin(pick(...scores.map(({ most }, claim) => (most === 0 ? 0 : 1 - (best[claim] as number) / most))));
  }
  return signals;
}

function recall(words: ReadonlySet<string>, seen: ReadonlySet<string>): number {
  if (words.size === 0) return 1;
  let found = 0;
  for (const word of words) if (seen.has(word)) found++;
  return found / words.size;
}

async function poolScores(pool: ReturnType<typeof sentencePool>, claim: string): Promise<{ of: Map<string, number>; most: number }> {
  const ranked = await bm25Index(pool).search(claim, { top: pool.length });
  return { of: new Map(ranked.map((one) => [placeKey(one.page, one.sentence), one.score])), most: ranked[0]?.score ?? 0 };
}

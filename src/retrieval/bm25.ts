import type { Json } from '../core/manifest.js';
import { words } from '../core/text.js';
import type { RetrievedSentence } from '../core/trajectories.js';
import type { PoolSentence } from './pool.js';
import { type Retriever, placeKey } from './retriever.js';

export interface Bm25Options {
  /** How soon repeats of a word stop counting; at least 0. Default 1.2. */
  k1?: number | undefined;
  /** How far long sentences are held back, in [0, 1]. Default 0.75. */
  b?: number | undefined;
}

export const DEFAULT_BM25 = { k1: 1.2, b: 0.75 } as const;

/**
 * A BM25 index over one question's sentences (method.md §9, setting A). The indexed text is `title sentence`, its words those of
 * `words` in core, without a stop list. Score of a sentence: the sum over the query's words, repeats counted, of
 *
 *   ln(1 + (N − df + 0.5) / (df + 0.5)) · tf / (tf + k1 · (1 − b + b · length / mean length)),
 *
 * Lucene's form. Its first factor is above 0 for every word, also for one that stands in most of a pool of two to twenty sentences, where
 * the classic ln((N − df + 0.5) / (df + 0.5)) is 0 or negative. Equal scores keep the pool's order, so sentences with no word of the query
 * come last, in pool order, and fill up what `top` asks for.
 *
 * @throws RangeError for k1, b or `top` outside their ranges
 */
export function bm25Index(pool: readonly PoolSentence[], options: Bm25Options = {}): Retriever {
  const { k1 = DEFAULT_BM25.k1, b = DEFAULT_BM25.b } = options;
  if (!(k1 >= 0 && k1 < Infinity)) throw new RangeError(`k1: got ${k1}, expected a number of at least 0`);
  if (!(b >= 0 && b <= 1)) throw new RangeError(`b: got ${b}, expected a number in [0, 1]`);
  const { postings, norms } = build(pool, k1, b);

  return {
    identity: bm25Identity({ k1, b }),
    search: (query, { top, exclude }) => {
      if (!(Number.isInteger(top) && top >= 1)) throw new RangeError(`top: got ${top}, expected an integer of at least 1`);
      const scores = new Float64Array(pool.length);
      for (const word of words(query)) {
        const posting = postings.get(word);
        if (!posting) continue;
        const idf = Math.log(1 + (pool.length - posting.length + 0.5) / (posting.length + 0.5));
        for (const { at, tf } of posting) (scores[at] as number) += (idf * tf) / (tf + (norms[at] as number));
      }
      const ranked: RetrievedSentence[] = [];
      for (const [at, { page, sentence, title, text }] of pool.entries()) {
        if (exclude?.has(placeKey(page, sentence))) continue;
        insert(ranked, { page, sentence, title, text, score: scores[at] as number }, top);
      }
      return ranked;
    },
  };
}

/** What a manifest says of this index (values differ between engines, P27 of the fault list). */
export function bm25Identity({ k1, b }: { k1: number; b: number }): Json {
  return {
    retriever: 'bm25',
    unit: 'sentence',
    pool: 'question',
    indexed_text: 'title sentence',
    tokeniser: 'runs of letters, digits and marks after NFKC and case folding; no stop words, no stemming',
    idf: 'ln(1 + (N - df + 0.5) / (df + 0.5))',
    tf: 'tf / (tf + k1 * (1 - b + b * length / mean length))',
    k1,
    b,
  };
}

interface Posting {
  at: number;
  tf: number;
}

function build(pool: readonly PoolSentence[], k1: number, b: number): { postings: Map<string, Posting[]>; norms: Float64Array } {
  const postings = new Map<string, Posting[]>();
  const lengths = new Float64Array(pool.length);
  for (const [at, { title, text }] of pool.entries()) {
    for (const word of words(`${title} ${text}`)) {
      (lengths[at] as number)++;
      const posting = postings.get(word);
      const last = posting?.at(-1);
      if (last?.at === at) last.tf++;
      else if (posting) posting.push({ at, tf: 1 });
      else postings.set(word, [{ at, tf: 1 }]);
    }
  }
  const mean = lengths.reduce((sum, length) => sum + length, 0) / Math.max(1, pool.length);
  return { postings, norms: lengths.map((length) => k1 * (1 - b + (mean === 0 ? 0 : (b * length) / mean))) };
}

/** Keeps `ranked` sorted by falling score with at most `top` members; an equal score goes behind. */
function insert(ranked: RetrievedSentence[], one: RetrievedSentence, top: number): void {
  let at = ranked.length;
  while (at > 0 && (ranked[at - 1] as RetrievedSentence).score < one.score) at--;
  if (at >= top) return;
  ranked.splice(at, 0, one);
  if (ranked.length > top) ranked.pop();
}

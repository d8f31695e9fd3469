import { readVectorBlocks } from '../core/arrow.js';
import { InputError } from '../core/errors.js';

/** An Arrow file with a column of unit-length vectors. */
export interface VectorFile {
  path: string;
  /** The number of a row in the whole corpus, by which ties are broken however the corpus was cut into files. */
  numberOf: (row: number) => number;
}

/** A row of a file among those of an index. */
export interface DenseHit {
  file: number;
  row: number;
  number: number;
  /** Inner product, in 64-bit floats. */
  score: number;
}

export interface DensePass {
  /** For each query its hits, best first; of equal scores the one with the lower number. */
  hits: DenseHit[][];
  /** Of reading and scoring, for the user to see: no part of a result. */
  seconds: number;
}

/**
 * Exact search: the inner product of every query with every vector, in one pass over the files, read block by block. Memory holds one block
 * and `top` hits a query, however large the index. Scores do not depend on what is searched together, nor on the blocks.
 *
 * @param queries Vectors of the files' width.
 * @throws InputError for a file of another width
 */
export async function searchVectors(
  files: readonly VectorFile[],
  queries: readonly Float32Array[],
  { column, top, signal }: { column: string; top: number; signal?: AbortSignal | undefined },
): Promise<DensePass> {
  if (!(Number.isInteger(top) && top >= 1)) throw new RangeError(`top: got ${top}, expected an integer of at least 1`);
  const started = performance.now();
  const best = queries.map(() => topHits(top));
  for (const [file, { path, numberOf }] of files.entries()) {
    let before = 0;
    for await (const { values, rows, width } of readVectorBlocks(path, column)) {
      signal?.throwIfAborted();
      for (const [at, query] of queries.entries()) {
        if (query.length !== width)
          throw new InputError(`has vectors of ${width} numbers, expected ${query.length} as of the query`, { file: path });
        const hits = best[at] as TopHits;
        const offer = (row: number, score: number): void => hits.offer({ file, row: before + row, number: numberOf(before + row), score });
        scoreBlock(values, { rows, query, best: hits, offer });
      }
      before += rows;
    }
  }
  return { hits: best.map((one) => one.hits), seconds: (performance.now() - started) / 1000 };
}

interface TopHits {
  hits: DenseHit[];
  /** A score below it is not among the best. */
  bar: number;
  offer(hit: DenseHit): void;
}

function topHits(top: number): TopHits {
  const hits: DenseHit[] = [];
  const best: TopHits = {
    hits,
    bar: -Infinity,
    offer: (hit) => {
      const behind = (one: DenseHit): boolean => one.score < hit.score || (one.score === hit.score && one.number > hit.number);
      let at = hits.length;
      while (at > 0 && behind(hits[at - 1] as DenseHit)) at--;
      if (at >= top) return;
      hits.splice(at, 0, hit);
      if (hits.length > top) hits.pop();
      if (hits.length === top) best.bar = (hits.at(-1) as DenseHit).score;
    },
  };
  return best;
}

function scoreBlock(
  values: Float32Array,
  { rows, query, best, offer }: { rows: number; query: Float32Array; best: TopHits; offer: (row: number, score: number) => void },
): void {
  for (let row = 0, from = 0; row < rows; row++, from += query.length) {
    const score = innerProduct(values, query, from);
    if (score >= best.bar) offer(row, score);
  }
}

/**
 * In 64-bit floats, of `query` and as many values from `from` on. Four sums side by side: one long chain of additions would wait for itself. Their
 * order is fixed, so that scores are.
 */
export function innerProduct(values: ArrayLike<number>, query: Float32Array, from = 0): number {
  const width = query.length;
  const fours = width - (width % 4);
  let [a, b, c, d] = [0, 0, 0, 0];
  for (let i = 0; i < fours; i += 4) {
    a += (values[from + i] as number) * (query[i] as number);
    b += (values[from + i + 1] as number) * (query[i + 1] as number);
    c += (values[from + i + 2] as number) * (query[i + 2] as number);
    d += (values[from + i + 3] as number) * (query[i + 3] as number);
  }
  for (let i = fours; i < width; i++) a += (values[from + i] as number) * (query[i] as number);
  return a + b + (c + d);
}

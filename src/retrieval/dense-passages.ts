import { PASSAGE_TEXT } from '../core/corpus.js';
import type { Json } from '../core/manifest.js';
import type { RetrievedDocument } from '../core/retrieved-pages.js';
import type { CorpusFolder } from './corpus-folder.js';
import { type DenseHit, searchVectors } from './dense-index.js';
import { type EncodeQueries, type PassageSource, RetrieverError, queryVectors } from './passage-source.js';

export interface DenseOptions {
  encode: EncodeQueries;
}

/** What the passes over the vectors took, for the user to see. */
export interface DenseWork {
  passes: number;
  queries: number;
  /** Vectors that were read, in all passes. */
  vectors: number;
  seconds: number;
}

/**
 * Exact dense retrieval over an embedded corpus. Queries that come while a pass runs wait and share the next one. Equal scores stand in the
 * order of the corpus, whatever shards it was cut into. A query that cannot be encoded is a RetrieverError of its own.
 */
export function densePassages(corpus: CorpusFolder, { encode }: DenseOptions): PassageSource & { readonly work: Readonly<DenseWork> } {
  const work: DenseWork = { passes: 0, queries: 0, vectors: 0, seconds: 0 };
  const files = corpus.parts.map(({ vectors, numberOf }) => ({ path: vectors, numberOf }));
  let waiting: { query: string; top: number; done: (found: RetrievedDocument[]) => void; failed: (error: unknown) => void }[] = [];
  let running = false;

  const passOver = async (all: typeof waiting): Promise<void> => {
    const encoded = await queryVectors(
      encode,
      all.map(({ query }) => query),
    );
    const vectors: Float32Array[] = [];
    const asked: typeof waiting = [];
    for (const [at, one] of all.entries()) {
      const vector = encoded[at] as Float32Array | RetrieverError;
      if (vector instanceof RetrieverError) one.failed(vector);
      else {
        vectors.push(vector);
        asked.push(one);
      }
    }
    if (asked.length === 0) return;
    const top = Math.max(...asked.map((one) => one.top));
    const { hits, seconds } = await searchVectors(files, vectors, { column: 'vector', top });
    work.passes++;
    work.queries += asked.length;
    work.vectors += corpus.passages;
    work.seconds += seconds;
    for (const [at, one] of asked.entries()) one.done(await documentsOf(corpus, (hits[at] as DenseHit[]).slice(0, one.top)));
  };
  const run = async (): Promise<void> => {
    running = true;
    // Those that are asked in one turn of the event loop belong together.
    await new Promise((resolve) => setImmediate(resolve));
    while (waiting.length > 0) {
      const asked = waiting;
      waiting = [];
      await passOver(asked).catch((error: unknown) => {
        for (const one of asked) one.failed(error);
      });
    }
    running = false;
  };
  return {
    work,
    identity: denseIdentity(corpus),
    find: (query, top, { signal } = {}) =>
      new Promise((resolve, reject) => {
        signal?.throwIfAborted();
        waiting.push({ query, top, done: resolve, failed: reject });
        if (!running) void run();
      }),
  };
}

/** What a manifest says of a dense search. */
export function denseIdentity(corpus: CorpusFolder): { [field: string]: Json } {
  return {
    retriever: 'dense',
    unit: 'passage',
    encoder: corpus.encoder,
    indexed_text: PASSAGE_TEXT,
    search: 'exact inner product',
    corpus_sha256: corpus.corpus,
    passages: corpus.passages,
  };
}

async function documentsOf(corpus: CorpusFolder, hits: readonly DenseHit[]): Promise<RetrievedDocument[]> {
  const found: RetrievedDocument[] = [];
  for (const { file, row, score } of hits) {
    const { title, sentences } = await (corpus.parts[file] as CorpusFolder['parts'][number]).passages.row(row);
    found.push({ title, sentences, score });
  }
  return found;
}

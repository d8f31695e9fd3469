import { InputError } from '../core/errors.js';
import type { Json } from '../core/manifest.js';
import type { RetrievedDocument, RetrievedPages } from '../core/retrieved-pages.js';
import type { Retriever } from './retriever.js';

/** Where passages come from: an index here, or a server. */
export interface PassageSource {
  /** Everything that moves what it finds, for manifests. */
  readonly identity: Json;
  /** The best passages for a query, best first, fewer only where there are no more. Queries may overlap. Throws RetrieverError. */
  find(query: string, top: number, options?: { signal?: AbortSignal | undefined }): Promise<RetrievedDocument[]>;
}

/** A query could not be answered: its question fails, the others go on. */
export class RetrieverError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'RetrieverError';
  }
}

export interface PassageRetrieverOptions {
  /** First sentences of a passage that are kept. Default 12 (method.md §9). */
  sentences?: number | undefined;
}

export const DEFAULT_PASSAGE_SENTENCES = 12;

/**
 * The retriever of one question over passages (method.md §9, setting B): `top` counts passages, and each brings its first sentences. A passage
 * that the question has met before takes its place in the `top` and adds nothing, as with a server that knows nothing of earlier queries.
 */
export function passageRetriever(source: PassageSource, pages: RetrievedPages, options: PassageRetrieverOptions = {}): Retriever {
  const { sentences: most = DEFAULT_PASSAGE_SENTENCES } = options;
  return {
    identity: source.identity,
    search: async (query, { top, signal }) => {
      const found = await source.find(query, top, { signal });
      return pages.bring(found.map((one) => ({ ...one, sentences: one.sentences.slice(0, most) })));
    },
  };
}

/** Unit-length vectors of queries, by the encoder of the corpus under the role `query`. An InputError says why these queries have none. */
export type EncodeQueries = (queries: readonly string[]) => Promise<Float32Array[]>;

/**
 * A vector for each query, or the RetrieverError that its own question ends with: where the encoder's server refuses several at once, each is
 * tried alone, so that none fails for another.
 */
export async function queryVectors(encode: EncodeQueries, queries: readonly string[]): Promise<(Float32Array | RetrieverError)[]> {
  try {
    return await encode(queries);
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    if (queries.length === 1) return [new RetrieverError(error.message)];
  }
  const alone: (Float32Array | RetrieverError)[] = [];
  for (const query of queries) alone.push(...(await queryVectors(encode, [query])));
  return alone;
}

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

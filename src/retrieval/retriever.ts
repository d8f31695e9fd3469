import type { Json } from '../core/manifest.js';
import type { RetrievedSentence } from '../core/trajectories.js';

export interface SearchOptions {
  /** Sentences wanted, at least 1; fewer come back only when the pool has no more. */
  top: number;
  /** Places (`placeKey`) that are passed over. Default: none. */
  exclude?: ReadonlySet<string> | undefined;
  /** Ends a search that takes time. */
  signal?: AbortSignal | undefined;
}

export interface Retriever {
  /** Everything that moves its scores, for manifests: another engine's BM25 gives other numbers. */
  readonly identity: Json;
  /** The best sentences for a query, best first. */
  search(query: string, options: SearchOptions): RetrievedSentence[] | Promise<RetrievedSentence[]>;
}

/** A sentence's place in its pool as one string. Titles never serve as keys: they repeat within a pool. */
export function placeKey(page: number, sentence: number): string {
  return `${page}/${sentence}`;
}

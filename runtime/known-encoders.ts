import type { Pooling } from './pooling.js';

/** What a published encoder needs besides its files. */
export interface KnownEncoder {
  queryPrefix: string;
  passagePrefix: string;
  pooling: Pooling;
  /** Where the model is published. */
  source: string;
}

/**
 * Encoders known by name; their files are looked for in the model folder. E5 has `query: ` on both sides (method.md §5: symmetric similarity, as
 * its authors advise); BGE and GTE compare alike texts without any prefix.
 */
export const KNOWN_ENCODERS: { readonly [name: string]: KnownEncoder } = {
  'e5-base-v2': { queryPrefix: 'query: ', passagePrefix: 'query: ', pooling: 'mean', source: 'intfloat/e5-base-v2' },
  'e5-large-v2': { queryPrefix: 'query: ', passagePrefix: 'query: ', pooling: 'mean', source: 'intfloat/e5-large-v2' },
  'bge-base': { queryPrefix: '', passagePrefix: '', pooling: 'cls', source: 'BAAI/bge-base-en-v1.5' },
  'bge-large': { queryPrefix: '', passagePrefix: '', pooling: 'cls', source: 'BAAI/bge-large-en-v1.5' },
  'gte-base': { queryPrefix: '', passagePrefix: '', pooling: 'mean', source: 'thenlper/gte-base' },
};

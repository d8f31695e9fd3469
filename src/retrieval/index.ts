export { type Bm25Options, DEFAULT_BM25, bm25Identity, bm25Index } from './bm25.js';
export { type PoolSentence, sentencePool } from './pool.js';
export { type Retriever, type SearchOptions, placeKey } from './retriever.js';

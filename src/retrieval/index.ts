export { type Bm25Options, DEFAULT_BM25, bm25Identity, bm25Index } from './bm25.js';
export { bm25Passages } from './bm25-passages.js';
export { type BadPassage, type CorpusOptions, corpusPassages } from './corpus-file.js';
export { type CorpusFolder, openCorpusFolder } from './corpus-folder.js';
export { type DenseHit, type DensePass, type VectorFile, searchVectors } from './dense-index.js';
export { type DenseWork, densePassages } from './dense-passages.js';
export { httpPassages, retrieveAddress } from './http-passages.js';
export { type LanceOptions, lancePassages } from './lance-passages.js';
export {
  DEFAULT_PASSAGE_SENTENCES,
  type PassageRetrieverOptions,
  type PassageSource,
  RetrieverError,
  passageRetriever,
} from './passage-source.js';
export { type PoolSentence, sentencePool } from './pool.js';
export { type Retriever, type SearchOptions, placeKey } from './retriever.js';

import { PASSAGE_TEXT, type Passage } from '../core/corpus.js';
import { SPLITTER, splitSentences } from '../core/sentences.js';
import { type Bm25Options, DEFAULT_BM25, bm25Identity, bm25Index } from './bm25.js';
import type { PassageSource } from './passage-source.js';

/**
 * BM25 over whole passages, all of them in memory: for a small corpus, without an encoder. The same formula and words as over a question's own
 * sentences (`bm25Index`).
 */
export function bm25Passages(passages: readonly Passage[], { corpus, ...options }: Bm25Options & { corpus: string }): PassageSource {
  const { k1 = DEFAULT_BM25.k1, b = DEFAULT_BM25.b } = options;
  const index = bm25Index(
    passages.map(({ title, text }, page) => ({ page, sentence: 0, title, text })),
    { k1, b },
  );
  return {
    identity: {
      ...(bm25Identity({ k1, b }) as { [field: string]: string | number }),
      unit: 'passage',
      pool: 'corpus',
      indexed_text: PASSAGE_TEXT,
      corpus_sha256: corpus,
      passages: passages.length,
      splitter: SPLITTER,
    },
    find: async (query, top) => {
      const hits = await index.search(query, { top });
      return hits.map(({ page, title, text, score }) => ({
        title: passages[page]?.title ?? title,
        sentences: splitSentences(text),
        score,
      }));
    },
  };
}

import type { HopRecord } from '../core/records.js';

export interface PoolSentence {
  page: number;
  sentence: number;
  title: string;
  text: string;
}

/** The sentences of a record's own pages in pool order. Empty ones are passed over but keep their index (method.md §3). */
export function sentencePool(record: Pick<HopRecord, 'pages'>): PoolSentence[] {
  const pool: PoolSentence[] = [];
  for (const [page, { title, sentences }] of record.pages.entries()) {
    for (const [sentence, text] of sentences.entries()) {
      if (text.trim() !== '') pool.push({ page, sentence, title, text });
    }
  }
  return pool;
}

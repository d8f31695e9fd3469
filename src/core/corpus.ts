import { type Row, int, list, text, vector } from './columns.js';

/** A passage as a corpus file has it. */
export interface Passage {
  id: string;
  title: string;
  text: string;
}

/**
 * A corpus is written in parts of two tables each, `passages-NNNNN` and `vectors-NNNNN`, whose rows belong together. Vectors stand alone so
 * that a search reads nothing else.
 */
export const passageColumns = {
  /** Position in the corpus file, from 0, passages that were left out not counted: what ties are broken by. */
  passage: int(),
  id: text(),
  title: text(),
  /** Of the product's splitter. */
  sentences: list(text()),
} as const;
export type PassageRow = Row<typeof passageColumns>;

export const passageVectorColumns = {
  /** Unit length. */
  vector: vector(),
} as const;

/** What of a passage is embedded or indexed: pyserini's, FlashRAG's and Search-R1's `contents`, without the title's quotes. */
export function passageText({ title, text: content }: Pick<Passage, 'title' | 'text'>): string {
  return title === '' ? content : `${title}\n${content}`;
}
export const PASSAGE_TEXT = 'title\\ntext';

/** Passages that go to one shard in a row: shard i of n has the blocks i, i + n, i + 2n, … of the corpus. */
export const SHARD_BLOCK = 4096;

/** The number in the corpus of a shard's row. */
export function passageNumber(row: number, shard: number, of: number): number {
  return (Math.floor(row / SHARD_BLOCK) * of + shard) * SHARD_BLOCK + (row % SHARD_BLOCK);
}

/** Names of a part's two tables. */
export function partTables(part: number): { passages: string; vectors: string } {
  const number = String(part).padStart(5, '0');
  return { passages: `passages-${number}`, vectors: `vectors-${number}` };
}

/** The folder of one shard below that of its corpus. */
export function shardFolder(shard: number, of: number): string {
  return `shard-${String(shard).padStart(5, '0')}-of-${String(of).padStart(5, '0')}`;
}
export const SHARD_FOLDER = /^shard-(\d{5})-of-(\d{5})$/;

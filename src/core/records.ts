import { type Row, int, list, nullable, struct, text } from './columns.js';

export const DATASETS = ['hotpotqa', '2wiki', 'musique', 'bamboogle', 'jsonl'] as const;
export type DatasetName = (typeof DATASETS)[number];

/**
 * One multi-hop question with its pool, whatever file it came from. Positions are kept: `page` counts the pages of the pool as they stood
 * in the file and `sentence` the sentences of a page, empty ones included, so that every row made later can be traced to its source.
 */
export const recordColumns = {
  question_id: text(),
  /** Zero-based position in the source file, quarantined records counted. Pairing is by row, since ids repeat in public files. */
  row: int(),
  dataset: text(),
  question: text(),
  answer: nullable(text()),
  aliases: list(text()),
  type: nullable(text()),
  level: nullable(text()),
  pages: list(struct({ title: text(), sentences: list(text()) })),
  /**
   * Supporting facts as the file gives them. `page` is the first page with the fact's title on which the sentence exists, else the first
   * with the title (then the fact dangles), else null (then the gold page is missing from the pool).
   */
  supporting: list(struct({ title: text(), page: nullable(int()), sentence: int() })),
  /** MuSiQue's hops in order; `question` as in the file, with `#n` references; `page` is null where the file names no paragraph. */
  decomposition: list(struct({ question: text(), answer: text(), page: nullable(int()) })),
  /** 2Wiki's evidence triples. */
  evidences: list(struct({ subject: text(), relation: text(), object: text() })),
} as const;

export type HopRecord = Row<typeof recordColumns>;

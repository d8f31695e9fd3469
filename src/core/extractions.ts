import { type Row, float, int, nullable, text } from './columns.js';

/** Table `extractions`, one row a loop of a question: what an extractor answers from all that was retrieved up to it. */
export const extractionColumns = {
  question_id: text(),
  row: int(),
  /** One-based. */
  loop: int(),
  /** The name of the folder. */
  extractor: text(),
  answer: text(),
  /** Against the gold answer and its aliases; null where the record has no answer. */
  em: nullable(int()),
  f1: nullable(float()),
} as const;

export type Extraction = Row<typeof extractionColumns>;

import { type Row, float, int, nullable, text } from './columns.js';

/**
 * What a decider said, cached so that every policy reads the same verdicts. With claims: one row for each claim–sentence pair that was
 * scored, at the loop that brought the sentence; whether a claim is covered at a loop follows from the rows up to it. Without claims: one
 * row a loop, `claim`, `page` and `sentence` null. Either the three label log-probabilities are given, or `p`.
 */
export const verdictColumns = {
  question_id: text(),
  row: int(),
  loop: int(),
  decider: text(),
  claim: nullable(int()),
  page: nullable(int()),
  sentence: nullable(int()),
  lp_match: nullable(float()),
  lp_partial: nullable(float()),
  lp_null: nullable(float()),
  /** Probability of "matched" (with claims) or of "covered" (without). */
  p: nullable(float()),
} as const;

export type Verdict = Row<typeof verdictColumns>;

/** The second table of a verdicts folder: which questions were decided, so that a question without a scored pair is still known. */
export const decidedColumns = {
  question_id: text(),
  row: int(),
  /** Loops of the full trajectory; each has its verdict. */
  loops: int(),
  /** Number of claims that have to be covered; null for deciders that read no claims. 0 means that the question is never covered. */
  claims: nullable(int()),
} as const;

export type DecidedQuestion = Row<typeof decidedColumns>;

import { type Row, choice, float, int, nullable, text } from './columns.js';
import { CLAIM_FORMS, LABELS } from './labels.js';

/** What a verifier gave one pair. Rows of a label folder name their place; pairs from JSON lines have their line alone. */
export const verifierScoreColumns = {
  /** Zero-based position among the pairs as they were given. */
  pair: int(),
  dataset: nullable(text()),
  question_id: nullable(text()),
  row: nullable(int()),
  claim: nullable(int()),
  form: nullable(choice(CLAIM_FORMS)),
  page_index: nullable(int()),
  sentence_index: nullable(int()),
  /** The row's own label. */
  label: nullable(choice(LABELS)),
  lp_match: float(),
  lp_partial: float(),
  lp_null: float(),
  /** The label that the scores say; a tie is no match. */
  said: choice(LABELS),
} as const;

export type VerifierScore = Row<typeof verifierScoreColumns>;

import { type Row, bool, choice, int, text } from './columns.js';

/** What one sentence does for one claim, best first (method.md §3). The one place where the label names stand. */
export const LABELS = ['match', 'partial', 'null'] as const;
export type Label = (typeof LABELS)[number];

export const SPLITS = ['train', 'dev'] as const;

/** Wordings of a claim in label rows (method.md §4). */
export const CLAIM_FORMS = ['sentence', 'title', 'triple', 'subquestion', 'masked'] as const;
export type ClaimForm = (typeof CLAIM_FORMS)[number];

/** One training row of the verifier (method.md §3). */
export const labelColumns = {
  question_id: text(),
  row: int(),
  dataset: text(),
  question: text(),
  claim: int(),
  form: choice(CLAIM_FORMS),
  /** Equal to `expected_target`: the record's answer is never read. */
  answer_candidate: text(),
  expected_claim: text(),
  expected_page: text(),
  expected_target: text(),
  expected_target_role: text(),
  evidence_page: text(),
  evidence_sentence: text(),
  label: choice(LABELS),
  split: choice(SPLITS),
  page_index: int(),
  sentence_index: int(),
  /** True where the dataset has no sentence-level facts and the label was derived (MuSiQue: from the hop's answer). */
  derived: bool(),
} as const;

export type LabelRow = Row<typeof labelColumns>;

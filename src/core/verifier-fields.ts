import { z } from 'zod';
import type { LabelRow } from './labels.js';

/** What a verifier reads of one pair of claim and sentence: the columns of a label row, in the order of method.md §4. */
export const verifierFields = z.strictObject({
  question: z.string(),
  answer_candidate: z.string(),
  expected_claim: z.string(),
  expected_page: z.string(),
  expected_target: z.string(),
  expected_target_role: z.string(),
  evidence_page: z.string(),
  evidence_sentence: z.string(),
});
export type VerifierFields = z.infer<typeof verifierFields>;

/** Their names, in that order. */
export const VERIFIER_FIELDS = Object.keys(verifierFields.shape) as readonly (keyof VerifierFields)[];

/** The columns of a label row that a verifier reads. */
export function fieldsOf(row: LabelRow): VerifierFields {
  return Object.fromEntries(VERIFIER_FIELDS.map((name) => [name, row[name]])) as VerifierFields;
}

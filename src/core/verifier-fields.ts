import { z } from 'zod';

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

import { z } from 'zod';
import { classReportSchema } from './class-report.js';
import { encoderIdentity } from './embeddings.js';
import { CLAIM_FORMS } from './labels.js';
import { pairFeatureSet } from './pair-features.js';

export const SMALL_VERIFIER_ONNX = 'small-verifier.onnx';
export const SMALL_VERIFIER_WEIGHTS = 'small-verifier.safetensors';

/** What a small verifier's manifest says of it in `details`: everything its scores belong to, and how good they are. */
export const smallVerifierDetails = z.strictObject({
  encoder: encoderIdentity,
  features: pairFeatureSet,
  /** Wordings of the claims that it was trained on; on others it is a guess (method.md §4). */
  forms: z.array(z.enum(CLAIM_FORMS)).min(1),
  datasets: z.array(z.string()).min(1),
  backend: z.string(),
  hidden: z.array(z.int().positive()).min(1),
  parameters: z.int().positive(),
  training: z.strictObject({
    rows: z.int(),
    questions: z.int(),
    held_out_rows: z.int(),
    held_out_questions: z.int(),
    epochs: z.int(),
    best_epoch: z.int(),
    steps: z.int(),
    /** `held_out_macro_f1` has every dataset's and form's classes at equal weight. */
    history: z.array(z.strictObject({ epoch: z.int(), loss: z.number(), held_out_macro_f1: z.nullable(z.number()) })),
  }),
  /** One entry for each dataset and form of the held-out rows, as many rows as there are; empty where none were held out. */
  held_out: z.array(z.strictObject({ dataset: z.string(), form: z.enum(CLAIM_FORMS), report: classReportSchema })),
});
export type SmallVerifierDetails = z.infer<typeof smallVerifierDetails>;

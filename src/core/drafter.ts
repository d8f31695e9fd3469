import { z } from 'zod';
import { CLAIM_SOURCES, CLAIM_TEXTS } from './claims.js';
import { encoderIdentity } from './embeddings.js';

export const DRAFTER_ONNX = 'drafter.onnx';
export const DRAFTER_WEIGHTS = 'drafter.safetensors';
/** The tensor of the weights file that holds the mean training claim of each slot, [slots × dimensions]: the drafter's first baseline. */
export const MEAN_CLAIMS = 'baseline.mean_claims';

const cosine = z.number().min(-1.001).max(1.001);

/** A drafter's largest call cut at an agreement on held-out runs, beside the two baselines and the claims' own text. */
const frontierEntry = z.strictObject({
  dataset: z.string(),
  /** That it is measured on: those that the drafter has not seen. */
  questions: z.int().positive(),
  /** Questions of the runs that it was trained on, and that chose its epoch. */
  left_out: z.strictObject({ training: z.int().nonnegative(), epoch: z.int().nonnegative() }),
  decider: z.string(),
  agreement: z.number(),
  drafter: z.number(),
  /** Every question is given the mean training claims of the drafter's slots. */
  mean_claim: z.number(),
  /** The question's own vector stands for its claims. */
  question: z.number(),
  /** The texts of the run's own claims. */
  claim_text: z.number(),
});
export type FrontierEntry = z.infer<typeof frontierEntry>;

/** What a drafter's manifest says of it in `details` (architecture.md §4): everything its slots belong to, and how good they are. */
export const drafterDetails = z.strictObject({
  encoder: encoderIdentity,
  /** Where the training claims came from; `gold` makes it a diagnostic. `unstated`: JSON lines without --source. */
  claim_source: z.enum([...CLAIM_SOURCES, 'unstated']),
  /** Which text of a claim was learnt; null for JSON lines, whose `claim_field` is named. */
  claim_text: z.nullable(z.enum(CLAIM_TEXTS)),
  claim_field: z.nullable(z.string()),
  label: z.string(),
  backend: z.string(),
  shape: z.strictObject({
    hidden: z.array(z.int().positive()),
    slots: z.int().positive(),
    counts: z.int().positive(),
    residual: z.boolean(),
  }),
  parameters: z.int().positive(),
  training: z.strictObject({
    questions: z.int(),
    held_out: z.int(),
    epochs: z.int(),
    best_epoch: z.int(),
    steps: z.int(),
    history: z.array(z.strictObject({ epoch: z.int(), loss: z.number(), held_out_cosine: z.nullable(cosine) })),
  }),
  /** Null where no question was held out. */
  held_out: z.nullable(
    z.strictObject({
      cosine,
      cosine_per_slot: z.array(z.nullable(cosine)),
      count_accuracy: z.number(),
      baselines: z.strictObject({ mean_claim: cosine, question: cosine }),
      pairwise_cosine: cosine,
      pairwise_cosine_of_claims: cosine,
      collapsed: z.boolean(),
    }),
  ),
  learning_curve: z.array(z.strictObject({ questions: z.int(), cosine: z.nullable(cosine), best_epoch: z.int() })),
  /** One entry for each run that the drafter was measured on; empty where it was measured on none. */
  frontier: z.array(frontierEntry),
  /** On every entry of `frontier`; where that is empty, by the held-out cosine. False where nothing was held out, or it has collapsed. */
  beatsBaselines: z.boolean(),
});
export type DrafterDetails = z.infer<typeof drafterDetails>;

/**
 * Whether a drafter is better than both baselines, by the best evidence that there is (method.md §7). One that gave held-out questions nearly
 * the same draft is not, whatever its cut or cosine: it can only beat the mean claim by chance.
 */
export function beatsBaselines(heldOut: DrafterDetails['held_out'], frontier: readonly FrontierEntry[]): boolean {
  if (heldOut?.collapsed) return false;
  if (frontier.length > 0) return frontier.every((one) => one.drafter > one.mean_claim && one.drafter > one.question);
  return heldOut !== null && heldOut.cosine > heldOut.baselines.mean_claim && heldOut.cosine > heldOut.baselines.question;
}

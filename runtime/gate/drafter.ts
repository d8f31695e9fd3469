import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { checkDenseWeights, denseLayers } from '../../src/core/dense-layers.js';
import { DRAFTER_ONNX, DRAFTER_WEIGHTS, type DrafterDetails, drafterDetails } from '../../src/core/drafter.js';
import type { EncoderIdentity } from '../../src/core/embeddings.js';
import { InputError } from '../../src/core/errors.js';
import { checkOutputs, readManifest } from '../../src/core/manifest.js';
import { readSafetensors } from '../../src/core/safetensors.js';
import { type LearntFrom, TRAINING_QUESTIONS, readTrainingQuestions } from '../../src/core/training-questions.js';
import { checkPorts, openOnnxModel } from '../models/onnx-session.js';
import { trainedEncoder } from '../encoders/same-encoder.js';

/** What a drafter says of one question. */
export interface Draft {
  /** Predicted number of claims, at most the number of slots. */
  k: number;
  /** The first k slots, unit length: they stand for the claims in the margin (method.md §7). */
  slots: Float32Array[];
}

/** A trained drafter. It owns a native session until it is closed. */
export interface Drafter {
  readonly details: DrafterDetails;
  /** sha256 of `drafter.onnx`: what a profile names. */
  readonly sha256: string;
  /** What a question did for it: a figure on one that it was trained on is no held-out one. */
  readonly learntFrom: LearntFrom;
  /** From the question's embedding in the role `query`. Throws RangeError for a vector of another width. */
  draft(question: Float32Array): Promise<Draft>;
  close(): Promise<void>;
}

export interface DrafterOptions {
  /** The encoder whose vectors it is given. */
  encoder: EncoderIdentity;
  /** Told once when the drafter does not beat its baselines. Default: process.emitWarning. */
  warn?: ((message: string) => void) | undefined;
}

/**
 * Opens a folder of kind `drafter`. Throws InputError where it is none or a file's bytes are not those of its manifest, and
 * ProfileMismatchError that names the difference when it was trained on another encoder's vectors.
 */
export async function openDrafter(folder: string, { encoder, warn = emitWarning }: DrafterOptions): Promise<Drafter> {
  const manifest = await readManifest(folder, 'drafter');
  const parsed = drafterDetails.safeParse(manifest.details);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    throw new InputError(issue?.message ?? 'invalid', { file: folder, field: ['details', ...(issue?.path ?? [])].join('.') });
  }
  const details = parsed.data;
  trainedEncoder(details.encoder, encoder, 'drafter');
  await checkOutputs(folder, manifest, [DRAFTER_ONNX, DRAFTER_WEIGHTS, TRAINING_QUESTIONS]);
  const learntFrom = await readTrainingQuestions(folder, manifest);
  const { dimensions } = details.encoder;
  const { hidden, slots, counts } = details.shape;
  const weights = join(folder, DRAFTER_WEIGHTS);
  checkDenseWeights(await readSafetensors(weights), denseLayers([dimensions, ...hidden, slots * dimensions + counts]), {
    parameters: details.parameters,
    file: weights,
  });
  const file = join(folder, DRAFTER_ONNX);
  const model = await openDraftModel(await readFile(file), file, { slots, counts, dimensions });
  if (!details.beatsBaselines) warn(weakness(folder, details));
  return {
    ...model,
    details,
    learntFrom,
    sha256: (manifest.outputs.find((one) => one.name === DRAFTER_ONNX) as { sha256: string }).sha256,
  };
}

/**
 * A drafter's graph without a folder around it, as training has it in hand. `file` names it in messages. Throws InputError where the graph is
 * of other slots, counts or dimensions.
 */
export async function openDraftModel(
  onnx: Uint8Array,
  file: string,
  { slots, counts, dimensions }: { slots: number; counts: number; dimensions: number },
): Promise<Pick<Drafter, 'draft' | 'close'>> {
  const model = await openOnnxModel(onnx, file);
  try {
    checkPorts(model.inputs, { question: [null, dimensions] }, file);
    checkPorts(model.outputs, { slots: [null, slots, dimensions], count_logits: [null, counts] }, file);
  } catch (error) {
    await model.close();
    throw error;
  }
  return {
    draft: async (question) => {
      if (question.length !== dimensions) throw new RangeError(`question: got ${question.length} numbers, expected ${dimensions}`);
      const output = await model.run(question, 1, dimensions);
      const logits = output.count_logits as Float32Array;
      let best = 0;
      for (let at = 1; at < counts; at++) if ((logits[at] as number) > (logits[best] as number)) best = at;
      const k = Math.min(best + 1, slots);
      const all = output.slots as Float32Array;
      return { k, slots: Array.from({ length: k }, (_, at) => all.slice(at * dimensions, (at + 1) * dimensions)) };
    },
    close: () => model.close(),
  };
}

function emitWarning(message: string): void {
  process.emitWarning(message);
}

function weakness(folder: string, { held_out: heldOut, frontier }: DrafterDetails): string {
  const measured = heldOut?.collapsed
    ? 'its drafts of different questions are nearly one'
    : frontier.length > 0
      ? 'its call cut on held-out runs is not above both baselines'
      : heldOut === null
        ? 'it was never measured on held-out questions'
        : 'its held-out cosine is not above both baselines';
  return `${folder}: beatsBaselines is false: ${measured} (the mean claim vector, the question's own vector)`;
}

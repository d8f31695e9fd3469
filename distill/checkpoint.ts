import { z } from 'zod';
import type { DenseLayer } from '../src/core/dense-layers.js';
import { InputError } from '../src/core/errors.js';
import { sha256 } from '../src/core/hash.js';
import { type NamedTensor, parseSafetensors, safetensorsBytes } from '../src/core/safetensors.js';

/** How far a fit has come. */
export interface FitProgress {
  /** Whole passes over the training questions. */
  epoch: number;
  /** Steps of the optimiser; every random draw of the next step follows from it and the seed. */
  step: number;
  /** The epoch whose weights are kept; 0 before the first. */
  bestEpoch: number;
  /** Its held-out cosine; null without held-out questions. */
  bestCosine: number | null;
  history: { epoch: number; loss: number; heldOutCosine: number | null }[];
}

/** Where the state of an unfinished fit is kept. */
export interface Checkpoints {
  /** Names it in messages. */
  file: string;
  /** Epochs between two of them. */
  every: number;
  load(): Promise<Buffer | undefined>;
  /** Has to replace the older one atomically. */
  save(bytes: Buffer): Promise<void>;
}

/** Everything that the rest of a fit follows from, apart from its examples and options. */
export interface Checkpoint {
  progress: FitProgress;
  parameters: readonly Float32Array[];
  /** Adam's first and second moments. */
  first: readonly Float32Array[];
  second: readonly Float32Array[];
  /** Parameters of the best epoch. */
  best: readonly Float32Array[];
}

const PARTS = ['parameters', 'first', 'second', 'best'] as const;

const progressSchema = z.strictObject({
  epoch: z.int().nonnegative(),
  step: z.int().nonnegative(),
  bestEpoch: z.int().nonnegative(),
  bestCosine: z.nullable(z.number()),
  history: z.array(z.strictObject({ epoch: z.int(), loss: z.number(), heldOutCosine: z.nullable(z.number()) })),
});

/** A safetensors file behind its sha256: a changed byte would go on to another drafter. */
export function writeCheckpoint(checkpoint: Checkpoint): Buffer {
  const tensors: NamedTensor[] = PARTS.flatMap((part) =>
    checkpoint[part].map((values, at) => ({ name: `${part}.${at}`, shape: [values.length], values })),
  );
  const content = safetensorsBytes(tensors, { progress: JSON.stringify(checkpoint.progress) });
  return Buffer.concat([digestOf(content), content]);
}

/** Throws InputError where the bytes are not those that were written. */
export function readCheckpoint(bytes: Buffer, layers: readonly DenseLayer[], file: string): Checkpoint {
  const content = bytes.subarray(DIGEST_BYTES);
  const [got, expected] = [digestOf(content), bytes.subarray(0, DIGEST_BYTES)];
  if (!got.equals(expected)) {
    throw new InputError(
      `got sha256 ${got.toString('hex')}, expected ${expected.toString('hex')} as it was written: the checkpoint was changed or damaged; start again with --force`,
      { file },
    );
  }
  const tensors = parseSafetensors(content, file);
  const part = (name: string): Float32Array[] => Array.from({ length: 2 * layers.length }, (_, at) => tensors.floats(`${name}.${at}`));
  return {
    progress: progressSchema.parse(JSON.parse(tensors.metadata.progress ?? 'null')),
    parameters: part('parameters'),
    first: part('first'),
    second: part('second'),
    best: part('best'),
  };
}

const DIGEST_BYTES = 32;

function digestOf(content: Buffer): Buffer {
  return Buffer.from(sha256(content), 'hex');
}

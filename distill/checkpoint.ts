import { z } from 'zod';
import { type NamedTensor, parseSafetensors, safetensorsBytes } from '../src/core/safetensors.js';
import type { LayerSize } from './shape.js';

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

export function writeCheckpoint(checkpoint: Checkpoint): Buffer {
  const tensors: NamedTensor[] = PARTS.flatMap((part) =>
    checkpoint[part].map((values, at) => ({ name: `${part}.${at}`, shape: [values.length], values })),
  );
  return safetensorsBytes(tensors, { progress: JSON.stringify(checkpoint.progress) });
}

export function readCheckpoint(bytes: Buffer, layers: readonly LayerSize[]): Checkpoint {
  const file = parseSafetensors(bytes, 'checkpoint');
  const part = (name: string): Float32Array[] => Array.from({ length: 2 * layers.length }, (_, at) => file.floats(`${name}.${at}`));
  return {
    progress: progressSchema.parse(JSON.parse(file.metadata.progress ?? 'null')),
    parameters: part('parameters'),
    first: part('first'),
    second: part('second'),
    best: part('best'),
  };
}

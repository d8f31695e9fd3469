import { random } from '../src/core/random.js';
import { denseTensors } from './dense-tensors.js';
import { type DrafterShape, layerSizes } from './shape.js';
import type { Tensor, Tf } from './tensors.js';

/** A drafter as plain numbers: what is exported, and what a backend's tensors are made from. */
export interface DrafterModel {
  shape: DrafterShape;
  /** Width of the encoder's vectors. */
  dimensions: number;
  /** Slot = unit(question + correction); plain: slot = unit(correction). */
  residual: boolean;
  /** Two for each layer of `layerSizes`: its weight [in × out] and its bias [out]. */
  parameters: readonly Float32Array[];
}

export interface DrafterOutputs {
  /** Slots before they are brought to unit length, [batch × slots × dimensions]. */
  slots: Tensor;
  /** Logits of the number of claims, [batch × counts]; class i is i + 1 claims. */
  counts: Tensor;
}

/** Added under the root of a slot's length, so that a zero slot stays zero instead of becoming NaN. The ONNX graph has it too. */
export const LENGTH_EPSILON = 1e-12;

/**
 * Seeded weights: uniform, He's bound for the layers before a ReLU and Glorot's for the last, biases zero. Drawn here, since TensorFlow.js has
 * no seed of the run's own. The same on every backend.
 */
export function initialParameters(shape: DrafterShape, dimensions: number, seed: number): Float32Array[] {
  return layerSizes(shape, dimensions).flatMap(({ name, inputs, outputs }) => {
    const draw = random(seed, 'drafter', 'initial', name);
    const bound = name === 'out' ? Math.sqrt(6 / (inputs + outputs)) : Math.sqrt(6 / inputs);
    const weight = new Float32Array(inputs * outputs);
    for (let i = 0; i < weight.length; i++) weight[i] = (2 * draw.float() - 1) * bound;
    return [weight, new Float32Array(outputs)];
  });
}

/** The parameters as tensors that outlive the surrounding tidy; whoever asked for them disposes them. */
export function parameterTensors(tf: Tf, shape: DrafterShape, dimensions: number, parameters: readonly Float32Array[]): Tensor[] {
  return denseTensors(tf, layerSizes(shape, dimensions), parameters);
}

/**
 * The forward pass. `masks` are one dropout mask for each hidden layer, [batch × width], already scaled by 1 / (1 − rate); none at inference.
 */
export function forward(
  tf: Tf,
  model: Pick<DrafterModel, 'shape' | 'dimensions' | 'residual'>,
  parameters: readonly Tensor[],
  questions: Tensor,
  masks?: readonly Tensor[],
): DrafterOutputs {
  const { shape, dimensions, residual } = model;
  let state = questions;
  for (let layer = 0; layer <= shape.hidden.length; layer++) {
    state = tf.add(tf.matMul(state, parameters[2 * layer] as Tensor), parameters[2 * layer + 1] as Tensor);
    if (layer === shape.hidden.length) break;
    state = tf.relu(state);
    if (masks) state = tf.mul(state, masks[layer] as Tensor);
  }
  const batch = questions.shape[0];
  const width = shape.slots * dimensions;
  const corrections = tf.reshape(tf.slice(state, [0, 0], [batch, width]), [batch, shape.slots, dimensions]);
  return {
    slots: residual ? tf.add(corrections, tf.expandDims(questions, 1)) : corrections,
    counts: tf.slice(state, [0, width], [batch, shape.counts]),
  };
}

/** What the drafter says of many questions: slots of unit length, [questions × slots × dimensions], and the logits of the count. */
export interface Drafts {
  slots: Float32Array;
  counts: Float32Array;
}

/** Runs the forward pass over questions, row-major [n × dimensions], in batches. */
export function predictDrafts(
  tf: Tf,
  model: Pick<DrafterModel, 'shape' | 'dimensions' | 'residual'>,
  parameters: readonly Tensor[],
  questions: Float32Array,
): Drafts {
  const { shape, dimensions } = model;
  const total = questions.length / dimensions;
  const slots = new Float32Array(total * shape.slots * dimensions);
  const counts = new Float32Array(total * shape.counts);
  for (let from = 0; from < total; from += PREDICTION_BATCH) {
    const size = Math.min(PREDICTION_BATCH, total - from);
    const [slotPart, countPart] = tf.tidy(() => {
      const input = tf.tensor2d(questions.slice(from * dimensions, (from + size) * dimensions), [size, dimensions]);
      const raw = forward(tf, model, parameters, input);
      const length = tf.sqrt(tf.add(tf.sum(tf.square(raw.slots), -1, true), LENGTH_EPSILON));
      return [tf.div(raw.slots, length).dataSync(), raw.counts.dataSync()] as const;
    });
    slots.set(slotPart, from * shape.slots * dimensions);
    counts.set(countPart, from * shape.counts);
  }
  return { slots, counts };
}

const PREDICTION_BATCH = 256;

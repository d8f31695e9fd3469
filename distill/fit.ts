import { InputError } from '../src/core/errors.js';
import { random } from '../src/core/random.js';
import { type AdamState, adamStep, disposeState } from './adam.js';
import { type Checkpoints, type FitProgress, readCheckpoint, writeCheckpoint } from './checkpoint.js';
import { readTensors, zeroParameters } from './dense-tensors.js';
import { dropoutMasks } from './dropout.js';
import { type DrafterModel, forward, initialParameters, parameterTensors, predictDrafts } from './drafter-model.js';
import { type EvidenceBatch, evidenceBatchOf } from './evidence.js';
import { type Examples, batchOf } from './examples.js';
import { draftQuality } from './draft-quality.js';
import { type MarginTargets, drafterLoss, marginLoss } from './losses.js';
import { type DrafterShape, layerSizes } from './shape.js';
import { type Matching, matchTargets } from './slot-matching.js';
import type { Tensor, Tf } from './tensors.js';

export interface FitOptions {
  shape: DrafterShape;
  /** Slots are unit(question + correction). */
  residual: boolean;
  /** Share of a hidden layer's values that are zeroed in a step, in [0, 1). */
  dropout: number;
  /** Decoupled weight decay; 0: none. */
  weightDecay: number;
  learningRate: number;
  /** Questions a step. */
  batch: number;
  /** Passes over the training questions at most. */
  epochs: number;
  /** Ends after so many epochs without a better held-out cosine; the best epoch's weights are kept. 0: never ends early. */
  patience: number;
  matching: Matching;
  /** Weight of the count's cross-entropy beside the cosine loss. */
  countWeight: number;
  /** Weight of the squared error of the margins on retrieved evidence, for the examples that have some; 0 or left out: none. */
  marginWeight?: number | undefined;
  seed: number;
}

export interface FitHooks {
  /** Called after each epoch. */
  onEpoch?: (progress: FitProgress) => void;
  /** Where an interrupted run goes on from; none: it cannot. */
  checkpoints?: Checkpoints;
  /** When aborted, the fit throws its reason after the current epoch, whose checkpoint is written. */
  signal?: AbortSignal | undefined;
}

export interface FittedDrafter {
  model: DrafterModel;
  progress: FitProgress;
}

/**
 * Trains a drafter on examples. The same examples, options and backend give the same bits: weights, order and dropout masks are drawn from
 * the seed, the masks anew for each step, and the draws of a step depend on its number alone, so a run that goes on from a checkpoint
 * continues the undisturbed one. Without held-out examples the last epoch's weights are kept.
 */
export async function fitDrafter(
  tf: Tf,
  training: Examples,
  heldOut: Examples,
  options: FitOptions,
  hooks: FitHooks = {},
): Promise<FittedDrafter> {
  const { shape, residual } = options;
  const { dimensions } = training;
  const model = { shape, dimensions, residual };
  const { progress, best, state: started } = await start(tf, model, options, hooks.checkpoints);
  let [state, bestParameters] = [started, best];
  while (progress.epoch < options.epochs && !stale(progress, options)) {
    const order = random(options.seed, 'drafter', 'shuffle', progress.epoch).shuffle(training.questions.map((_, index) => index));
    let loss = 0;
    for (let from = 0; from < order.length; from += options.batch) {
      const indices = order.slice(from, from + options.batch);
      const stepped = trainStep(tf, model, state, training, indices, options);
      disposeState(state);
      state = stepped.state;
      loss += stepped.loss * indices.length;
    }
    progress.epoch++;
    progress.step = state.step;
    const cosine = heldOut.questions.length === 0 ? null : heldOutCosine(tf, model, state.parameters, heldOut, options.matching);
    progress.history.push({ epoch: progress.epoch, loss: loss / order.length, heldOutCosine: cosine });
    if (cosine === null || progress.bestCosine === null || cosine > progress.bestCosine) {
      progress.bestCosine = cosine;
      progress.bestEpoch = progress.epoch;
      bestParameters = readTensors(state.parameters);
    }
    hooks.onEpoch?.(progress);
    const every = hooks.checkpoints?.every ?? Infinity;
    if (hooks.checkpoints && (progress.epoch % every === 0 || hooks.signal?.aborted)) {
      const moments = { first: readTensors(state.first), second: readTensors(state.second) };
      await hooks.checkpoints.save(
        writeCheckpoint({ progress, parameters: readTensors(state.parameters), ...moments, best: bestParameters }),
      );
    }
    if (hooks.signal?.aborted) {
      disposeState(state);
      throw hooks.signal.reason;
    }
    // Ctrl-C is heard only between turns of the event loop.
    await new Promise((resolve) => setImmediate(resolve));
  }
  disposeState(state);
  return { model: { ...model, parameters: bestParameters }, progress };
}

/** One step of the optimiser on the examples at these positions. The caller disposes the old state. */
export function trainStep(
  tf: Tf,
  model: Pick<DrafterModel, 'shape' | 'dimensions' | 'residual'>,
  state: AdamState,
  examples: Examples,
  indices: readonly number[],
  options: FitOptions,
): { state: AdamState; loss: number } {
  const { shape, dimensions } = model;
  let batch = batchOf(examples, indices, shape.slots, shape.counts);
  if (options.matching === 'hungarian') {
    const { slots } = predictDrafts(tf, model, state.parameters, batch.questions);
    batch = matchTargets(batch, slots, shape.slots, dimensions);
  }
  const { marginWeight = 0 } = options;
  const evidence =
    marginWeight > 0 && examples.evidence
      ? evidenceBatchOf(
          batch,
          indices.map((index) => examples.evidence?.[index]),
          shape.slots,
          dimensions,
        )
      : undefined;
  const masks = dropoutMasks(shape.hidden, batch.size, {
    model: 'drafter',
    rate: options.dropout,
    seed: options.seed,
    step: state.step,
  });
  return tf.tidy(() => {
    const questions = tf.tensor2d(batch.questions, [batch.size, dimensions]);
    const targets = {
      claims: tf.tensor3d(batch.targets, [batch.size, shape.slots, dimensions]),
      mask: tf.tensor2d(batch.mask, [batch.size, shape.slots]),
      counts: tf.oneHot(tf.tensor1d(batch.counts, 'int32'), shape.counts),
    };
    const dropped = masks?.map((mask, layer) => tf.tensor2d(mask, [batch.size, shape.hidden[layer] as number]));
    const margins = evidence && marginTargets(tf, evidence, batch.size, shape.slots, dimensions);
    const { value, grads } = tf.valueAndGrads((...parameters: Tensor[]) => {
      const outputs = forward(tf, model, parameters, questions, dropped);
      const loss = drafterLoss(tf, outputs, targets, options.countWeight);
      if (!margins) return loss;
      // On slots as inference has them: dropped values turn a slot away from everything, and margins learnt so are too small without dropout.
      const whole = dropped ? forward(tf, model, parameters, questions) : outputs;
      return tf.add(loss, tf.mul(marginLoss(tf, whole, margins), marginWeight));
    })([...state.parameters]);
    const loss = value.dataSync()[0] as number;
    if (!Number.isFinite(loss)) {
      throw new InputError(`the loss is ${loss} at step ${state.step + 1}: lower --learning-rate (it is ${options.learningRate})`);
    }
    return { state: adamStep(tf, state, grads, options), loss };
  });
}

function marginTargets(tf: Tf, evidence: EvidenceBatch, batch: number, slots: number, dimensions: number): MarginTargets {
  const { size, sentences, loops } = evidence;
  return {
    chosen: tf.tensor2d(evidence.chosen, [size, batch]),
    vectors: tf.tensor3d(evidence.vectors, [size, sentences, dimensions]),
    unseen: tf.tensor3d(evidence.unseen, [size, loops, sentences]),
    best: tf.tensor3d(evidence.best, [size, slots, loops]),
    mask: tf.tensor3d(evidence.mask, [size, slots, loops]),
  };
}

/** Zero moments and seeded weights. */
export function initialState(tf: Tf, shape: DrafterShape, dimensions: number, seed: number): AdamState {
  const zeros = zeroParameters(layerSizes(shape, dimensions));
  return {
    parameters: parameterTensors(tf, shape, dimensions, initialParameters(shape, dimensions, seed)),
    first: parameterTensors(tf, shape, dimensions, zeros),
    second: parameterTensors(tf, shape, dimensions, zeros),
    step: 0,
  };
}

async function start(
  tf: Tf,
  model: Pick<DrafterModel, 'shape' | 'dimensions'>,
  options: FitOptions,
  checkpoints: Checkpoints | undefined,
): Promise<{ progress: FitProgress; best: readonly Float32Array[]; state: AdamState }> {
  const { shape, dimensions } = model;
  const saved = await checkpoints?.load();
  if (saved === undefined) {
    const progress: FitProgress = { epoch: 0, step: 0, bestEpoch: 0, bestCosine: null, history: [] };
    const state = initialState(tf, shape, dimensions, options.seed);
    return { progress, best: readTensors(state.parameters), state };
  }
  const { progress, parameters, first, second, best } = readCheckpoint(
    saved,
    layerSizes(shape, dimensions),
    checkpoints?.file ?? 'checkpoint',
  );
  const tensors = (values: readonly Float32Array[]): Tensor[] => parameterTensors(tf, shape, dimensions, values);
  return {
    progress,
    best,
    state: { parameters: tensors(parameters), first: tensors(first), second: tensors(second), step: progress.step },
  };
}

function stale({ epoch, bestEpoch }: FitProgress, { patience }: FitOptions): boolean {
  return patience > 0 && epoch > 0 && epoch - bestEpoch >= patience;
}

function heldOutCosine(
  tf: Tf,
  model: Pick<DrafterModel, 'shape' | 'dimensions' | 'residual'>,
  parameters: readonly Tensor[],
  heldOut: Examples,
  matching: Matching,
): number {
  return draftQuality(tf, model, parameters, heldOut, matching).cosine;
}

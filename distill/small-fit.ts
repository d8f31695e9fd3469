import { classReport, type JudgedRow } from '../src/core/class-report.js';
import { InputError } from '../src/core/errors.js';
import { LABELS } from '../src/core/labels.js';
import { random } from '../src/core/random.js';
import { type AdamState, adamStep, disposeState } from './adam.js';
import { denseTensors, readTensors, zeroParameters } from './dense-tensors.js';
import { dropoutMasks } from './dropout.js';
import { type SmallModel, initialSmallParameters, smallLayers, smallLogits } from './small-model.js';
import type { Scalar, Tensor, Tf } from './tensors.js';

export interface SmallFitOptions {
  hidden: readonly number[];
  /** Share of a hidden layer's values that are zeroed in a step, in [0, 1). */
  dropout: number;
  /** Decoupled weight decay; 0: none. */
  weightDecay: number;
  learningRate: number;
  /** Rows a step. */
  batch: number;
  /** Passes over the training rows at most. */
  epochs: number;
  /** Ends after so many epochs without a better held-out macro-F1; the best epoch's weights are kept. 0: never ends early. */
  patience: number;
  seed: number;
}

/** Labelled pairs whose features are written on demand, since all of them at once would not fit into memory. */
export interface PairExamples {
  /** Width of a pair's features. */
  width: number;
  /** Positions in LABELS. */
  labels: Uint8Array;
  /** How much each row counts in the loss and in the held-out figure. */
  weights: Float32Array;
  write(at: number, target: Float32Array, offset: number): void;
}

export interface SmallFit {
  model: SmallModel;
  epochs: number;
  bestEpoch: number;
  steps: number;
  history: { epoch: number; loss: number; heldOut: number | null }[];
}

/**
 * Trains the head with weighted cross-entropy. The same examples, options and backend give the same bits: weights, order and dropout masks
 * are drawn from the seed. Without held-out rows the last epoch's weights are kept.
 */
export async function fitSmallVerifier(
  tf: Tf,
  training: PairExamples,
  heldOut: PairExamples,
  options: SmallFitOptions,
  hooks: { onEpoch?: ((epoch: number) => void) | undefined; signal?: AbortSignal | undefined } = {},
): Promise<SmallFit> {
  const shape = { inputs: training.width, hidden: options.hidden };
  const layers = smallLayers(shape);
  const zeros = zeroParameters(layers);
  let state: AdamState = {
    parameters: denseTensors(tf, layers, initialSmallParameters(shape, options.seed)),
    first: denseTensors(tf, layers, zeros),
    second: denseTensors(tf, layers, zeros),
    step: 0,
  };
  const history: SmallFit['history'] = [];
  let best = { epoch: 0, figure: -Infinity, parameters: readTensors(state.parameters) };
  const rows = Array.from(training.labels, (_, at) => at);
  while (history.length < options.epochs && !(options.patience > 0 && history.length - best.epoch >= options.patience)) {
    const order = random(options.seed, 'small-verifier', 'shuffle', history.length).shuffle(rows);
    let loss = 0;
    for (let from = 0; from < order.length; from += options.batch) {
      const indices = order.slice(from, from + options.batch);
      const stepped = trainStep(tf, state, training, indices, options);
      disposeState(state);
      state = stepped.state;
      loss += stepped.loss * indices.length;
      // Ctrl-C is heard only between turns of the event loop.
      if (state.step % 16 === 0) await new Promise((resolve) => setImmediate(resolve));
      if (hooks.signal?.aborted) {
        disposeState(state);
        throw hooks.signal.reason;
      }
    }
    const epoch = history.length + 1;
    const figure = heldOut.labels.length === 0 ? null : (classReport(judged(tf, state.parameters, heldOut)).macro_f1 as number);
    history.push({ epoch, loss: loss / order.length, heldOut: figure });
    if (figure === null || figure > best.figure) best = { epoch, figure: figure ?? -Infinity, parameters: readTensors(state.parameters) };
    hooks.onEpoch?.(epoch);
  }
  const { step } = state;
  disposeState(state);
  return { model: { ...shape, parameters: best.parameters }, epochs: history.length, bestEpoch: best.epoch, steps: step, history };
}

/** What a fitted head says of examples. */
export function judgeExamples(tf: Tf, model: SmallModel, examples: PairExamples): JudgedRow[] {
  const parameters = denseTensors(tf, smallLayers(model), model.parameters);
  const rows = [...judged(tf, parameters, examples)];
  for (const one of parameters) one.dispose();
  return rows;
}

/** One step of the optimiser; the caller disposes the old state. */
function trainStep(
  tf: Tf,
  state: AdamState,
  examples: PairExamples,
  indices: readonly number[],
  options: SmallFitOptions,
): { state: AdamState; loss: number } {
  const masks = dropoutMasks(options.hidden, indices.length, {
    model: 'small-verifier',
    rate: options.dropout,
    seed: options.seed,
    step: state.step,
  });
  return tf.tidy(() => {
    const features = featureTensor(tf, examples, indices);
    const gold = tf.oneHot(
      tf.tensor1d(
        indices.map((at) => examples.labels[at] as number),
        'int32',
      ),
      LABELS.length,
    );
    const weights = tf.tensor1d(indices.map((at) => examples.weights[at] as number));
    const dropped = masks?.map((mask, layer) => tf.tensor2d(mask, [indices.length, options.hidden[layer] as number]));
    const { value, grads } = tf.valueAndGrads((...parameters: Tensor[]) => {
      const entropy = tf.neg(tf.sum(tf.mul(tf.logSoftmax(smallLogits(tf, parameters, features, dropped)), gold), -1));
      return tf.mean<Scalar>(tf.mul(entropy, weights));
    })([...state.parameters]);
    const loss = value.dataSync()[0] as number;
    if (!Number.isFinite(loss))
      throw new InputError(`the loss is ${loss} at step ${state.step + 1}: lower --learning-rate (it is ${options.learningRate})`);
    return { state: adamStep(tf, state, grads, options), loss };
  });
}

function* judged(tf: Tf, parameters: readonly Tensor[], examples: PairExamples): Generator<JudgedRow> {
  const total = examples.labels.length;
  for (let from = 0; from < total; from += JUDGED_ROWS) {
    const indices = Array.from({ length: Math.min(JUDGED_ROWS, total - from) }, (_, at) => from + at);
    const values = tf.tidy(() => tf.softmax(smallLogits(tf, parameters, featureTensor(tf, examples, indices))).dataSync());
    for (const [row, at] of indices.entries()) {
      const probabilities = values.subarray(row * LABELS.length, (row + 1) * LABELS.length);
      yield { gold: examples.labels[at] as number, probabilities, weight: examples.weights[at] };
    }
  }
}

const JUDGED_ROWS = 512;

function featureTensor(tf: Tf, examples: PairExamples, indices: readonly number[]): Tensor {
  const { width } = examples;
  const values = new Float32Array(indices.length * width);
  for (const [row, at] of indices.entries()) examples.write(at, values, row * width);
  return tf.tensor2d(values, [indices.length, width]);
}

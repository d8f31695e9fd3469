import type { Tensor, Tf } from './tensors.js';

export interface AdamOptions {
  learningRate: number;
  /** Decoupled decay (AdamW) of weights, not of biases: share of a weight that a step of learning rate 1 takes away. 0: none. */
  weightDecay: number;
}

/** Parameters with their moments; every step gives a new state and leaves the old one to the caller to dispose. */
export type AdamState = {
  parameters: Tensor[];
  first: Tensor[];
  second: Tensor[];
  /** Steps made so far. */
  step: number;
};

const BETA_1 = 0.9;
const BETA_2 = 0.999;
const EPSILON = 1e-8;

/**
 * One step of Adam (Kingma and Ba, algorithm 1). Own code rather than the library's optimiser, whose state cannot be read back to the
 * bit: it restores the running products of the betas by a power, so a resumed run would leave the undisturbed one's path.
 */
export function adamStep(tf: Tf, state: AdamState, gradients: readonly Tensor[], options: AdamOptions): AdamState {
  const step = state.step + 1;
  const rate = (options.learningRate * Math.sqrt(1 - BETA_2 ** step)) / (1 - BETA_1 ** step);
  const epsilon = EPSILON * Math.sqrt(1 - BETA_2 ** step);
  const updated = state.parameters.map((parameter, at) =>
    tf.tidy((): [Tensor, Tensor, Tensor] => {
      const gradient = gradients[at] as Tensor;
      const first = tf.add(tf.mul(state.first[at] as Tensor, BETA_1), tf.mul(gradient, 1 - BETA_1));
      const second = tf.add(tf.mul(state.second[at] as Tensor, BETA_2), tf.mul(tf.square(gradient), 1 - BETA_2));
      const move = tf.div(tf.mul(first, rate), tf.add(tf.sqrt(second), epsilon));
      const decay = options.weightDecay > 0 && parameter.rank > 1 ? 1 - options.learningRate * options.weightDecay : 1;
      const kept = decay === 1 ? parameter : tf.mul(parameter, decay);
      return [tf.sub(kept, move), first, second];
    }),
  );
  return {
    parameters: updated.map(([parameter]) => parameter),
    first: updated.map(([, first]) => first),
    second: updated.map(([, , second]) => second),
    step,
  };
}

export function disposeState(state: AdamState): void {
  for (const one of [...state.parameters, ...state.first, ...state.second]) one.dispose();
}

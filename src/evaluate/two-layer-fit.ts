import { random } from '../core/random.js';
import { type Fitted, scaled, scalingOf, sigmoid } from './logistic-fit.js';

const ADAM = { rate: 0.01, first: 0.9, second: 0.999, epsilon: 1e-8 } as const;

/**
 * A two-layer network on standardised features, tanh inside and a sigmoid at its end: full-batch Adam on the mean log-loss plus l2 / 2 · Σ
 * weight², in float64, seeded. Rows are summed in the order given, so equal rows in equal order give equal weights. Cost: epochs × rows ×
 * features × hidden.
 */
export function fitTwoLayer(
  rows: readonly (readonly number[])[],
  targets: readonly boolean[],
  { hidden = 16, epochs = 300, l2 = 1e-4, seed = 13 }: { hidden?: number; epochs?: number; l2?: number; seed?: number } = {},
): Fitted {
  if (rows.length === 0 || rows.length !== targets.length) throw new RangeError(`rows: got ${rows.length} with ${targets.length} targets`);
  const scaling = scalingOf(rows);
  const inputs = rows.map((row) => Float64Array.from(scaled(row, scaling)));
  const width = (inputs[0] as Float64Array).length;
  // Layout: for each hidden unit its bias and weights, then the bias and weights of the end.
  const stride = width + 1;
  const end = hidden * stride;
  const weights = new Float64Array(end + 1 + hidden);
  const stream = random(seed, 'two-layer');
  for (let at = 0; at < weights.length; at++) {
    const fanIn = at < end ? width : hidden;
    if (at === end || (at < end && at % stride === 0)) continue;
    weights[at] = (2 * stream.float() - 1) / Math.sqrt(fanIn);
  }
  const [mean, square, gradient] = [new Float64Array(weights.length), new Float64Array(weights.length), new Float64Array(weights.length)];
  const inner = new Float64Array(hidden);
  for (let epoch = 1; epoch <= epochs; epoch++) {
    for (let at = 0; at < weights.length; at++) gradient[at] = l2 * (weights[at] as number);
    for (const [i, input] of inputs.entries()) {
      const error = (sigmoid(forward(input, weights, inner)) - (targets[i] ? 1 : 0)) / rows.length;
      (gradient[end] as number) += error;
      for (let h = 0; h < hidden; h++) {
        const value = inner[h] as number;
        (gradient[end + 1 + h] as number) += error * value;
        const back = error * (weights[end + 1 + h] as number) * (1 - value * value);
        (gradient[h * stride] as number) += back;
        for (let f = 0; f < width; f++) (gradient[h * stride + 1 + f] as number) += back * (input[f] as number);
      }
    }
    const [firstLeft, secondLeft] = [1 - ADAM.first ** epoch, 1 - ADAM.second ** epoch];
    for (let at = 0; at < weights.length; at++) {
      const slope = gradient[at] as number;
      mean[at] = ADAM.first * (mean[at] as number) + (1 - ADAM.first) * slope;
      square[at] = ADAM.second * (square[at] as number) + (1 - ADAM.second) * slope * slope;
      (weights[at] as number) -=
        (ADAM.rate * ((mean[at] as number) / firstLeft)) / (Math.sqrt((square[at] as number) / secondLeft) + ADAM.epsilon);
    }
  }
  return (features) => sigmoid(forward(Float64Array.from(scaled(features, scaling)), weights, new Float64Array(hidden)));
}

/** The network's logit; `inner` receives the hidden values. */
function forward(input: Float64Array, weights: Float64Array, inner: Float64Array): number {
  const stride = input.length + 1;
  const end = inner.length * stride;
  let logit = weights[end] as number;
  for (let h = 0; h < inner.length; h++) {
    let sum = weights[h * stride] as number;
    for (let f = 0; f < input.length; f++) sum += (weights[h * stride + 1 + f] as number) * (input[f] as number);
    inner[h] = Math.tanh(sum);
    logit += (weights[end + 1 + h] as number) * (inner[h] as number);
  }
  return logit;
}

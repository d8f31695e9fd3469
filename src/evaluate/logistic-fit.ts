/** A model of P(1) from features, standardised with the figures that it was fitted on. */
export type Fitted = (features: readonly number[]) => number;

export interface LogisticFit {
  /** Bias first, then one weight a feature, of the standardised features. */
  weights: Float64Array;
  scaling: Scaling;
  probability: Fitted;
  /** Newton steps taken. */
  steps: number;
}

export interface Scaling {
  means: Float64Array;
  /** 0 where a feature has one value only: it then says nothing. */
  deviations: Float64Array;
}

/**
 * L2-penalised logistic regression on standardised features: the minimum of Σ −log P(target) + l2 / 2 · Σ weight², the bias free, by
 * Newton's method with halved steps, in float64. The penalty keeps the weights finite where the classes are separable. Rows are summed in the
 * order given. Throws RangeError for no rows. Cost: steps × rows × features².
 *
 * @param l2 at least 0. Default 1.
 */
export function fitLogistic(
  rows: readonly (readonly number[])[],
  targets: readonly boolean[],
  { l2 = 1 }: { l2?: number } = {},
): LogisticFit {
  if (rows.length === 0 || rows.length !== targets.length) throw new RangeError(`rows: got ${rows.length} with ${targets.length} targets`);
  const scaling = scalingOf(rows);
  const inputs = rows.map((row) => [1, ...scaled(row, scaling)]);
  const size = (inputs[0] as number[]).length;
  let weights = new Float64Array(size);
  let loss = lossOf(inputs, targets, weights, l2);
  let steps = 0;
  for (; steps < 200; steps++) {
    const { gradient, hessian } = slopes(inputs, targets, weights, l2);
    if (Math.max(...gradient.map(Math.abs)) < 1e-10 * rows.length) break;
    const step = solve(hessian, gradient);
    let taken: { weights: Float64Array; loss: number } | undefined;
    for (let length = 1; length > 1e-8 && !taken; length /= 2) {
      const next = weights.map((weight, at) => weight - length * (step[at] as number));
      const nextLoss = lossOf(inputs, targets, next, l2);
      if (nextLoss < loss) taken = { weights: next, loss: nextLoss };
    }
    // No step lowers the loss any more: float64 cannot tell this point from the minimum.
    if (!taken) break;
    ({ weights, loss } = taken as { weights: Float64Array<ArrayBuffer>; loss: number });
  }
  return { weights, scaling, steps, probability: (features) => sigmoid(dot([1, ...scaled(features, scaling)], weights)) };
}

export function scalingOf(rows: readonly (readonly number[])[]): Scaling {
  const size = (rows[0] as readonly number[]).length;
  const means = new Float64Array(size);
  const deviations = new Float64Array(size);
  for (const row of rows) for (let f = 0; f < size; f++) (means[f] as number) += (row[f] as number) / rows.length;
  for (const row of rows)
    for (let f = 0; f < size; f++) (deviations[f] as number) += ((row[f] as number) - (means[f] as number)) ** 2 / rows.length;
  // What is left of a constant by rounding is no spread.
  return {
    means,
    deviations: deviations.map((variance, f) => (variance <= 1e-18 * (1 + (means[f] as number) ** 2) ? 0 : Math.sqrt(variance))),
  };
}

export function scaled(features: readonly number[], { means, deviations }: Scaling): number[] {
  return features.map((value, f) => (deviations[f] === 0 ? 0 : (value - (means[f] as number)) / (deviations[f] as number)));
}

export function sigmoid(value: number): number {
  return 1 / (1 + Math.exp(-value));
}

/** log(1 + e^x) without overflow. */
function softplus(value: number): number {
  return Math.max(value, 0) + Math.log1p(Math.exp(-Math.abs(value)));
}

function lossOf(inputs: readonly (readonly number[])[], targets: readonly boolean[], weights: Float64Array, l2: number): number {
  let loss = 0;
  for (const [i, input] of inputs.entries()) {
    const z = dot(input, weights);
    loss += softplus(targets[i] ? -z : z);
  }
  for (let f = 1; f < weights.length; f++) loss += (l2 / 2) * (weights[f] as number) ** 2;
  return loss;
}

function slopes(
  inputs: readonly (readonly number[])[],
  targets: readonly boolean[],
  weights: Float64Array,
  l2: number,
): { gradient: Float64Array; hessian: Float64Array[] } {
  const size = weights.length;
  const gradient = weights.map((weight, f) => (f === 0 ? 0 : l2 * weight));
  // The bias has no penalty; a constant feature has no slope, and 1 on the diagonal keeps its weight at 0.
  const hessian = Array.from({ length: size }, (_, f) => new Float64Array(size).fill(f === 0 ? 0 : l2, f, f + 1));
  for (const [i, input] of inputs.entries()) {
    const p = sigmoid(dot(input, weights));
    const error = p - (targets[i] ? 1 : 0);
    for (let f = 0; f < size; f++) {
      (gradient[f] as number) += error * (input[f] as number);
      const row = hessian[f] as Float64Array;
      for (let g = 0; g < size; g++) (row[g] as number) += p * (1 - p) * (input[f] as number) * (input[g] as number);
    }
  }
  for (const [f, row] of hessian.entries()) if (row[f] === 0) row[f] = 1;
  return { gradient, hessian };
}

/** Gaussian elimination with row pivots. */
function solve(matrix: readonly Float64Array[], right: Float64Array): Float64Array {
  const rows = matrix.map((row, at) => Float64Array.from([...row, right[at] as number]));
  const size = rows.length;
  for (let column = 0; column < size; column++) {
    let pivot = column;
    for (let r = column + 1; r < size; r++) {
      if (Math.abs((rows[r] as Float64Array)[column] as number) > Math.abs((rows[pivot] as Float64Array)[column] as number)) pivot = r;
    }
    [rows[column], rows[pivot]] = [rows[pivot] as Float64Array<ArrayBuffer>, rows[column] as Float64Array<ArrayBuffer>];
    const head = rows[column] as Float64Array;
    for (let r = 0; r < size; r++) {
      if (r === column) continue;
      const row = rows[r] as Float64Array;
      const factor = (row[column] as number) / (head[column] as number);
      if (factor !== 0) for (let c = column; c <= size; c++) (row[c] as number) -= factor * (head[c] as number);
    }
  }
  return Float64Array.from(rows, (row, at) => (row[size] as number) / (row[at] as number));
}

function dot(a: readonly number[], b: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < b.length; i++) sum += (a[i] as number) * (b[i] as number);
  return sum;
}

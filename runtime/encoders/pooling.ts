export const POOLINGS = ['mean', 'cls'] as const;
export type Pooling = (typeof POOLINGS)[number];

/**
 * One unit-length vector from a text's hidden states, row-major [length × width], of which the first `tokens` rows are no padding: their mean,
 * or the first one. Sums and the norm are 64-bit.
 */
export function pooled(states: Float32Array, tokens: number, width: number, pooling: Pooling): Float32Array {
  const sums = new Float64Array(width);
  const rows = pooling === 'cls' ? 1 : tokens;
  for (let row = 0; row < rows; row++) {
    const from = row * width;
    for (let k = 0; k < width; k++) sums[k] = (sums[k] as number) + (states[from + k] as number);
  }
  // The mean's divisor falls out in the norm.
  let square = 0;
  for (const value of sums) square += value * value;
  if (!(square > 0 && square < Infinity))
    throw new RangeError(`sentence vector: got a squared length of ${square}, expected a positive number`);
  const norm = Math.sqrt(square);
  return Float32Array.from(sums, (value) => value / norm);
}

import { random } from '../src/core/random.js';

/** One dropout mask of a step for each hidden layer, row-major [rows × width]: 0 with the rate's probability, else 1 / (1 − rate). */
export function dropoutMasks(
  hidden: readonly number[],
  rows: number,
  { model, rate, seed, step }: { model: 'drafter' | 'small-verifier'; rate: number; seed: number; step: number },
): Float32Array[] | undefined {
  if (rate === 0) return undefined;
  const draw = random(seed, model, 'dropout', step);
  // Integers are drawn: one word of the generator each instead of two.
  const cut = Math.round(rate * DRAWS);
  return hidden.map((width) => Float32Array.from({ length: rows * width }, () => (draw.int(DRAWS) < cut ? 0 : 1 / (1 - rate))));
}

const DRAWS = 1 << 24;

import { uniformFloat64 } from 'pure-rand/distribution/uniformFloat64';
import { uniformInt } from 'pure-rand/distribution/uniformInt';
import { xoroshiro128plusFromState } from 'pure-rand/generator/xoroshiro128plus';
import { createHash } from 'node:crypto';

/** A seeded stream of random numbers: integer arithmetic only, so the same on every machine. It owns its state and is advanced by use. */
export interface Random {
  /** Uniform integer in [0, n); n ≥ 1. */
  int(n: number): number;
  /** Uniform in [0, 1) with 53 bits. */
  float(): number;
  /** A new array in uniformly random order (Fisher–Yates). */
  shuffle<T>(items: readonly T[]): T[];
  /** k different items, uniformly drawn, in the order in which they stand in `items`. Throws RangeError when k > items.length. */
  sample<T>(items: readonly T[], k: number): T[];
}

/**
 * The stream of a seed and labels. Streams of different labels are independent of each other and of the order in which they are made,
 * so one part of a run can draw more without moving another part's numbers. Generator: xoroshiro128+, seeded with sha256 of seed and labels.
 */
export function random(seed: number, ...labels: readonly (string | number)[]): Random {
  if (!Number.isSafeInteger(seed)) throw new RangeError(`seed: got ${seed}, expected an integer`);
  const digest = createHash('sha256')
    .update(JSON.stringify([seed, ...labels]))
    .digest();
  const state: number[] = [0, 4, 8, 12].map((at) => digest.readInt32LE(at));
  if (!state.some((word) => word !== 0)) state[0] = 1;
  const generator = xoroshiro128plusFromState(state);
  const int = (n: number): number => {
    if (!(Number.isInteger(n) && n >= 1)) throw new RangeError(`int(n): got ${n}, expected an integer of at least 1`);
    return uniformInt(generator, 0, n - 1);
  };
  const shuffle = <T>(items: readonly T[]): T[] => {
    const out = [...items];
    for (let i = out.length - 1; i > 0; i--) {
      const j = int(i + 1);
      [out[i], out[j]] = [out[j] as T, out[i] as T];
    }
    return out;
  };
  return {
    int,
    float: () => uniformFloat64(generator),
    shuffle,
    sample: (items, k) => {
      if (k > items.length) throw new RangeError(`sample: got k = ${k}, expected at most ${items.length}`);
      const chosen = shuffle(items.map((_, index) => index)).slice(0, k);
      return chosen.sort((a, b) => a - b).map((index) => items[index] as never);
    },
  };
}

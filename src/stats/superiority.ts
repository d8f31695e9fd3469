import { pAbove, pBelow, type Bootstrap } from './bootstrap-interval.js';
import type { Interval } from './wilson.js';

export interface SuperiorityOptions {
  /** Which side of the bound is better: fewer loops are `lower`, a higher F1 is `higher`. */
  better: 'lower' | 'higher';
  /** What has to be beaten, in the statistic's unit. Default 0. */
  bound?: number;
}

export interface Superiority extends Interval {
  /** The effect itself; `low` and `high` are the ends of its interval. `pairedEffect` gives it as a share and standardised. */
  difference: number;
  /** One-sided p-value; never 0. */
  p: number;
  /** The whole interval lies on the better side, which is the same as p ≤ (1 − level) / 2; false where there is no interval. */
  superior: boolean;
  /** The difference does not vary: a declared family leaves such a cell out. */
  degenerate: boolean;
}

/**
 * Whether a system is better than its reference (fewer loops, higher F1), with how much: use it on a bootstrapped difference, system minus
 * reference.
 * Variant: one-sided bootstrap test, p = (1 + resamples at or beyond the bound) / (1 + resamples).
 * Source: HALT, equation 2 (loop superiority, bound 0). Cost: linear in the resamples.
 */
export function superiority(difference: Bootstrap, { better, bound = 0 }: SuperiorityOptions): Superiority {
  if (!Number.isFinite(bound)) throw new RangeError(`bound: got ${bound}, expected a finite number`);
  const { estimate, low, high, degenerate } = difference;
  const lower = better === 'lower';
  return {
    difference: estimate,
    low,
    high,
    p: lower ? pBelow(bound, difference) : pAbove(bound, difference),
    superior: lower ? high < bound : low > bound,
    degenerate,
  };
}

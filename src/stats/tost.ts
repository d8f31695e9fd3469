import { checkPositive } from './argument-checks.js';
import { pAbove, pBelow, percentileInterval, type Bootstrap } from './bootstrap-interval.js';
import { normalCdf, normalQuantile } from './distributions.js';
import { SENSITIVITY_MARGINS } from './non-inferiority.js';
import type { Interval } from './wilson.js';

export interface EquivalenceOptions {
  /** Half-width ε > 0 of the range that counts as equal, in the statistic's unit. */
  margin: number;
  /** Level of each one-sided test. Default 0.05, which goes with a 90% interval. */
  level?: number;
}

export interface TostOptions extends EquivalenceOptions {
  difference: number;
  standardError: number;
}

/** Interval at level 1 − 2·level. */
export interface Equivalence extends Interval {
  /** The larger of the two one-sided p-values; NaN where there is no variance. */
  p: number;
  /** p of "the difference lies above −margin". */
  pLower: number;
  /** p of "the difference lies below margin". */
  pUpper: number;
  /** Both tests reject: the interval lies inside ±margin. */
  equivalent: boolean;
  /** The difference does not vary: nothing is tested, and a declared family leaves such a cell out. */
  degenerate: boolean;
}

/**
 * Whether two systems are the same to within a margin: two one-sided tests, both of which have to reject, so that p is the larger one.
 * Variant: normal law of the estimate (Schuirmann 1987), for estimates whose standard error comes from elsewhere. A standard error of 0
 * gives `degenerate`, p = NaN and no verdict.
 * Cost: constant.
 */
export function tost({ difference, standardError, margin, level = 0.05 }: TostOptions): Equivalence {
  checkLimits(margin, level);
  if (!Number.isFinite(difference)) throw new RangeError(`difference: got ${difference}, expected a finite number`);
  if (!(Number.isFinite(standardError) && standardError >= 0)) {
    throw new RangeError(`standardError: got ${standardError}, expected a finite number of at least 0`);
  }
  if (standardError === 0) {
    const none = Number.NaN;
    return { p: none, pLower: none, pUpper: none, low: difference, high: difference, equivalent: false, degenerate: true };
  }
  const pLower = normalCdf(-(difference + margin) / standardError);
  const pUpper = normalCdf((difference - margin) / standardError);
  const half = normalQuantile(1 - level) * standardError;
  const p = Math.max(pLower, pUpper);
  return { p, pLower, pUpper, low: difference - half, high: difference + half, equivalent: p < level, degenerate: false };
}

/**
 * `tost` on a bootstrapped difference, without a normal law: p-values are shares of resamples, and the verdict is that the percentile
 * interval at 1 − 2·level lies inside ±margin, which is the same as p ≤ level. Cost: one sort of the resamples.
 */
export function bootstrapTost(difference: Bootstrap, { margin, level = 0.05 }: EquivalenceOptions): Equivalence {
  checkLimits(margin, level);
  const { low, high } = percentileInterval(difference.distribution, 1 - 2 * level);
  const pLower = pAbove(-margin, difference);
  const pUpper = pBelow(margin, difference);
  const equivalent = low > -margin && high < margin;
  return { p: Math.max(pLower, pUpper), pLower, pUpper, low, high, equivalent, degenerate: difference.degenerate };
}

/** `bootstrapTost` at several margins, in the order given (1, 1.5 and 2 points by default), each verdict beside its margin. */
export function bootstrapTostAt(
  difference: Bootstrap,
  { margins = SENSITIVITY_MARGINS, level = 0.05 }: { margins?: readonly number[]; level?: number } = {},
): (Equivalence & { margin: number })[] {
  return margins.map((margin) => ({ margin, ...bootstrapTost(difference, { margin, level }) }));
}

function checkLimits(margin: number, level: number): void {
  checkPositive('margin', margin);
  if (!(level > 0 && level < 0.5)) throw new RangeError(`level: got ${level}, expected a number between 0 and 0.5, both excluded`);
}

import { checkCount, checkOpenShare } from './argument-checks.js';
import { standardDeviation } from './distributions.js';
import type { Interval } from './wilson.js';

/** A statistic, its value in every resample, and the percentile interval that they give. */
export interface Bootstrap extends Interval {
  /** The statistic on the data themselves; NaN where it is undefined (0/0). */
  estimate: number;
  level: number;
  /** Standard deviation over the resamples in which the statistic is defined. */
  standardError: number;
  resamples: number;
  /** Resamples in which the statistic is not a finite number. */
  undefinedResamples: number;
  /** The statistic has the same value in every resample: its interval is a point, and tests on it say nothing. */
  degenerate: boolean;
  /** The statistic in every resample, in the order drawn; NaN where undefined. For the tests; not meant for printing. */
  distribution: Float64Array;
}

/**
 * The percentile interval of a bootstrap distribution.
 * Variant: with k = ⌊(B + 1)·(1 − level) / 2⌋ the k-th smallest and the k-th largest of B values (Efron and Tibshirani 1993, §12.5 and
 * §13.3), no interpolation: so the interval excludes a bound exactly when p = (1 + count) / (1 + B) rejects it. A resample without a value
 * could lie anywhere and is counted as lying beyond both ends, which widens the interval; where k or more of them are so, the ends are NaN.
 * Throws RangeError where B is too small for the level (95% needs 39, 90% 19). Cost: one sort.
 */
export function percentileInterval(distribution: Float64Array, level: number): Interval {
  checkOpenShare('level', level);
  const rank = tailRank(distribution.length, (1 - level) / 2);
  const needed = Math.ceil(2 / (1 - level) - 1e-9) - 1;
  if (rank < 1) {
    throw new RangeError(`resamples: got ${distribution.length}, expected at least ${needed} for a level of ${level}`);
  }
  const defined = distribution.filter((value) => Number.isFinite(value)).sort();
  const inner = rank - (distribution.length - defined.length);
  if (inner < 1) return { low: Number.NaN, high: Number.NaN };
  return { low: defined[inner - 1] as number, high: defined[defined.length - inner] as number };
}

/**
 * How many of B resamples may lie at or beyond a bound, plus one, for p = (1 + count) / (1 + B) to be at most `share`. The dust of 1 − 0.9
 * is not to cost a rank.
 */
function tailRank(resamples: number, share: number): number {
  return Math.floor((resamples + 1) * share + 1e-9);
}

/** Puts a distribution, whole or joined from parts, beside its estimate. */
export function summariseBootstrap(estimate: number, distribution: Float64Array, level = 0.95): Bootstrap {
  checkCount('resamples', distribution.length, 1);
  const defined = distribution.filter((value) => Number.isFinite(value));
  return {
    estimate: Number.isFinite(estimate) ? estimate : Number.NaN,
    ...percentileInterval(distribution, level),
    level,
    standardError: standardDeviation(defined),
    resamples: distribution.length,
    undefinedResamples: distribution.length - defined.length,
    degenerate: defined.length === distribution.length && defined.every((value) => value === defined[0]),
    distribution,
  };
}

/**
 * One-sided p-value of "the statistic lies above the bound": (1 + resamples at or below it) / (1 + resamples), so never 0. A
 * resample without a value counts as at the bound. Source: HALT; Davison and Hinkley 1997, §4.2. Cost: linear.
 */
export function pAbove(bound: number, { distribution }: Pick<Bootstrap, 'distribution'>): number {
  let atOrBeyond = 0;
  for (const value of distribution) if (!(Number.isFinite(value) && value > bound)) atOrBeyond++;
  return (1 + atOrBeyond) / (1 + distribution.length);
}

/** One-sided p-value of "the statistic lies below the bound" (fewer loops: bound 0); the mirror of `pAbove`. */
export function pBelow(bound: number, { distribution }: Pick<Bootstrap, 'distribution'>): number {
  let atOrBeyond = 0;
  for (const value of distribution) if (!(Number.isFinite(value) && value < bound)) atOrBeyond++;
  return (1 + atOrBeyond) / (1 + distribution.length);
}

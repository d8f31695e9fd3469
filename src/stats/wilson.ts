import { checkCount, checkOpenShare } from './argument-checks.js';
import { normalQuantile } from './distributions.js';

export interface Interval {
  low: number;
  high: number;
}

export interface WilsonOptions {
  successes: number;
  /** Number of trials, at least 1. */
  n: number;
  /** Two-sided confidence level. Default 0.95. */
  level?: number;
}

/**
 * The score interval of a proportion: use it for one share (a fire rate, an agreement) of independent questions; unlike estimate ± 1.96
 * standard errors it keeps its level near 0 and 1 and never leaves [0, 1].
 * Variant: Wilson 1927 without continuity correction. Cost: constant.
 */
export function wilson({ successes, n, level = 0.95 }: WilsonOptions): Interval {
  checkCount('n', n, 1);
  checkCount('successes', successes);
  if (successes > n) throw new RangeError(`successes: got ${successes}, expected at most n = ${n}`);
  checkOpenShare('level', level);
  const z = normalQuantile((1 + level) / 2);
  const share = successes / n;
  const centre = share + (z * z) / (2 * n);
  const half = z * Math.sqrt((share * (1 - share)) / n + (z * z) / (4 * n * n));
  const scale = 1 + (z * z) / n;
  return {
    low: successes === 0 ? 0 : (centre - half) / scale,
    high: successes === n ? 1 : (centre + half) / scale,
  };
}

import { checkCount } from './argument-checks.js';
import { wilson, type Interval } from './wilson.js';

/** Two systems, A and B, judged right or wrong on the same n questions. */
export interface PairedCounts {
  /** Questions. */
  n: number;
  /** Both right. */
  bothRight: number;
  /** A right, B wrong. */
  onlyA: number;
  /** A wrong, B right. */
  onlyB: number;
}

export interface NewcombeOptions extends PairedCounts {
  /** Two-sided confidence level. Default 0.95. */
  level?: number;
}

export interface PairedDifference extends Interval {
  /** Share right of A minus share right of B, as a proportion (0.015 is 1.5 points). */
  difference: number;
}

/**
 * The interval of the difference of two proportions measured on the same questions: use it for ΔEM of two systems where a bootstrap is too
 * coarse (few discordant questions) or not wanted.
 * Variant: Newcombe's hybrid score interval for paired data (Newcombe 1998, Statistics in Medicine 17:2635–2650): the Wilson intervals of
 * the two shares, joined by their correlation φ. Neither the Wilson intervals nor φ are corrected for continuity (his method 10 corrects φ:
 * HALT's Table 10 was made without, +0.2 to +2.8 on 2Wiki with gold claims, where the correction gives +2.9). φ is 0 where a margin is
 * empty. Cost: constant.
 */
export function newcombePaired({ n, bothRight, onlyA, onlyB, level = 0.95 }: NewcombeOptions): PairedDifference {
  checkCount('n', n, 1);
  checkCount('bothRight', bothRight);
  checkCount('onlyA', onlyA);
  checkCount('onlyB', onlyB);
  const neither = n - bothRight - onlyA - onlyB;
  if (neither < 0) throw new RangeError(`n: got ${n}, expected at least bothRight + onlyA + onlyB = ${bothRight + onlyA + onlyB}`);
  const rightA = bothRight + onlyA;
  const rightB = bothRight + onlyB;
  const a = wilson({ successes: rightA, n, level });
  const b = wilson({ successes: rightB, n, level });
  const margins = rightA * (n - rightA) * rightB * (n - rightB);
  const phi = margins === 0 ? 0 : (bothRight * neither - onlyA * onlyB) / Math.sqrt(margins);
  const difference = (onlyA - onlyB) / n;
  return {
    difference,
    low: difference - joined(rightA / n - a.low, b.high - rightB / n, phi),
    high: difference + joined(a.high - rightA / n, rightB / n - b.low, phi),
  };
}

/** Length of the difference of two correlated distances; at φ = 1 rounding may leave the square just below 0. */
function joined(x: number, y: number, phi: number): number {
  return Math.sqrt(Math.max(0, x * x - 2 * phi * x * y + y * y));
}

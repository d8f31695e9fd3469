// The one door to simple-statistics. Mean and standard deviation are used as they are. Its normal law is a table of
// z in steps of 0.01 (error up to 0.002) and its probit an approximation (off by 0.003 at p = 0.025, 0.011 at 0.0005): both are too coarse
// for interval ends that are compared with printed ones, so the law is computed here to machine precision and its probit only starts the
// search.
import { mean as meanOf, probit, sampleStandardDeviation } from 'simple-statistics';

import { checkOpenShare } from './argument-checks.js';

/** The average, by compensated summation. NaN of nothing. */
export function mean(values: ArrayLike<number>): number {
  return values.length === 0 ? Number.NaN : meanOf(Array.from(values));
}

/** The sample standard deviation (divisor n − 1). NaN of fewer than two values. */
export function standardDeviation(values: ArrayLike<number>): number {
  return values.length < 2 ? Number.NaN : sampleStandardDeviation(Array.from(values));
}

/**
 * The share of the standard normal law at or below z. Use it to turn an estimate over its standard error into a p-value.
 * Variant: the power series of the density near 0, Laplace's continued fraction in the tails (Abramowitz and Stegun 26.2.11, 26.2.14);
 * relative error below 1e-12 down to z = −37. Cost: at most some sixty additions.
 */
export function normalCdf(z: number): number {
  return z > 0 ? 1 - upperTail(z) : upperTail(-z);
}

/**
 * The z below which a share p of the standard normal law lies: 0.975 gives 1.959964. Use it for the half-width of a score interval.
 * Variant: Newton's steps on the logarithm of `normalCdf`, which is concave, so that they arrive from anywhere. p = 0 and 1 throw
 * RangeError.
 */
export function normalQuantile(p: number): number {
  checkOpenShare('p', p);
  // 1 − p is exact for p above a half, so the lower half serves both.
  return p > 0.5 ? -lowerQuantile(1 - p) : lowerQuantile(p);
}

function lowerQuantile(p: number): number {
  const target = Math.log(p);
  let z = p > 1e-9 ? probit(p) : -Math.sqrt(-2 * target);
  for (let round = 0; round < 40; round++) {
    const share = normalCdf(z);
    const step = ((Math.log(share) - target) * share) / density(z);
    z -= step;
    if (Math.abs(step) <= 1e-15 * Math.abs(z)) break;
  }
  return z;
}

function density(z: number): number {
  return Math.exp((-z * z) / 2) / Math.sqrt(2 * Math.PI);
}

/** P(Z > z) for z ≥ 0. */
function upperTail(z: number): number {
  if (z < 3) {
    let term = z;
    let sum = z;
    for (let odd = 3; term > 1e-18 * sum; odd += 2) {
      term *= (z * z) / odd;
      sum += term;
    }
    return 0.5 - density(z) * sum;
  }
  let fraction = z;
  for (let k = 60; k >= 1; k--) fraction = z + k / fraction;
  return density(z) / fraction;
}

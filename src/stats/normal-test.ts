import type { Bootstrap } from './bootstrap-interval.js';
import { normalCdf } from './distributions.js';

export interface NormalTestOptions {
  /** Value under the null, in the statistic's unit: −0.02 for non-inferiority at 2 points, 0 for superiority. Default 0. */
  bound?: number;
  /** What is claimed of the statistic. */
  claim: 'above' | 'below' | 'different';
}

export interface NormalTest {
  z: number;
  p: number;
  /** A standard error of 0: nothing is tested, z and p are NaN, and a declared family leaves the cell out. */
  degenerate: boolean;
}

/**
 * A p-value from an estimate and its bootstrap standard error: use it where a family's adjusted p-values shall go below what the number of
 * resamples can show (1 / (B + 1)); the verdicts of the intervals stay those of `nonInferiority` and `tost`.
 * Variant: normal law, z = (estimate − bound) / standard error. CoVeR's Holm family is made so (appendix B); for equivalence give the same
 * numbers to `tost`.
 * Cost: constant.
 */
export function normalTest(
  { estimate, standardError }: Pick<Bootstrap, 'estimate' | 'standardError'>,
  { bound = 0, claim }: NormalTestOptions,
): NormalTest {
  for (const [name, value] of [
    ['estimate', estimate],
    ['bound', bound],
  ] as const) {
    if (!Number.isFinite(value)) throw new RangeError(`${name}: got ${value}, expected a finite number`);
  }
  if (!(Number.isFinite(standardError) && standardError >= 0)) {
    throw new RangeError(`standardError: got ${standardError}, expected a finite number of at least 0`);
  }
  if (standardError === 0) return { z: Number.NaN, p: Number.NaN, degenerate: true };
  const z = (estimate - bound) / standardError;
  const p = claim === 'above' ? normalCdf(-z) : claim === 'below' ? normalCdf(z) : 2 * normalCdf(-Math.abs(z));
  return { z, p, degenerate: false };
}

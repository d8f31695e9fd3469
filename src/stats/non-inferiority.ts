import { checkPositive } from './argument-checks.js';
import { pAbove, type Bootstrap } from './bootstrap-interval.js';

export interface NonInferiorityOptions {
  /** The loss that is still accepted, ε > 0, in the statistic's unit. Default 0.02 (2 points of EM). */
  margin?: number;
}

export interface NonInferiority {
  margin: number;
  /** One-sided p-value of "the difference lies above −margin"; never 0. */
  p: number;
  /** The lower end of the interval lies above −margin; false where there is no interval. */
  nonInferior: boolean;
  /** The difference does not vary: a declared family leaves such a cell out. */
  degenerate: boolean;
}

/**
 * Whether a system is at most a margin worse than its reference: use it on a bootstrapped difference, system minus reference, to say that
 * fewer loops cost no accuracy. A difference that is "not significant" does not say this.
 * Variant: lower end of the bootstrap's two-sided interval (95% unless it was made otherwise) above −margin, which is the same as p ≤ (1 −
 * level) / 2.
 * Source: HALT and CoVeR, non-inferiority at 2 points. Cost: linear in the resamples.
 */
export function nonInferiority(difference: Bootstrap, { margin = 0.02 }: NonInferiorityOptions = {}): NonInferiority {
  checkPositive('margin', margin);
  return { margin, p: pAbove(-margin, difference), nonInferior: difference.low > -margin, degenerate: difference.degenerate };
}

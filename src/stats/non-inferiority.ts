import { checkOpenShare, checkPositive } from './argument-checks.js';
import { pAbove, type Bootstrap } from './bootstrap-interval.js';
import { pairedDifferences, type PairedColumns } from './paired-effect.js';
import { pairedBootstrap, type BootstrapOptions, type Statistic } from './paired-bootstrap.js';
import type { Interval } from './wilson.js';

export interface NonInferiorityOptions {
  /** The loss that is still accepted, ε > 0, in the statistic's unit. Default 0.02 (2 points of EM). */
  margin?: number;
  /** Name of what the difference was taken against, for the table. Default `full`, the whole budget. */
  reference?: string;
}

export interface NonInferiority {
  reference: string;
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
 * level) / 2. Read `discordanceWarning` beside it: with few discordant questions the bootstrap rejects far too often.
 * Source: HALT and CoVeR, non-inferiority at 2 points. Cost: linear in the resamples.
 */
export function nonInferiority(difference: Bootstrap, { margin = 0.02, reference = 'full' }: NonInferiorityOptions = {}): NonInferiority {
  checkPositive('margin', margin);
  const nonInferior = difference.low > -margin;
  return { reference, margin, p: pAbove(-margin, difference), nonInferior, degenerate: difference.degenerate };
}

/** The margins at which a verdict is repeated: 1, 1.5 and 2 points (CoVeR, Table 7). */
export const SENSITIVITY_MARGINS: readonly number[] = [0.01, 0.015, 0.02];

export interface NonInferioritySensitivityOptions {
  /** Default `SENSITIVITY_MARGINS`. */
  margins?: readonly number[];
  /** Default `full`. */
  reference?: string;
}

/** `nonInferiority` at several margins, in the order given: use it so that a reader sees what the choice of the margin decides. */
export function nonInferiorityAt(
  difference: Bootstrap,
  { margins = SENSITIVITY_MARGINS, reference = 'full' }: NonInferioritySensitivityOptions = {},
): NonInferiority[] {
  return margins.map((margin) => nonInferiority(difference, { margin, reference }));
}

export interface RelativeNonInferiorityOptions extends PairedColumns, Omit<BootstrapOptions<'system' | 'reference'>, 'columns'> {
  /** The share ρ of the reference's mean that may be lost, 0 < ρ < 1. */
  share: number;
  /** Name of the reference, for the table. Default `full`. */
  name?: string;
}

export interface RelativeNonInferiority extends Interval {
  reference: string;
  share: number;
  /** Mean of the system less (1 − ρ) times that of the reference; `low` and `high` are the ends of its interval. */
  contrast: number;
  /** One-sided p-value of "the contrast lies above 0"; never 0. */
  p: number;
  nonInferior: boolean;
  degenerate: boolean;
}

/**
 * Whether a system keeps at least a share 1 − ρ of its reference's accuracy: use it where the reference is weak, since 2 points are a quarter of
 * an EM of 0.08.
 * Variant: paired bootstrap of EM − (1 − ρ)·EM_ref, a contrast of means and so defined in every resample, where the ratio would not be. Null
 * where EM_ref is 0: nothing can be lost, and the contrast would pass whatever the system does.
 * Source: the HALT review's request for a relative margin; evaluation.md §3. Cost: that of `pairedBootstrap`.
 *
 * @throws RangeError as `pairedBootstrap`, and for a share outside (0, 1)
 */
export function relativeNonInferiority({
  system,
  reference,
  share,
  name = 'full',
  ...options
}: RelativeNonInferiorityOptions): RelativeNonInferiority | null {
  checkOpenShare('share', share);
  pairedDifferences({ system, reference });
  if (Array.from(reference).every((value) => value === 0)) return null;
  const boot = pairedBootstrap({ ...options, columns: { system, reference }, statistic: relativeContrast(share) });
  const { estimate, low, high, degenerate } = boot;
  return { reference: name, share, contrast: estimate, low, high, p: pAbove(0, boot), nonInferior: low > 0, degenerate };
}

/** EM − (1 − ρ)·EM_ref as a statistic, for a bootstrap that makes other figures on the same resamples. */
export function relativeContrast(share: number): Statistic<'system' | 'reference'> {
  return (total, { units }) => (total.system - (1 - share) * total.reference) / units;
}

import { mean, standardDeviation } from './distributions.js';

export interface PairedColumns {
  /** One finite number a question. */
  system: ArrayLike<number>;
  /** The same questions in the same order under the reference. */
  reference: ArrayLike<number>;
}

export interface PairedEffect {
  questions: number;
  /** Mean of system minus reference, in the column's unit (loops, F1). */
  difference: number;
  /** The difference as a share of the reference's mean: −0.37 is 37% fewer. NaN where that mean is 0. */
  relative: number;
  /** The difference over the standard deviation of the questions' own differences. NaN where they do not vary. */
  standardised: number;
}

/**
 * How large a difference is, beside whether there is one: print it with the interval of `pairedBootstrap` wherever a p-value stands (loops,
 * F1), since with enough questions any difference has a small p.
 * Variant: Cohen's d for paired data (d_z, divisor n − 1), which does not depend on n; the relative one is HALT's "−37% loops".
 * Source: Cohen 1988, §2.3.5; evaluation.md §3. Cost: linear.
 *
 * @throws RangeError for no question, columns of unequal length, or a value that is not finite
 */
export function pairedEffect({ system, reference }: PairedColumns): PairedEffect {
  const differences = pairedDifferences({ system, reference });
  const difference = mean(differences);
  const base = mean(reference);
  const spread = standardDeviation(differences);
  return {
    questions: differences.length,
    difference,
    relative: base === 0 ? Number.NaN : difference / base,
    standardised: spread > 0 ? difference / spread : Number.NaN,
  };
}

/** System minus reference, question by question, after both columns were checked. */
export function pairedDifferences({ system, reference }: PairedColumns): number[] {
  if (system.length === 0) throw new RangeError('system: got no value, expected at least one');
  if (reference.length !== system.length) {
    throw new RangeError(`reference: got ${reference.length} values, expected one for each of ${system.length} questions`);
  }
  return Array.from(system, (value, i) => {
    const other = reference[i] as number;
    for (const [name, one] of [
      ['system', value],
      ['reference', other],
    ] as const) {
      if (!Number.isFinite(one)) throw new RangeError(`${name}[${i}]: got ${one}, expected a finite number`);
    }
    return value - other;
  });
}

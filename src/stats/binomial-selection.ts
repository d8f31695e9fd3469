import { checkCount, checkOpenShare } from './argument-checks.js';
import { binomialAtLeast } from './binomial.js';

export interface BinomialSelectionOptions {
  /** Agreeing questions under each candidate, in any order. */
  agreeing: ArrayLike<number>;
  /** Calibration questions, the same for every candidate. */
  n: number;
  /** The agreement to guarantee, 0 < bar < 1. */
  bar: number;
  /** The probability with which the guarantee may fail, 0 < delta < 1. */
  delta: number;
}

export interface BinomialSelection {
  /** Whether each candidate is certified, in the order given. */
  certified: boolean[];
  /** Exact one-sided p-value of each candidate: P(Bin(n, bar) ≥ agreeing). */
  p: number[];
  /** Fewest agreeing questions that certify a candidate; n + 1 where n questions cannot. */
  agreeingNeeded: number;
}

/**
 * Which of several candidates keep an agreement of at least a bar, all at once with probability at least 1 − δ: use it where candidates have no
 * natural order (routers of several kinds, thresholds on a signal along which agreement is not monotone); among the certified ones any may be
 * taken, by call cut for instance. Where agreement is monotone `learnThenTest` certifies more, since it need not share δ.
 * Variant: exact binomial test of each candidate at δ / candidates (Bonferroni). The candidates must not be chosen by the same questions.
 * Source: the exact selection of evaluation.md §3. Cost: a binomial tail a candidate.
 *
 * @throws RangeError for counts that cannot be
 */
export function binomialSelection({ agreeing, n, bar, delta }: BinomialSelectionOptions): BinomialSelection {
  checkCount('n', n);
  checkOpenShare('bar', bar);
  checkOpenShare('delta', delta);
  const each = delta / Math.max(1, agreeing.length);
  const p: number[] = [];
  for (let candidate = 0; candidate < agreeing.length; candidate++) {
    const count = agreeing[candidate] as number;
    checkCount(`agreeing[${candidate}]`, count);
    if (count > n) throw new RangeError(`agreeing[${candidate}]: got ${count}, expected at most n = ${n}`);
    p.push(binomialAtLeast(count, { n, p: bar }));
  }
  return { certified: p.map((one) => one <= each), p, agreeingNeeded: fewestCertifying(n, bar, each) };
}

/** Fewest of n questions that reject "the share is below the bar" at the level; n + 1 where all of them cannot. The tail falls as the count rises. */
export function fewestCertifying(n: number, bar: number, level: number): number {
  let failing = -1;
  let passing = n + 1;
  while (passing - failing > 1) {
    const middle = Math.floor((failing + passing) / 2);
    if (binomialAtLeast(middle, { n, p: bar }) <= level) passing = middle;
    else failing = middle;
  }
  return passing;
}

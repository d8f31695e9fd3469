import { checkCount, checkOpenShare } from './argument-checks.js';
import { fewestCertifying } from './binomial-selection.js';
import { binomialAtLeast } from './binomial.js';

export interface LearnThenTestOptions {
  /** Agreeing questions at each step, ordered from "always call" down (each step skips at least as much as the one before). */
  agreeing: ArrayLike<number>;
  /** Calibration questions, the same at every step. */
  n: number;
  /** The agreement to guarantee, 0 < bar < 1. */
  bar: number;
  /** The probability with which the guarantee may fail, 0 < delta < 1. */
  delta: number;
}

export interface LearnThenTestResult {
  /** Position of the last certified step; −1: nothing is certified, always call. */
  certified: number;
  /** p-value of the last certified step; 1 where nothing is certified. */
  certifiedP: number;
  /** p-value of the first step that failed; null where every step is certified. */
  failedP: number | null;
  /** Fewest agreeing questions of these n that certify a step; n + 1 where n questions cannot. */
  agreeingNeeded: number;
  /** Fewest questions that can certify anything at this bar and delta: ⌈ln δ / ln bar⌉. */
  questionsNeeded: number;
}

/**
 * How far a threshold may go while the agreement of new questions like these stays at or above a bar, with probability at least 1 − δ: use
 * it to choose τ when a promise is wanted, not a point estimate.
 * Variant: Learn-then-Test (Angelopoulos and others 2021) with exact binomial p-values, p = P(Bin(n, bar) ≥ agreeing), tested in the fixed
 * order given at the full δ each, up to the first p > δ: a later step is never looked at, however good it is. That order may come from the
 * data's own margins, because agreement is monotone in τ. It says nothing about questions of another kind. Cost: linear in the steps, and
 * log₂ n binomial tails.
 */
export function learnThenTest({ agreeing, n, bar, delta }: LearnThenTestOptions): LearnThenTestResult {
  checkCount('n', n);
  checkOpenShare('bar', bar);
  checkOpenShare('delta', delta);
  const agreeingNeeded = fewestCertifying(n, bar, delta);
  let certified = -1;
  for (let step = 0; step < agreeing.length; step++) {
    const count = agreeing[step] as number;
    checkCount(`agreeing[${step}]`, count);
    if (count > n) throw new RangeError(`agreeing[${step}]: got ${count}, expected at most n = ${n}`);
    if (count < agreeingNeeded) break;
    certified = step;
  }
  const p = (step: number): number => binomialAtLeast(agreeing[step] as number, { n, p: bar });
  return {
    certified,
    certifiedP: certified < 0 ? 1 : p(certified),
    failedP: certified + 1 < agreeing.length ? p(certified + 1) : null,
    agreeingNeeded,
    questionsNeeded: fewestQuestions(bar, delta),
  };
}

/** With n questions that all agree p = bar^n; the logarithms may round to the wrong side of an integer, so their neighbours are tried. */
function fewestQuestions(bar: number, delta: number): number {
  const about = Math.max(1, Math.ceil(Math.log(delta) / Math.log(bar)) - 1);
  return binomialAtLeast(about, { n: about, p: bar }) <= delta ? about : about + 1;
}

import { checkCount, checkOpenShare } from './argument-checks.js';

/** The law of the number of successes in n independent trials. */
export interface BinomialLaw {
  /** Number of trials, an integer of at least 0. */
  n: number;
  /** Probability of success of one trial, 0 < p < 1. */
  p: number;
}

/**
 * P(X ≤ k): how often so few successes come by chance. `k` is an integer; below 0 gives 0, n and above 1.
 * Variant: exact sum of the tail outwards from k, started by Loader's saddle-point form of the probability (Loader 2000, "Fast and
 * accurate computation of binomial probabilities"), so that no factorial overflows and nothing cancels: relative error below 1e-10 for n up
 * to a million. (simple-statistics has only a table of all n + 1 probabilities, built on a log-gamma that loses digits as n grows.)
 * Cost: about 8 standard deviations of additions, √(n·p·(1 − p)) each.
 */
export function binomialAtMost(k: number, law: BinomialLaw): number {
  return Math.exp(logBinomialAtMost(k, law));
}

/** P(X ≥ k): how often so many successes come by chance; the mirror of `binomialAtMost`. */
export function binomialAtLeast(k: number, law: BinomialLaw): number {
  return Math.exp(logBinomialAtLeast(k, law));
}

/** P(X = k): the probability of this one outcome; 0 outside 0 … n. */
export function binomialAt(k: number, { n, p }: BinomialLaw): number {
  checkArguments(k, n, p);
  return k < 0 || k > n ? 0 : Math.exp(logProbability(k, { n, p, failure: 1 - p }));
}

/** ln P(X ≤ k), for tails below 1e-308; −Infinity where k < 0. */
export function logBinomialAtMost(k: number, { n, p }: BinomialLaw): number {
  checkArguments(k, n, p);
  return logTail(n - k, { n, p: 1 - p, failure: p });
}

/** ln P(X ≥ k), for tails below 1e-308; −Infinity where k > n. */
export function logBinomialAtLeast(k: number, { n, p }: BinomialLaw): number {
  checkArguments(k, n, p);
  return logTail(k, { n, p, failure: 1 - p });
}

function checkArguments(k: number, n: number, p: number): void {
  checkCount('n', n);
  checkOpenShare('p', p);
  if (!Number.isInteger(k)) throw new RangeError(`k: got ${k}, expected an integer`);
}

/** Both probabilities are kept, because 1 − p of a small p has lost its digits. */
interface ExactLaw extends BinomialLaw {
  failure: number;
}

/** ln P(X ≥ k). The smaller of the two tails is summed, the other follows from it. */
function logTail(k: number, law: ExactLaw): number {
  const { n, p, failure } = law;
  if (k <= 0) return 0;
  if (k > n) return Number.NEGATIVE_INFINITY;
  if (k > n * p) return logTailAbove(k, law);
  return Math.log1p(-Math.exp(logTailAbove(n - k + 1, { n, p: failure, failure: p })));
}

/** ln P(X ≥ k) for k above the mean, where every further term is smaller than the one before. */
function logTailAbove(k: number, law: ExactLaw): number {
  const { n, p, failure } = law;
  let term = 1;
  let sum = 1;
  for (let x = k; x < n; x++) {
    term *= ((n - x) / (x + 1)) * (p / failure);
    sum += term;
    if (term < 1e-17 * sum) break;
  }
  return logProbability(k, law) + Math.log(sum);
}

function logProbability(x: number, { n, p, failure }: ExactLaw): number {
  if (x === 0) return n * Math.log(failure);
  if (x === n) return n * Math.log(p);
  const left = n - x;
  const deviance = devianceTerm(x, n * p) + devianceTerm(left, n * failure);
  return stirlingError(n) - stirlingError(x) - stirlingError(left) - deviance + 0.5 * Math.log(n / (2 * Math.PI * x * left));
}

/** x·ln(x / expected) + expected − x, without the cancellation near x = expected. */
function devianceTerm(x: number, expected: number): number {
  if (Math.abs(x - expected) >= 0.1 * (x + expected)) return x * Math.log(x / expected) + expected - x;
  const v = (x - expected) / (x + expected);
  let sum = (x - expected) * v;
  let power = 2 * x * v;
  for (let odd = 3; ; odd += 2) {
    power *= v * v;
    const next = sum + power / odd;
    if (next === sum) return sum;
    sum = next;
  }
}

/** ln n! less Stirling's first terms: ½·ln(2πn) + n·ln n − n. */
function stirlingError(n: number): number {
  if (n < 16) {
    let logFactorial = 0;
    for (let i = 2; i <= n; i++) logFactorial += Math.log(i);
    return logFactorial - (0.5 * Math.log(2 * Math.PI * n) + n * Math.log(n) - n);
  }
  const s = 1 / (n * n);
  return (1 / 12 - s * (1 / 360 - s * (1 / 1260 - s * (1 / 1680 - s / 1188)))) / n;
}

import { checkCount, checkOpenShare, checkPositive } from './argument-checks.js';
import { binomialAt, binomialAtMost } from './binomial.js';
import { normalCdf, normalQuantile } from './distributions.js';

export interface DetectableEffectOptions {
  /** Standard error of the difference at the size that was run, at least 0. */
  standardError: number;
  /** Two-sided level. Default 0.05. */
  level?: number;
  /** Probability of finding the effect. Default 0.8. */
  power?: number;
}

/**
 * The smallest true difference that an experiment of this precision finds with the power given: print it beside every "no difference", and
 * never call a difference below it absent.
 * Variant: normal law, (z₁₋ₗₑᵥₑₗ/₂ + z_power) standard errors: 2.80 of them by default. Source: CoVeR, appendix B (its 1.42 / 1.23 / 0.54
 * points). Cost: constant.
 */
export function minimumDetectableEffect({ standardError, level = 0.05, power = 0.8 }: DetectableEffectOptions): number {
  if (!(Number.isFinite(standardError) && standardError >= 0)) {
    throw new RangeError(`standardError: got ${standardError}, expected a finite number of at least 0`);
  }
  checkOpenShare('level', level);
  checkOpenShare('power', power);
  return (normalQuantile(1 - level / 2) + normalQuantile(power)) * standardError;
}

export interface NormalPowerOptions {
  /** True difference from the null's bound: ΔEM itself, or ΔEM + ε for non-inferiority at ε. */
  effect: number;
  /** Standard deviation of one question's difference, above 0; `discordantDeviation` gives it for right and wrong. */
  standardDeviation: number;
  /** Questions planned, at least 1. */
  n: number;
  /** Level of the test. Default 0.05 two-sided; non-inferiority is `larger` at 0.025. */
  level?: number;
  /** Default `two-sided`. */
  alternative?: 'two-sided' | 'larger' | 'smaller';
}

/**
 * How likely a planned number of questions is to find a difference of a given size: use it before paying for the run.
 * Variant: z-test of a mean difference, normal law; the same as statsmodels' `normal_power`. Cost: constant.
 */
export function normalPower({ effect, standardDeviation, n, level = 0.05, alternative = 'two-sided' }: NormalPowerOptions): number {
  if (!Number.isFinite(effect)) throw new RangeError(`effect: got ${effect}, expected a finite number`);
  checkPositive('standardDeviation', standardDeviation);
  checkCount('n', n, 1);
  checkOpenShare('level', level);
  const shift = (effect * Math.sqrt(n)) / standardDeviation;
  if (alternative === 'larger') return normalCdf(normalQuantile(level) + shift);
  if (alternative === 'smaller') return normalCdf(normalQuantile(level) - shift);
  const critical = normalQuantile(level / 2);
  return normalCdf(critical + shift) + normalCdf(critical - shift);
}

export interface QuestionsForPowerOptions extends Omit<NormalPowerOptions, 'n'> {
  /** Default 0.8. */
  power?: number;
}

/**
 * The fewest questions with which `normalPower` reaches the power given; Infinity where no number does (no effect, or one on the wrong side).
 * Cost: some sixty evaluations.
 */
export function questionsForPower({ power = 0.8, ...options }: QuestionsForPowerOptions): number {
  checkOpenShare('power', power);
  const reaches = (n: number): boolean => normalPower({ ...options, n }) >= power;
  let high = 1;
  while (!reaches(high)) {
    if (high >= 2 ** 50) return Infinity;
    high *= 2;
  }
  let low = Math.floor(high / 2);
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (reaches(middle)) high = middle;
    else low = middle;
  }
  return high;
}

/** Shares of all questions on which the two systems differ. */
export interface DiscordantShares {
  /** Share that A alone gets right, 0 … 1. */
  onlyA: number;
  /** Share that B alone gets right, 0 … 1. */
  onlyB: number;
}

/** Standard deviation of one question's difference, A minus B, where each is right or wrong: √(a + b − (a − b)²). */
export function discordantDeviation({ onlyA, onlyB }: DiscordantShares): number {
  checkShares({ onlyA, onlyB });
  return Math.sqrt(onlyA + onlyB - (onlyA - onlyB) ** 2);
}

export interface McnemarPowerOptions extends DiscordantShares {
  /** Questions planned, at least 1. */
  n: number;
  /** Default 0.05. */
  level?: number;
}

/**
 * How likely `mcnemarExact` is to reject at the level, given how often each system is right alone: use it for small n or few discordant
 * questions, where the normal law promises too much. With onlyA = onlyB it is the test's true level, which is below the nominal one.
 * Variant: exact; the law of the number of discordant questions times the power given that number. Cost: about n binomial tails.
 */
export function mcnemarPower({ n, onlyA, onlyB, level = 0.05 }: McnemarPowerOptions): number {
  checkCount('n', n, 1);
  checkShares({ onlyA, onlyB });
  checkOpenShare('level', level);
  const discordant = onlyA + onlyB;
  let power = 0;
  // The largest count in the smaller tail that still rejects; it only rises with the total.
  let critical = -1;
  for (let total = 1; total <= n; total++) {
    while (binomialAtMost(critical + 1, { n: total, p: 0.5 }) <= level / 2) critical++;
    const weight = at(total, n, discordant);
    if (critical < 0 || weight < 1e-18) continue;
    power += weight * (atMost(critical, total, onlyA / discordant) + atMost(critical, total, onlyB / discordant));
  }
  return power;
}

function checkShares(shares: DiscordantShares): void {
  for (const name of ['onlyA', 'onlyB'] as const) {
    if (!(shares[name] >= 0 && shares[name] <= 1)) throw new RangeError(`${name}: got ${shares[name]}, expected a share from 0 to 1`);
  }
  const sum = shares.onlyA + shares.onlyB;
  if (sum > 1) throw new RangeError(`onlyA + onlyB: got ${sum}, expected at most 1`);
}

/** P(X = k) and P(X ≤ k), the certain laws p = 0 and p = 1 included. */
function at(k: number, n: number, p: number): number {
  if (p === 0 || p === 1) return k === n * p ? 1 : 0;
  return binomialAt(k, { n, p });
}

function atMost(k: number, n: number, p: number): number {
  if (p === 0 || p === 1) return n * p <= k ? 1 : 0;
  return binomialAtMost(k, { n, p });
}

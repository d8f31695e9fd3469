import { firstTrue } from './first-true.js';
import { checkCount, checkOpenShare } from './argument-checks.js';
import { binomialAt, binomialAtLeast, binomialAtMost } from './binomial.js';
import type { Interval } from './wilson.js';

export interface BinomialTestOptions {
  successes: number;
  /** Number of trials. */
  n: number;
  /** The share under the null, 0 < p < 1. */
  p: number;
  /** What speaks against the null: a share above p (`greater`), below (`less`), or either. Default `two-sided`. */
  alternative?: 'two-sided' | 'greater' | 'less';
}

/**
 * Whether a share differs from a stated one, from counts alone: use it for "is the agreement above 0.90?" and wherever n is too small for a
 * normal law. It rejects a true null at most as often as the level, whatever n.
 * Variant: exact; two-sided by the method of small probabilities (all outcomes that are no likelier than the one seen), as R's and scipy's
 * `binomtest`. Cost: two binomial tails and a search of log₂ n steps.
 */
export function binomialTest({ successes, n, p, alternative = 'two-sided' }: BinomialTestOptions): { p: number } {
  checkSuccesses(successes, n);
  const law = { n, p };
  if (alternative === 'greater') return { p: binomialAtLeast(successes, law) };
  if (alternative === 'less') return { p: binomialAtMost(successes, law) };
  if (successes === n * p) return { p: 1 };
  // Outcomes of equal probability may differ in their last digits.
  const limit = binomialAt(successes, law) * (1 + 1e-7);
  const unlikely = (x: number): boolean => binomialAt(x, law) <= limit;
  if (successes < n * p) {
    const from = firstTrue(Math.ceil(n * p), n + 1, unlikely);
    return { p: Math.min(1, binomialAtMost(successes, law) + binomialAtLeast(from, law)) };
  }
  const to = Math.floor(n * p) - firstTrue(0, Math.floor(n * p) + 1, (down) => unlikely(Math.floor(n * p) - down));
  return { p: Math.min(1, binomialAtLeast(successes, law) + binomialAtMost(to, law)) };
}

export interface ClopperPearsonOptions {
  successes: number;
  /** Number of trials, at least 1. */
  n: number;
  /** Two-sided confidence level. Default 0.95. */
  level?: number;
}

/**
 * The exact interval of a proportion: use it where an interval may never cover too seldom, at the price of being wider than `wilson`'s.
 * Variant: Clopper and Pearson 1934, both tails inverted. Cost: some hundred binomial tails.
 */
export function clopperPearson({ successes, n, level = 0.95 }: ClopperPearsonOptions): Interval {
  checkCount('n', n, 1);
  checkSuccesses(successes, n);
  checkOpenShare('level', level);
  const tail = (1 - level) / 2;
  return {
    low: successes === 0 ? 0 : crossing((p) => binomialAtLeast(successes, { n, p }) > tail),
    high: successes === n ? 1 : crossing((p) => binomialAtMost(successes, { n, p }) <= tail),
  };
}

function checkSuccesses(successes: number, n: number): void {
  checkCount('n', n);
  checkCount('successes', successes);
  if (successes > n) throw new RangeError(`successes: got ${successes}, expected at most n = ${n}`);
}

/** The share at which a rising condition begins to hold, to the last digits. */
function crossing(holds: (p: number) => boolean): number {
  let [below, above] = [0, 1];
  for (;;) {
    const middle = (below + above) / 2;
    if (middle <= below || middle >= above || above - below < 1e-16 * above) return middle;
    if (holds(middle)) above = middle;
    else below = middle;
  }
}

// How often each paired test errs, by simulation: for the tests (few sizes) and for `bench/null-rates` (all of them).
import { random } from '../../src/core/random.js';
import {
  bootstrapTost,
  mcnemarExact,
  newcombePaired,
  nonInferiority,
  pairedBootstrap,
  type Bootstrap,
  type DiscordantShares,
} from '../../src/stats/index.js';

export interface Population extends DiscordantShares {
  name: string;
  /** True difference, system minus reference. */
  truth: number;
}

/** Shares of questions that the system (A) and the reference (B) get right alone. */
export const POPULATIONS = {
  equal: { name: 'no difference, 8% discordant', onlyA: 0.04, onlyB: 0.04, truth: 0 },
  lossWide: { name: 'a loss of 2 points, 18% discordant', onlyA: 0.08, onlyB: 0.1, truth: -0.02 },
  lossBoth: { name: 'a loss of 2 points, 6% discordant', onlyA: 0.02, onlyB: 0.04, truth: -0.02 },
  lossOneSided: { name: 'a loss of 2 points, all discordance one-sided', onlyA: 0, onlyB: 0.02, truth: -0.02 },
} as const satisfies { [name: string]: Population };

export interface Rates {
  /** `mcnemarExact` at 0.05. */
  mcnemar: number;
  /** The 95% intervals that miss the true difference: Newcombe's, the percentile bootstrap's. */
  newcombeMisses: number;
  bootstrapMisses: number;
  /** Non-inferiority at 2 points, nominally 0.025 where the loss is exactly that: the lower end above −ε. */
  newcombeNonInferior: number;
  bootstrapNonInferior: number;
  /** Equivalence at 2 points, nominally 0.05 at such a loss. */
  bootstrapEquivalent: number;
  /** Data sets with fewer than 20 discordant questions. */
  fewDiscordant: number;
}

const MARGIN = 0.02;

export interface RateOptions {
  n: number;
  /** Data sets drawn. */
  trials: number;
  resamples: number;
  seed: number;
}

/**
 * A test on right and wrong answers depends on the counts alone, and the bootstrap's seed is fixed as in a real run: so every count that occurs is
 * tested once. Half the questions on which both agree are right.
 */
export function errorRates({ onlyA, onlyB, truth }: Population, { n, trials, resamples, seed }: RateOptions): Rates {
  const stream = random(seed, 'null rates', n, onlyA, onlyB);
  const known = new Map<string, Rates>();
  const sum: Rates = {
    mcnemar: 0,
    newcombeMisses: 0,
    bootstrapMisses: 0,
    newcombeNonInferior: 0,
    bootstrapNonInferior: 0,
    bootstrapEquivalent: 0,
    fewDiscordant: 0,
  };
  for (let trial = 0; trial < trials; trial++) {
    const counts = { a: 0, b: 0 };
    for (let question = 0; question < n; question++) {
      const u = stream.float();
      if (u < onlyA) counts.a++;
      else if (u < onlyA + onlyB) counts.b++;
    }
    const key = `${counts.a} ${counts.b}`;
    const one = known.get(key) ?? verdicts(counts.a, counts.b, { n, truth, resamples });
    known.set(key, one);
    for (const name of Object.keys(sum) as (keyof Rates)[]) sum[name] += one[name];
  }
  for (const name of Object.keys(sum) as (keyof Rates)[]) sum[name] /= trials;
  return sum;
}

function verdicts(onlyA: number, onlyB: number, { n, truth, resamples }: { n: number; truth: number; resamples: number }): Rates {
  const newcombe = newcombePaired({ n, bothRight: Math.floor((n - onlyA - onlyB) / 2), onlyA, onlyB });
  const boot = bootstrapOf(onlyA, onlyB, n, resamples);
  // Ends that lie on a grid of 1/n are compared with a bound on it: dust is no miss.
  const misses = ({ low, high }: { low: number; high: number }): number => Number(low > truth + 1e-9 || high < truth - 1e-9);
  return {
    mcnemar: Number(mcnemarExact({ onlyA, onlyB }).p <= 0.05),
    newcombeMisses: misses(newcombe),
    bootstrapMisses: misses(boot),
    newcombeNonInferior: Number(newcombe.low > -MARGIN),
    bootstrapNonInferior: Number(nonInferiority(boot, { margin: MARGIN }).nonInferior),
    bootstrapEquivalent: Number(bootstrapTost(boot, { margin: MARGIN }).equivalent),
    fewDiscordant: Number(onlyA + onlyB < 20),
  };
}

function bootstrapOf(onlyA: number, onlyB: number, n: number, resamples: number): Bootstrap {
  const difference = Array.from({ length: n }, (_, i) => (i < onlyA ? 1 : i < onlyA + onlyB ? -1 : 0));
  return pairedBootstrap({ columns: { difference }, statistic: (total, { units }) => total.difference / units, resamples });
}

/** A rate with the standard error of its simulation. */
export function rateWords(rate: number, trials: number): string {
  return `${rate.toFixed(3)} ± ${Math.sqrt((rate * (1 - rate)) / trials).toFixed(3)}`;
}

// How often the paired tests err where the truth is known, for n = 50 … 1,000, and how often a chosen τ violates its bar:
// `node build/bench/null-rates.js [trials] [resamples]`.
import { mcnemarPower } from '../src/stats/index.js';
import { violations } from '../test/stats/known-agreement.js';
import { POPULATIONS, errorRates, rateWords } from '../test/stats/null-rates.js';

const trials = Number(process.argv[2] ?? 4_000);
const resamples = Number(process.argv[3] ?? 499);
const SIZES = [50, 100, 200, 400, 600, 1_000] as const;
const seed = 13;

console.log(`${trials} data sets each, ${resamples} resamples, seed ${seed}; ± is the standard error of the simulation`);
for (const population of Object.values(POPULATIONS)) {
  console.log(`\n${population.name}`);
  const exact = population.truth === 0;
  console.log(
    exact
      ? '| n | McNemar at 0.05 | its exact level | Newcombe 95% misses | bootstrap 95% misses | under 20 discordant |'
      : '| n | Newcombe NI (0.025) | bootstrap NI (0.025) | bootstrap TOST (0.05) | Newcombe 95% misses | bootstrap 95% misses | under 20 discordant |',
  );
  console.log(exact ? '| --- | --- | --- | --- | --- | --- |' : '| --- | --- | --- | --- | --- | --- | --- |');
  for (const n of SIZES) {
    const rates = errorRates(population, { n, trials, resamples, seed });
    const simulated = (...rates: number[]): string => rates.map((rate) => rateWords(rate, trials)).join(' | ');
    const cells = exact
      ? `${rateWords(rates.mcnemar, trials)} | ${mcnemarPower({ n, ...population }).toFixed(4)} | ${simulated(rates.newcombeMisses, rates.bootstrapMisses)}`
      : simulated(
          rates.newcombeNonInferior,
          rates.bootstrapNonInferior,
          rates.bootstrapEquivalent,
          rates.newcombeMisses,
          rates.bootstrapMisses,
        );
    console.log(`| ${n} | ${cells} | ${rates.fewDiscordant.toFixed(3)} |`);
  }
}

const repetitions = 1_000;
console.log(`\nτ chosen for an agreement of 0.90 on a population whose agreement is known, δ = 0.1, ${repetitions} repetitions`);
console.log(
  '| training sets | questions each | point selection violates | guarantee violates | certifies nothing | cut: point | cut: guarantee |',
);
console.log('| --- | --- | --- | --- | --- | --- | --- |');
for (const datasets of [1, 2]) {
  for (const n of [25, 50, 100, 200, 600]) {
    const found = violations({ datasets, n, bar: 0.9, delta: 0.1, repetitions });
    const rates = [found.point, found.guaranteed].map((rate) => rateWords(rate, repetitions));
    console.log(
      `| ${datasets} | ${n} | ${rates.join(' | ')} | ${found.nothing.toFixed(3)} | ${found.pointCut.toFixed(3)} | ${found.guaranteedCut.toFixed(3)} |`,
    );
  }
}

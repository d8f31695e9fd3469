import assert from 'node:assert/strict';
import { test } from 'node:test';

import { random } from '../../src/core/random.js';
import {
  bootstrapAuroc,
  bootstrapTost,
  mcnemarExact,
  mcnemarPower,
  nonInferiority,
  pairedBootstrap,
  pooledDifference,
  superiority,
} from '../../src/stats/index.js';
import { skippedInSecondPass } from '../support/second-pass.js';
import { violations } from './known-agreement.js';
import { POPULATIONS, errorRates, rateWords } from './null-rates.js';

const trials = 2_000;
const options = { trials, resamples: 399, seed: 13 };

test('without a difference the exact McNemar test rejects at most the level, and its rate is that of its exact law', (t) => {
  for (const n of [50, 100, 200]) {
    const { mcnemar, newcombeMisses, bootstrapMisses } = errorRates(POPULATIONS.equal, { ...options, n });
    const level = mcnemarPower({ n, ...POPULATIONS.equal });
    t.diagnostic(
      `n ${n}: McNemar ${rateWords(mcnemar, trials)} (exactly ${level.toFixed(4)}), 95% intervals miss: Newcombe ${rateWords(newcombeMisses, trials)}, ` +
        `bootstrap ${rateWords(bootstrapMisses, trials)}`,
    );
    assert.ok(level <= 0.05);
    // Four standard errors of 2,000 data sets.
    assert.ok(Math.abs(mcnemar - level) <= 4 * Math.sqrt((level * (1 - level)) / trials), `n ${n}: ${mcnemar}`);
  }
});

test('at a true loss of the margin, non-inferiority errs far above its level where few questions are discordant', (t) => {
  const rates = new Map<string, number>();
  for (const [key, population] of Object.entries(POPULATIONS)) {
    if (population.truth === 0) continue;
    for (const n of [50, 200]) {
      const { newcombeNonInferior, bootstrapNonInferior, bootstrapEquivalent, fewDiscordant } = errorRates(population, { ...options, n });
      t.diagnostic(
        `${population.name}, n ${n}: non-inferior (0.025) Newcombe ${rateWords(newcombeNonInferior, trials)}, bootstrap ` +
          `${rateWords(bootstrapNonInferior, trials)}; equivalent (0.05) ${rateWords(bootstrapEquivalent, trials)}; under 20 discordant ${fewDiscordant}`,
      );
      rates.set(`${key} ${n}`, bootstrapNonInferior);
    }
  }
  // One-sided: the verdict is wrong exactly where no question was lost: 0.98⁵⁰ = 0.364, with a standard error of 0.011.
  assert.ok(Math.abs((rates.get('lossOneSided 50') as number) - 0.98 ** 50) < 0.043);
  // Two-sided discordance with 36 discordant questions on average: near the nominal 0.025 (standard error 0.0035).
  assert.ok((rates.get('lossWide 200') as number) < 0.045, `${rates.get('lossWide 200')}`);
});

test('where the two systems never differ every test says that it tests nothing', () => {
  const boot = pairedBootstrap({
    columns: { difference: Array.from({ length: 50 }, () => 0) },
    statistic: (total, { units }) => total.difference / units,
    resamples: 399,
  });
  assert.equal(mcnemarExact({ onlyA: 0, onlyB: 0 }).p, 1);
  for (const { degenerate } of [nonInferiority(boot), superiority(boot, { better: 'lower' }), bootstrapTost(boot, { margin: 0.02 })]) {
    assert.equal(degenerate, true);
  }
});

test('over sets of very unequal size the pooled 95% interval misses no difference about one time in twenty', (t) => {
  if (skippedInSecondPass(t)) return;
  let missed = 0;
  for (let trial = 0; trial < 400; trial++) {
    const sets = [20, 240].map((n, i) => {
      const stream = random(trial, 'unequal sets', i);
      const columns = (): number[] => Array.from({ length: n }, () => (stream.float() < 0.2 + 0.3 * i ? 1 : 0));
      return { name: `${n} questions`, system: columns(), reference: columns() };
    });
    const { difference } = pooledDifference({ sets, resamples: 199, seed: trial });
    if (difference === null || difference.low > 0 || difference.high < 0) missed++;
  }
  t.diagnostic(`20 and 240 questions: ${missed} of 400 missed`);
  // 400 · 0.05 = 20 with standard deviation 4.4; 199 resamples are a little narrow: 4 to 37 is ±4 of them.
  assert.ok(missed >= 4 && missed <= 37, `${missed}`);
});

test('with 15 positives beside 150 negatives the AUROC’s interval covers chance, by question', (t) => {
  if (skippedInSecondPass(t)) return;
  let missed = 0;
  for (let trial = 0; trial < 300; trial++) {
    const stream = random(trial, 'unequal classes');
    // Two hops a question share half of their score, so they are no independent cases.
    const questions = Array.from({ length: 83 }, () => stream.float());
    const clusters = questions.flatMap((_, question) => [question, question]).slice(0, 165);
    const scores = clusters.map((question) => (questions[question] as number) + stream.float());
    const { low, high } = bootstrapAuroc({ scores, positive: scores.map((_, i) => i % 11 === 0), clusters, resamples: 199, seed: trial });
    if (low > 0.5 || high < 0.5) missed++;
  }
  t.diagnostic(`${missed} of 300 missed`);
  // 300 · 0.05 = 15 with standard deviation 3.8; percentile intervals of few positives are narrow: below 0.11.
  assert.ok(missed <= 33, `${missed}`);
});

test('the guarantee violates its bar in at most a share δ of 1,000 repetitions, LODO’s point selection in far more', (t) => {
  if (skippedInSecondPass(t)) return;
  const delta = 0.1;
  for (const datasets of [1, 2]) {
    const found = violations({ datasets, n: 150, bar: 0.9, delta, repetitions: 1_000 });
    t.diagnostic(
      `${datasets} training set${datasets === 1 ? '' : 's'} of 150 questions, agreement 0.90: point selection violates ${rateWords(found.point, 1_000)} ` +
        `(cut ${found.pointCut.toFixed(3)}), guarantee at δ ${delta} ${rateWords(found.guaranteed, 1_000)} (cut ${found.guaranteedCut.toFixed(3)})`,
    );
    // δ and three standard errors of the simulation, √(0.1·0.9/1000) = 0.0095.
    assert.ok(found.guaranteed <= delta + 0.029, `${found.guaranteed}`);
    assert.ok(found.point > 0.2, `${found.point}`);
  }
});

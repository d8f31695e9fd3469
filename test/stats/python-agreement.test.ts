import assert from 'node:assert/strict';
import { test } from 'node:test';

import { random } from '../../src/core/random.js';
import {
  auroc,
  binomialAtLeast,
  binomialAtMost,
  holm,
  logBinomialAtLeast,
  logBinomialAtMost,
  mcnemarExact,
  mean,
  normalCdf,
  normalQuantile,
  pairedBootstrap,
  standardDeviation,
  tost,
  wilson,
} from '../../src/stats/index.js';
import { pythonOrSkip, runPython } from '../support/python.js';
import { skippedInSecondPass } from '../support/second-pass.js';

type Question = [name: string, values: unknown[]];

/** The oracle is exact to about 1e-12, our values to 1e-10: 1e-9 of the value is asked. */
const relative = 1e-9;

function assertClose(ours: number, theirs: number, what: string): void {
  assert.ok(Math.abs(ours - theirs) <= relative * Math.abs(theirs), `${what}: ours ${ours}, scipy's ${theirs}`);
}

function ask(python: string, questions: Question[]): unknown[] {
  return runPython(python, 'stats_oracle.py', questions) as unknown[];
}

const modules = ['scipy', 'statsmodels'];

test('the normal law equals scipy.stats.norm from -37 to 37 and from 1e-300 to 1 - 1e-15', (t) => {
  const python = pythonOrSkip(t, modules);
  if (python === undefined) return;
  const zs = [-37, -20, -8.5, -6, -3.0001, -3, -2.9999, -1.96, -0.5, -1e-9, 0, 1e-5, 0.3, 1, 1.645, 2.7, 3, 5, 8, 37];
  const ps = [
    1e-300,
    1e-100,
    1e-20,
    1e-10,
    1.1e-9,
    1e-6,
    0.001,
    0.025,
    0.1,
    0.3,
    0.499,
    0.5,
    0.6,
    0.8,
    0.975,
    0.995,
    1 - 1e-6,
    1 - 1e-12,
    1 - 1e-15,
  ];
  const questions: Question[] = [...zs.map((z): Question => ['normal_cdf', [z]]), ...ps.map((p): Question => ['normal_quantile', [p]])];
  const theirs = ask(python, questions) as number[];
  for (const [i, z] of zs.entries()) assertClose(normalCdf(z), theirs[i] as number, `cdf ${z}`);
  for (const [i, p] of ps.entries()) {
    // At one half the quantile is 0, where only the distance can be asked.
    if (p === 0.5) assert.ok(Math.abs(normalQuantile(p)) < 1e-15);
    else assertClose(normalQuantile(p), theirs[zs.length + i] as number, `quantile ${p}`);
  }
});

test('binomial tails equal scipy.stats.binom for n from 1 to a million', (t) => {
  const python = pythonOrSkip(t, modules);
  if (python === undefined) return;
  const stream = random(13, 'binomial laws');
  const laws = [1, 2, 15, 16, 29, 200, 1_000, 12_345, 1_000_000].flatMap((n) =>
    [0.001, 0.1, 0.5, 0.9, 0.95, 0.999].flatMap((p) => {
      const spread = Math.ceil(4 * Math.sqrt(n * p * (1 - p)));
      const near = Array.from({ length: 6 }, () => Math.round(n * p) + stream.int(2 * spread + 1) - spread);
      return [0, n, ...near].filter((k) => k >= 0 && k <= n).map((k) => ({ k, n, p }));
    }),
  );
  const questions = laws.flatMap(({ k, n, p }): Question[] => ['at_most', 'at_least'].map((name) => [name, [k, n, p]]));
  const theirs = ask(python, questions) as number[];
  for (const [i, { k, n, p }] of laws.entries()) {
    const [below, above] = theirs.slice(2 * i, 2 * i + 2) as [number, number];
    // Below 1e-290 a double has lost digits to underflow on either side.
    if (below > 1e-290) assertClose(binomialAtMost(k, { n, p }), below, `P(X <= ${k}), n ${n}, p ${p}`);
    if (above > 1e-290) assertClose(binomialAtLeast(k, { n, p }), above, `P(X >= ${k}), n ${n}, p ${p}`);
  }
});

test('logarithms of binomial tails equal scipy.stats.binom far below the smallest double', (t) => {
  const python = pythonOrSkip(t, modules);
  if (python === undefined) return;
  // scipy's own logarithm is −inf once the tail underflows; the two ends of the law have closed forms.
  assertClose(logBinomialAtLeast(20_000, { n: 20_000, p: 0.5 }), 20_000 * Math.log(0.5), 'all of 20,000');
  assertClose(logBinomialAtMost(0, { n: 1_000_000, p: 0.9 }), 1_000_000 * Math.log1p(-0.9), 'none of a million');
  const [atLeast, atMost] = ask(python, [
    ['log_at_least', [700, 1_000, 0.5]],
    ['log_at_most', [850, 1_000, 0.9]],
  ]) as [number, number];
  assertClose(logBinomialAtLeast(700, { n: 1_000, p: 0.5 }), atLeast, '700 of 1,000');
  assertClose(logBinomialAtMost(850, { n: 1_000, p: 0.9 }), atMost, '850 of 1,000');
});

test('Wilson, McNemar and Holm equal statsmodels', (t) => {
  const python = pythonOrSkip(t, modules);
  if (python === undefined) return;
  const shares = [
    [0, 10],
    [10, 10],
    [3, 10],
    [182, 1_000],
    [999_000, 1_000_000],
  ] as const;
  const tables = [
    [0, 1],
    [11, 14],
    [15, 30],
    [17, 16],
    [400, 300],
    [60_000, 61_000],
  ] as const;
  const families = [[0.01, 0.04, 0.03, 0.005], [0.5, 0.5], [0.049], [0.0001, 0.9, 0.02, 0.02, 0.6]];
  const theirs = ask(python, [
    ...shares.map((pair): Question => ['wilson', [...pair]]),
    ...tables.map((pair): Question => ['mcnemar', [...pair]]),
    ...families.map((family): Question => ['holm', [family]]),
  ]);
  for (const [i, [successes, n]] of shares.entries()) {
    const [low, high] = theirs[i] as [number, number];
    const ours = wilson({ successes, n });
    // statsmodels leaves rounding dust where the end is exactly 0.
    assert.ok(Math.abs(ours.low - low) < 1e-12, `low of ${successes}/${n}`);
    assert.ok(Math.abs(ours.high - high) < 1e-12, `high of ${successes}/${n}`);
  }
  for (const [i, [onlyA, onlyB]] of tables.entries()) {
    assertClose(mcnemarExact({ onlyA, onlyB }).p, theirs[shares.length + i] as number, `McNemar ${onlyA}/${onlyB}`);
  }
  for (const [i, family] of families.entries()) {
    const [adjusted, rejected] = theirs[shares.length + tables.length + i] as [number[], boolean[]];
    const ours = holm(family);
    for (const [j, p] of adjusted.entries()) assertClose(ours.adjusted[j] as number, p, `Holm ${family.join(' ')}`);
    assert.deepEqual(ours.rejected, rejected);
  }
});

test('P100: the TOST p-value equals statsmodels ztost, the larger of the two', (t) => {
  const python = pythonOrSkip(t, modules);
  if (python === undefined) return;
  const stream = random(13, 'tost');
  const samples = [0, 0.3, -0.6].map((shift) => Array.from({ length: 50 }, () => shift + stream.float() - 0.5));
  const theirs = ask(
    python,
    samples.map((sample): Question => ['tost', [sample, 0.5]]),
  ) as [number, number, number][];
  for (const [i, sample] of samples.entries()) {
    const standardError = standardDeviation(sample) / Math.sqrt(sample.length);
    const ours = tost({ difference: mean(sample), standardError, margin: 0.5 });
    const [p, lower, upper] = theirs[i] as [number, number, number];
    assertClose(ours.p, p, 'p');
    assertClose(ours.pLower, lower, 'lower p');
    assertClose(ours.pUpper, upper, 'upper p');
  }
});

test('AUROC equals scipy.stats.mannwhitneyu, ties included', (t) => {
  const python = pythonOrSkip(t, modules);
  if (python === undefined) return;
  const stream = random(13, 'auroc');
  const cases = [5, 40, 300].map((n) => {
    const scores = Array.from({ length: n }, () => stream.int(20) / 10);
    return { scores, positive: scores.map((_, i) => (i < 2 ? i : stream.int(2))) };
  });
  const theirs = ask(
    python,
    cases.map(({ scores, positive }): Question => ['auroc', [scores, positive]]),
  ) as number[];
  for (const [i, one] of cases.entries()) assertClose(auroc(one), theirs[i] as number, `case ${i}`);
});

test('the paired bootstrap of a mean difference gives the interval of scipy.stats.bootstrap within its sampling error', (t) => {
  if (skippedInSecondPass(t)) return;
  const python = pythonOrSkip(t, modules);
  if (python === undefined) return;
  const stream = random(13, 'bootstrap against scipy');
  const difference = Array.from({ length: 400 }, () => stream.int(3) - 1);
  const [[low, high, standardError]] = ask(python, [['bootstrap_mean', [difference, 0.95]]]) as [[number, number, number]];
  const ours = pairedBootstrap({
    columns: { difference },
    statistic: (total, { units }) => total.difference / units,
    resamples: 20_000,
  });
  // The standard error of a 2.5% quantile from B normal draws is √(0.025·0.975/B)/φ(1.96) = 0.019 se at B = 20,000; the difference of two
  // has 0.027 se, and the values lie on a grid of 1/400 = 0.061 se. 0.15 se is five of the former and twice the latter. The standard
  // deviation itself has a relative error of 1/√(2B) = 0.5%.
  assert.ok(Math.abs(ours.low - low) < 0.15 * standardError, `low ${ours.low} ${low}`);
  assert.ok(Math.abs(ours.high - high) < 0.15 * standardError, `high ${ours.high} ${high}`);
  assert.ok(Math.abs(ours.standardError / standardError - 1) < 0.03, `se ${ours.standardError} ${standardError}`);
});

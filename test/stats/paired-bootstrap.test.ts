import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';

import * as fc from 'fast-check';

import { random } from '../../src/core/random.js';
import {
  formatP,
  observedStatistics,
  pAbove,
  pBelow,
  pairedBootstrap,
  pairedBootstraps,
  percentileInterval,
  resampleStatistics,
  summariseBootstrap,
  type Statistic,
} from '../../src/stats/index.js';

const meanDifference: Statistic<'a' | 'b'> = (total, { units }) => (total.a - total.b) / units;
const share: Statistic<'a' | 'b'> = (total, { units }) => total.a / units;
const callCut: Statistic<'gated' | 'always'> = (total) => 1 - total.gated / total.always;

const zero = (): number => 0;

/** The whole error. */
function range(message: string): { name: string; message: string } {
  return { name: 'RangeError', message };
}

/** Two systems, right or wrong on the same questions; `same` is the share of questions on which they cannot differ. */
function answers(seed: number, n: number, { rightA = 0.5, rightB = 0.5, same = 0 } = {}): { a: number[]; b: number[] } {
  const stream = random(seed, 'answers');
  const a: number[] = [];
  const b: number[] = [];
  for (let i = 0; i < n; i++) {
    const first = stream.float() < rightA ? 1 : 0;
    const second = stream.float() < rightB ? 1 : 0;
    a.push(first);
    b.push(stream.float() < same ? first : second);
  }
  return { a, b };
}

test('the same data, seed and resamples give the same bits, and another seed other ones', () => {
  const columns = answers(1, 200);
  const once = pairedBootstrap({ columns, statistic: meanDifference, resamples: 500 });
  const again = pairedBootstrap({ columns, statistic: meanDifference, resamples: 500 });
  assert.deepEqual(again, once);
  const other = pairedBootstrap({ columns, statistic: meanDifference, resamples: 500, seed: 14 });
  assert.notDeepEqual(other.distribution, once.distribution);
});

test('the bits are the same on every Node and machine', () => {
  const gated = Array.from({ length: 1_000 }, (_, i) => (i * 7) % 3);
  const always = Array.from({ length: 1_000 }, (_, i) => (i * 11) % 5);
  const { distribution } = pairedBootstrap({ columns: { gated, always }, statistic: callCut, resamples: 1_000 });
  // Recorded on Node 20.20.2 and 24.22.3, x64: whole sums and one division, nothing that a mathematics library rounds in its own way.
  assert.equal(
    createHash('sha256').update(new Uint8Array(distribution.buffer)).digest('hex'),
    'ec5b624c44798872b3c5fd1fe32a7a2def94056f23969446889a6dfeb984aefa',
  );
});

test('any division of the resamples among workers gives the same bits', () => {
  const columns = answers(2, 60);
  const statistics = { difference: meanDifference };
  const data = { columns, strata: columns.a.map((_, i) => (i < 20 ? 'x' : 'y')), statistics };
  const whole = pairedBootstraps({ ...data, resamples: 100 }).difference;
  fc.assert(
    fc.property(fc.uniqueArray(fc.integer({ min: 1, max: 99 }), { maxLength: 5 }), (cuts) => {
      const ends = [...cuts.sort((x, y) => x - y), 100];
      const parts = ends.flatMap((to, i) => {
        const from = i === 0 ? 0 : (ends[i - 1] as number);
        return Array.from(resampleStatistics({ ...data, seed: 13, from, to }).difference);
      });
      const joined = summariseBootstrap(observedStatistics(data).difference, Float64Array.from(parts));
      assert.deepEqual(joined, whole);
    }),
    { numRuns: 20 },
  );
});

test('a ratio of sums is bootstrapped as a ratio, not as a mean of ratios', () => {
  // 1 − (1 + 2)/(2 + 8) = 0.7; the mean of the two questions' own cuts would be (0.5 + 0.75)/2 = 0.625.
  const { estimate } = pairedBootstrap({ columns: { gated: [1, 2], always: [2, 8] }, statistic: callCut, resamples: 50 });
  assert.equal(estimate, 0.7);
});

test('several figures share their resamples and equal those made one by one', () => {
  const columns = answers(3, 80);
  const both = pairedBootstraps({ columns, statistics: { difference: meanDifference, share }, resamples: 200 });
  assert.deepEqual(both.difference, pairedBootstrap({ columns, statistic: meanDifference, resamples: 200 }));
  assert.deepEqual(both.share, pairedBootstrap({ columns, statistic: share, resamples: 200 }));
});

test('strata are redrawn at their own size, and their totals are given beside the pooled ones', () => {
  const strata = ['hotpotqa', 'hotpotqa', 'hotpotqa', '2wiki'];
  const columns = { one: [1, 1, 1, 1] };
  pairedBootstrap({
    columns,
    strata,
    resamples: 50,
    statistic: (total, drawn) => {
      assert.deepEqual(
        drawn.strata.map(({ name, units }) => [name, units]),
        [
          ['hotpotqa', 3],
          ['2wiki', 1],
        ],
      );
      assert.equal(total.one, 4);
      return total.one;
    },
  });
});

test('repeated questions are drawn together: doubling every row under its id leaves the interval as it was', () => {
  const { a, b } = answers(4, 150);
  const single = pairedBootstrap({ columns: { a, b }, statistic: meanDifference, resamples: 500 });
  const ids = a.map((_, i) => `q${i}`);
  const doubled = { columns: { a: [...a, ...a], b: [...b, ...b] }, statistic: meanDifference, resamples: 500 };
  const clustered = pairedBootstrap({ ...doubled, clusters: [...ids, ...ids] });
  assert.deepEqual(clustered.distribution, single.distribution);
  // Taken for 300 different questions the interval would shrink by √2.
  const naive = pairedBootstrap(doubled);
  assert.ok(naive.standardError < 0.8 * clustered.standardError);
});

test('the standard error of a mean difference is the closed form', () => {
  const { a, b } = answers(5, 400, { same: 0.6 });
  const { standardError } = pairedBootstrap({ columns: { a, b }, statistic: meanDifference, resamples: 4_000 });
  const differences = a.map((x, i) => x - (b[i] as number));
  const mean = differences.reduce((sum, x) => sum + x, 0) / 400;
  const closed = Math.sqrt(differences.reduce((sum, x) => sum + (x - mean) ** 2, 0) / 400 / 400);
  // A standard deviation of 4,000 draws has a relative error of 1/√8000 = 1.1%: five of them.
  assert.ok(Math.abs(standardError / closed - 1) < 0.055, `${standardError} beside ${closed}`);
});

test('under the null the 95% interval misses about one time in twenty', () => {
  let missed = 0;
  for (let trial = 0; trial < 400; trial++) {
    const { low, high } = pairedBootstrap({
      columns: answers(1_000 + trial, 100),
      statistic: meanDifference,
      resamples: 199,
      seed: trial,
    });
    if (low > 0 || high < 0) missed++;
  }
  // 400 · 0.05 = 20 with standard deviation √(400·0.05·0.95) = 4.4; the percentile interval of 199 resamples is a little narrow: 5 to 36 is
  // −3.4 to +3.6 of them.
  assert.ok(missed >= 5 && missed <= 36, `${missed} of 400`);
});

test('P102: a p-value is never 0, and is printed as below what its resamples can show', () => {
  const boot = pairedBootstrap({ columns: { a: [1, 1, 1, 0], b: [0, 0, 0, 0] }, statistic: () => 1, resamples: 999 });
  assert.equal(pAbove(0, boot), 1 / 1_000);
  assert.equal(formatP(pAbove(0, boot), { resamples: 999 }), '< 1/1000');
  // A value at the bound speaks against the claim.
  assert.equal(pAbove(1, boot), 1);
  assert.equal(pBelow(1, boot), 1);
  assert.equal(formatP(0.036), '0.036');
  assert.equal(formatP(0.00021), '0.00021');
  assert.equal(formatP(2 / 10_001, { resamples: 10_000 }), '0.00020');
  assert.equal(formatP(Number.NaN), 'n/a');
});

test('the interval excludes a bound exactly when the p-value rejects it', () => {
  fc.assert(
    fc.property(
      fc.array(fc.oneof(fc.integer({ min: -20, max: 20 }), fc.constant(Number.NaN)), { minLength: 39, maxLength: 300 }),
      fc.integer({ min: -20, max: 20 }),
      (values, bound) => {
        const distribution = Float64Array.from(values);
        const { low, high } = percentileInterval(distribution, 0.95);
        // p is a quotient: at exactly 0.025 the comparison is of whole numbers, (1 + count)·40 ≤ 1 + B.
        const rejects = (p: number): boolean => Math.round(p * (1 + values.length)) * 40 <= 1 + values.length;
        assert.equal(low > bound, rejects(pAbove(bound, { distribution })));
        assert.equal(high < bound, rejects(pBelow(bound, { distribution })));
      },
    ),
    { numRuns: 500 },
  );
});

test('resamples in which the figure is 0/0 are counted, and widen the interval at both ends', () => {
  // 99 values at 95%: k = ⌊100·0.025⌋ = 2. With one undefined the ends move out by one rank.
  const values = Float64Array.from({ length: 99 }, (_, i) => i);
  assert.deepEqual(percentileInterval(values, 0.95), { low: 1, high: 97 });
  const one = values.with(50, Number.NaN);
  assert.deepEqual(percentileInterval(one, 0.95), { low: 0, high: 98 });
  const two = one.with(51, Number.NaN);
  assert.deepEqual(percentileInterval(two, 0.95), { low: Number.NaN, high: Number.NaN });
  assert.equal(summariseBootstrap(1, two).undefinedResamples, 2);

  const boot = pairedBootstrap({
    columns: { safe: [1, 0, 0], fired: [1, 0, 0] },
    statistic: (total) => total.safe / total.fired,
    resamples: 1_000,
  });
  // The one fired stop is left out of a resample with probability (2/3)³ = 0.296: standard deviation 14 in 1,000.
  assert.ok(Math.abs(boot.undefinedResamples - 296) < 70, `${boot.undefinedResamples}`);
  assert.ok(Number.isNaN(boot.low) && Number.isNaN(boot.high));
  assert.equal(boot.estimate, 1);
  assert.ok(pAbove(0.5, boot) > 0.2);
});

test('a figure that never varies is named degenerate', () => {
  const { degenerate, low, high } = pairedBootstrap({ columns: { a: [1, 0, 1], b: [1, 0, 1] }, statistic: meanDifference, resamples: 100 });
  assert.deepEqual({ degenerate, low, high }, { degenerate: true, low: 0, high: 0 });
});

test('columns, ids and resamples that do not fit are refused by name', () => {
  assert.throws(() => pairedBootstrap({ columns: { a: [] }, statistic: zero }), range('units: got 0, expected an integer of at least 1'));
  assert.throws(
    () => pairedBootstrap({ columns: { a: [1, 2], b: [1] }, statistic: zero }),
    range('columns.b: got 1 values, expected one for each of 2 units'),
  );
  assert.throws(
    () => pairedBootstrap({ columns: { a: [1, Number.NaN] }, statistic: zero }),
    range('columns.a[1]: got NaN, expected a finite number'),
  );
  assert.throws(
    () => pairedBootstrap({ columns: { a: [1, 2] }, clusters: ['q1'], statistic: zero }),
    range('clusters: got 1 values, expected one for each of 2 units'),
  );
  assert.throws(
    () => pairedBootstrap({ columns: { a: [1, 2] }, resamples: 38, statistic: zero }),
    range('resamples: got 38, expected at least 39 for a level of 0.95'),
  );
});

test('10,000 resamples of 1,000 questions stay quick', () => {
  const columns = answers(6, 1_000);
  const start = process.hrtime.bigint();
  pairedBootstrap({ columns, statistic: meanDifference });
  const seconds = Number(process.hrtime.bigint() - start) / 1e9;
  // About 0.25 s on one core; ten times that leaves room for a busy machine and still catches a slower order of growth.
  assert.ok(seconds < 2.5, `${seconds} s`);
});

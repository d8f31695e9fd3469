import assert from 'node:assert/strict';
import { test } from 'node:test';

import * as fc from 'fast-check';

import { random } from '../../src/core/random.js';
import { binomialAtLeast, learnThenTest } from '../../src/stats/index.js';

test('29 questions at delta 0.05 and 22 at 0.1 are the fewest that certify anything at a bar of 0.9', () => {
  // 0.9²⁸ = 0.0523, 0.9²⁹ = 0.0471; 0.9²¹ = 0.1094, 0.9²² = 0.0985.
  for (const [n, delta] of [
    [29, 0.05],
    [22, 0.1],
  ] as const) {
    const enough = learnThenTest({ agreeing: [n, n], n, bar: 0.9, delta });
    assert.equal(enough.certified, 1);
    assert.equal(enough.questionsNeeded, n);
    assert.ok(Math.abs(enough.certifiedP - 0.9 ** n) < 1e-14);
    const short = learnThenTest({ agreeing: [n - 1, n - 1], n: n - 1, bar: 0.9, delta });
    assert.deepEqual(short, { certified: -1, certifiedP: 1, failedP: short.failedP, agreeingNeeded: n, questionsNeeded: n });
    assert.ok((short.failedP as number) > delta);
  }
});

test('1,200 questions at a bar of 0.9 ask for 0.915 agreement', () => {
  // method.md §6; scipy.stats.binom.sf(1097, 1200, 0.9) = 0.0437, of 1096 0.0538 (scipy 1.17.1).
  const { agreeingNeeded } = learnThenTest({ agreeing: [], n: 1_200, bar: 0.9, delta: 0.05 });
  assert.equal(agreeingNeeded, 1_098);
  assert.equal(agreeingNeeded / 1_200, 0.915);
});

test('the walk stops at the first failure and never looks at what lies behind it', () => {
  const walk = learnThenTest({ agreeing: [100, 99, 97, 90, 100], n: 100, bar: 0.9, delta: 0.05 });
  assert.equal(walk.certified, 2);
  assert.equal(walk.failedP, binomialAtLeast(90, { n: 100, p: 0.9 }));
});

test('a step is certified exactly when its p-value is at most delta', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 300 }), fc.nat(300), fc.double({ min: 0.5, max: 0.99, noNaN: true }), (n, missing, bar) => {
      const count = Math.max(0, n - missing);
      const { certified, agreeingNeeded } = learnThenTest({ agreeing: [count], n, bar, delta: 0.05 });
      assert.equal(certified === 0, binomialAtLeast(count, { n, p: bar }) <= 0.05);
      assert.equal(certified === 0, count >= agreeingNeeded);
    }),
  );
});

test('under the null a step below the bar is certified in at most a share delta of the data sets', () => {
  const trials = 600;
  let broken = 0;
  for (let trial = 0; trial < trials; trial++) {
    const stream = random(trial, 'calibration questions');
    // Ten steps; a question agrees at a step when its number lies below that step's true agreement, so agreement is monotone as in τ. The
    // last five lie below the bar.
    const truth = [1, 0.98, 0.96, 0.94, 0.92, 0.899, 0.89, 0.88, 0.86, 0.8];
    const questions = Array.from({ length: 200 }, () => stream.float());
    const agreeing = truth.map((share) => questions.filter((u) => u < share).length);
    if (learnThenTest({ agreeing, n: 200, bar: 0.9, delta: 0.1 }).certified >= 5) broken++;
  }
  // 600 · 0.1 = 60 with standard deviation 7.3; 82 is three above.
  assert.ok(broken <= 82, `${broken} of ${trials}`);
});

test('counts above n are refused by place', () => {
  assert.throws(() => learnThenTest({ agreeing: [10, 11], n: 10, bar: 0.5, delta: 0.1 }), {
    name: 'RangeError',
    message: 'agreeing[1]: got 11, expected at most n = 10',
  });
});

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { random } from '../../src/core/random.js';
import {
  discordantDeviation,
  mcnemarExact,
  mcnemarPower,
  minimumDetectableEffect,
  normalPower,
  questionsForPower,
} from '../../src/stats/index.js';

test('the minimum detectable effect is 2.80 standard errors', () => {
  // scipy: norm.ppf(0.975) + norm.ppf(0.8) = 2.8015852181 (scipy 1.17.1).
  assert.ok(Math.abs(minimumDetectableEffect({ standardError: 1 }) - 2.8015852181) < 1e-10);
  assert.equal(minimumDetectableEffect({ standardError: 0 }), 0);
});

test('an effect of the minimum detectable size is found with the power it was made for', () => {
  const standardDeviation = 0.16;
  const effect = minimumDetectableEffect({ standardError: standardDeviation / Math.sqrt(1_000) });
  // The other side of the two-sided test adds P(Z < −1.96 − 2.80) = 1e-6.
  assert.ok(Math.abs(normalPower({ effect, standardDeviation, n: 1_000 }) - 0.8) < 2e-6);
});

test('the fewest questions are the first number that reaches the power', () => {
  for (const [effect, alternative, level] of [
    [0.02, 'larger', 0.025],
    [0.015, 'two-sided', 0.05],
    [-0.3, 'smaller', 0.05],
  ] as const) {
    const options = { effect, standardDeviation: 0.2, alternative, level };
    const n = questionsForPower(options);
    assert.ok(normalPower({ ...options, n }) >= 0.8 && (n === 1 || normalPower({ ...options, n: n - 1 }) < 0.8), `${n}`);
  }
  assert.equal(questionsForPower({ effect: -0.01, standardDeviation: 0.2, alternative: 'larger' }), Infinity);
});

test('the exact power of McNemar is the share of simulated experiments that reject', () => {
  const shares = { onlyA: 0.09, onlyB: 0.03 };
  const stream = random(13, 'power');
  let rejected = 0;
  for (let trial = 0; trial < 4_000; trial++) {
    const counts = { onlyA: 0, onlyB: 0 };
    for (let question = 0; question < 200; question++) {
      const u = stream.float();
      if (u < shares.onlyA) counts.onlyA++;
      else if (u < shares.onlyA + shares.onlyB) counts.onlyB++;
    }
    if (mcnemarExact(counts).p <= 0.05) rejected++;
  }
  // A share near 0.6 of 4,000 has a standard deviation of 0.0077: four of them.
  assert.ok(Math.abs(rejected / 4_000 - mcnemarPower({ n: 200, ...shares })) < 0.031, `${rejected}`);
});

test('without an effect the power of McNemar is its true level, at most the nominal one', () => {
  for (const [n, share] of [
    [5, 0.5],
    [50, 0.1],
    [300, 0.02],
    [1_000, 0.2],
  ] as const) {
    const level = mcnemarPower({ n, onlyA: share, onlyB: share });
    assert.ok(level <= 0.05, `${n}: ${level}`);
  }
  assert.equal(mcnemarPower({ n: 40, onlyA: 0, onlyB: 0 }), 0);
  // All discordance on one side: six of six reject (2/2⁶ = 0.031), five of five do not.
  assert.equal(mcnemarPower({ n: 6, onlyA: 1, onlyB: 0 }), 1);
  assert.equal(mcnemarPower({ n: 5, onlyA: 1, onlyB: 0 }), 0);
});

test('the deviation of one question follows from the discordant shares', () => {
  // 0.1 + 0.06 − 0.04² = 0.1584.
  assert.ok(Math.abs(discordantDeviation({ onlyA: 0.1, onlyB: 0.06 }) - Math.sqrt(0.1584)) < 1e-15);
  assert.throws(() => discordantDeviation({ onlyA: 0.7, onlyB: 0.5 }), {
    name: 'RangeError',
    message: 'onlyA + onlyB: got 1.2, expected at most 1',
  });
  assert.throws(() => mcnemarPower({ n: 5, onlyA: -0.1, onlyB: 0 }), {
    name: 'RangeError',
    message: 'onlyA: got -0.1, expected a share from 0 to 1',
  });
});

import assert from 'node:assert/strict';
import { test } from 'node:test';

import * as fc from 'fast-check';

import { random } from '../../src/core/random.js';
import { bootstrapTost, nonInferiority, pairedBootstrap, summariseBootstrap, tost, type Bootstrap } from '../../src/stats/index.js';

const smallNumber = fc.double({ min: -0.05, max: 0.05, noNaN: true });

test('P100: TOST rejects exactly when the 90% interval lies inside the margin, and p is the larger of the two', () => {
  fc.assert(
    fc.property(smallNumber, fc.double({ min: 1e-4, max: 0.05, noNaN: true }), (difference, standardError) => {
      const { p, pLower, pUpper, low, high, equivalent } = tost({ difference, standardError, margin: 0.02 });
      assert.equal(p, Math.max(pLower, pUpper));
      // Where an end falls on the margin to within rounding either answer is right.
      if (Math.min(Math.abs(low + 0.02), Math.abs(high - 0.02)) < 1e-12) return;
      assert.equal(equivalent, low > -0.02 && high < 0.02);
    }),
  );
});

test('P100: the bootstrap TOST rejects exactly when its 90% interval lies inside the margin', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: -30, max: 30 }), { minLength: 19, maxLength: 400 }), (values) => {
      const boot = summarised(values.map((value) => value / 1_000));
      const { p, pLower, pUpper, low, high, equivalent } = bootstrapTost(boot, { margin: 0.02 });
      assert.equal(p, Math.max(pLower, pUpper));
      assert.equal(equivalent, low > -0.02 && high < 0.02);
      // p ≤ 1/20 in whole numbers: (1 + count)·20 ≤ 1 + B.
      assert.equal(equivalent, Math.round(p * (1 + values.length)) * 20 <= 1 + values.length);
    }),
    { numRuns: 500 },
  );
});

test('non-inferiority holds exactly when p is at most 0.025', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: -25, max: 30 }), { minLength: 39, maxLength: 400 }), (values) => {
      const { p, nonInferior } = nonInferiority(
        summarised(
          values.map((value) => value / 1_000),
          0.95,
        ),
      );
      assert.equal(nonInferior, Math.round(p * (1 + values.length)) * 40 <= 1 + values.length);
    }),
    { numRuns: 500 },
  );
});

test('a loss of exactly the margin is not non-inferior', () => {
  const boot = summarised(
    Array.from({ length: 99 }, () => -0.02),
    0.95,
  );
  const { p, nonInferior, degenerate } = nonInferiority(boot);
  assert.deepEqual({ p, nonInferior, degenerate }, { p: 1, nonInferior: false, degenerate: true });
});

test('without variance TOST gives no verdict', () => {
  assert.deepEqual(tost({ difference: 0.01, standardError: 0, margin: 0.02 }), {
    p: Number.NaN,
    pLower: Number.NaN,
    pUpper: Number.NaN,
    low: 0.01,
    high: 0.01,
    equivalent: false,
    degenerate: true,
  });
});

test('at a true loss of the margin, non-inferiority and equivalence reject about as often as the level says', () => {
  let inferior = 0;
  let equivalent = 0;
  const trials = 400;
  for (let trial = 0; trial < trials; trial++) {
    const stream = random(trial, 'null at the margin');
    // Each question loses with 0.10 and gains with 0.08: a true difference of −0.02.
    const difference = Array.from({ length: 300 }, () => {
      const u = stream.float();
      return u < 0.1 ? -1 : u < 0.18 ? 1 : 0;
    });
    const boot = pairedBootstrap({
      columns: { difference },
      statistic: (total, { units }) => total.difference / units,
      resamples: 399,
      seed: trial,
    });
    if (nonInferiority(boot).nonInferior) inferior++;
    if (bootstrapTost(boot, { margin: 0.02 }).equivalent) equivalent++;
  }
  // Non-inferiority: 400 · 0.025 = 10, standard deviation 3.1; 22 is four above. Equivalence, with a standard error of 0.024 beside a
  // margin of 0.02, has nearly no power and must stay below its 20.
  assert.ok(inferior <= 22, `${inferior}`);
  assert.ok(equivalent <= 20, `${equivalent}`);
});

test('margins and levels that cannot be are refused by name', () => {
  const boot = summarised(Array.from({ length: 99 }, (_, i) => i));
  assert.throws(() => nonInferiority(boot, { margin: 0 }), {
    name: 'RangeError',
    message: 'margin: got 0, expected a finite number above 0',
  });
  assert.throws(() => bootstrapTost(boot, { margin: 1, level: 0.5 }), {
    name: 'RangeError',
    message: 'level: got 0.5, expected a number between 0 and 0.5, both excluded',
  });
  assert.throws(() => tost({ difference: 0, standardError: -1, margin: 1 }), {
    name: 'RangeError',
    message: 'standardError: got -1, expected a finite number of at least 0',
  });
});

function summarised(values: number[], level = 0.9): Bootstrap {
  return summariseBootstrap(0, Float64Array.from(values), level);
}

import assert from 'node:assert/strict';
import { test } from 'node:test';

import * as fc from 'fast-check';

import { random } from '../../src/core/random.js';
import {
  nonInferiority,
  nonInferiorityAt,
  bootstrapTostAt,
  normalCdf,
  normalTest,
  pairedBootstrap,
  pairedEffect,
  relativeNonInferiority,
  summariseBootstrap,
  superiority,
  type Bootstrap,
} from '../../src/stats/index.js';

function summarised(values: readonly number[], estimate = 0): Bootstrap {
  return summariseBootstrap(estimate, Float64Array.from(values), 0.95);
}

/** The whole error. */
function range(message: string): { name: string; message: string } {
  return { name: 'RangeError', message };
}

test('fewer loops are superior exactly when the interval lies below 0, which is p at most 0.025', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: -30, max: 5 }), { minLength: 39, maxLength: 300 }), (values) => {
      const boot = summarised(values);
      const { p, superior, high } = superiority(boot, { better: 'lower' });
      assert.equal(superior, high < 0);
      // p ≤ 1/40 in whole numbers.
      assert.equal(superior, Math.round(p * (1 + values.length)) * 40 <= 1 + values.length);
      // The same values turned round are superior where higher is better.
      const turned = superiority(summarised(values.map((value) => -value)), { better: 'higher' });
      assert.deepEqual([turned.p, turned.superior], [p, superior]);
    }),
    { numRuns: 300 },
  );
});

test('an effect is given in its unit, as a share of the reference, and standardised', () => {
  // Loops 5, 6, 6, 5 against 3, 6, 2, 5: differences −2, 0, −4, 0, mean −1.5, deviations −0.5, 1.5, −2.5, 1.5 whose squares sum to 11.
  const { questions, difference, relative, standardised } = pairedEffect({ system: [3, 6, 2, 5], reference: [5, 6, 6, 5] });
  assert.deepEqual({ questions, difference }, { questions: 4, difference: -1.5 });
  assert.ok(Math.abs(relative - -1.5 / 5.5) < 1e-15);
  assert.ok(Math.abs(standardised - -1.5 / Math.sqrt(11 / 3)) < 1e-15);
});

test('where nothing varies an effect has no standardised size, and nothing is superior at 0', () => {
  const { standardised, relative } = pairedEffect({ system: [1, 0, 1], reference: [0, -1, 0] });
  assert.ok(Number.isNaN(standardised));
  assert.equal(relative, -3);
  assert.ok(Number.isNaN(pairedEffect({ system: [1, 0], reference: [0, 0] }).relative));
  const { p, superior, degenerate } = superiority(summarised(Array.from({ length: 99 }, () => 0)), { better: 'lower' });
  assert.deepEqual({ p, superior, degenerate }, { p: 1, superior: false, degenerate: true });
});

test('non-inferiority names its reference and is repeated at 1, 1.5 and 2 points', () => {
  // 999 values from −0.0200 to +0.00997: the 25th smallest, the lower end, is −0.01928.
  const boot = summarised(Array.from({ length: 999 }, (_, i) => -0.02 + 0.00003 * i));
  assert.deepEqual(
    nonInferiorityAt(boot).map(({ margin, reference, nonInferior }) => [margin, reference, nonInferior]),
    [
      [0.01, 'full', false],
      [0.015, 'full', false],
      [0.02, 'full', true],
    ],
  );
  assert.equal(nonInferiority(boot, { reference: 'always-verify' }).reference, 'always-verify');
  // The 90% interval ends at the 50th smallest, −0.01853, and the 50th largest, +0.00847.
  assert.deepEqual(
    bootstrapTostAt(boot, { margins: [0.01, 0.019] }).map(({ margin, equivalent }) => [margin, equivalent]),
    [
      [0.01, false],
      [0.019, true],
    ],
  );
});

test('a relative margin is a share of the reference: 2 points pass, a tenth of an EM of 0.08 does not', () => {
  // 1,000 questions, 80 right under the reference, of which the system loses 8: a loss of 0.8 points, exactly a tenth.
  const reference = Array.from({ length: 1_000 }, (_, i) => (i < 80 ? 1 : 0));
  const system = reference.map((right, i) => (i < 8 ? 0 : right));
  const difference = pairedBootstrap({
    columns: { system, reference },
    statistic: (total, { units }) => (total.system - total.reference) / units,
    resamples: 999,
  });
  assert.equal(nonInferiority(difference).nonInferior, true);
  const relative = relativeNonInferiority({ system, reference, share: 0.1, resamples: 999 });
  assert.equal(relative?.nonInferior, false);
  // 72/1000 − 0.9·80/1000 = 0.
  assert.ok(Math.abs(relative.contrast) < 1e-15);
  assert.equal(relativeNonInferiority({ system, reference, share: 0.3, resamples: 999 })?.nonInferior, true);
});

test('there is no relative margin where the reference is never right', () => {
  assert.equal(relativeNonInferiority({ system: [0, 1, 0], reference: [0, 0, 0], share: 0.1, resamples: 99 }), null);
});

test('the normal test is the law of the estimate, and says nothing without variance', () => {
  const boot = { estimate: -0.002, standardError: 0.005 };
  const above = normalTest(boot, { bound: -0.02, claim: 'above' });
  assert.ok(Math.abs(above.z - 3.6) < 1e-12);
  assert.ok(Math.abs(above.p - normalCdf(-3.6)) < 1e-16);
  assert.ok(Math.abs(normalTest(boot, { bound: -0.02, claim: 'below' }).p - (1 - above.p)) < 1e-15);
  assert.equal(normalTest(boot, { claim: 'different' }).p, 2 * normalCdf(-0.4));
  assert.deepEqual(normalTest({ estimate: 0, standardError: 0 }, { claim: 'above' }), { z: Number.NaN, p: Number.NaN, degenerate: true });
});

test('columns, shares and bounds that cannot be are refused by name', () => {
  assert.throws(() => pairedEffect({ system: [], reference: [] }), range('system: got no value, expected at least one'));
  assert.throws(() => pairedEffect({ system: [1], reference: [] }), range('reference: got 0 values, expected one for each of 1 questions'));
  assert.throws(() => pairedEffect({ system: [Number.NaN], reference: [1] }), range('system[0]: got NaN, expected a finite number'));
  assert.throws(
    () => relativeNonInferiority({ system: [1], reference: [1], share: 0 }),
    range('share: got 0, expected a number between 0 and 1, both excluded'),
  );
  assert.throws(
    () => superiority(summarised(Array.from({ length: 99 }, (_, i) => i)), { better: 'higher', bound: Infinity }),
    range('bound: got Infinity, expected a finite number'),
  );
  assert.throws(
    () => normalTest({ estimate: Number.NaN, standardError: 1 }, { claim: 'above' }),
    range('estimate: got NaN, expected a finite number'),
  );
  assert.throws(
    () => normalTest({ estimate: 0, standardError: -1 }, { claim: 'above' }),
    range('standardError: got -1, expected a finite number of at least 0'),
  );
});

test('the interval of a relative contrast is that of its own column', () => {
  const stream = random(13, 'relative contrast');
  const system = Array.from({ length: 60 }, () => stream.int(2));
  const reference = Array.from({ length: 60 }, () => stream.int(2));
  const ours = relativeNonInferiority({ system, reference, share: 0.25, resamples: 399 });
  // A multiple of a quarter: every sum is exact.
  const contrast = system.map((right, i) => right - 0.75 * (reference[i] as number));
  const { low, high } = pairedBootstrap({ columns: { contrast }, statistic: (total, { units }) => total.contrast / units, resamples: 399 });
  assert.deepEqual([ours?.low, ours?.high], [low, high]);
});

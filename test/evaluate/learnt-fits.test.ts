import assert from 'node:assert/strict';
import { test } from 'node:test';
import { random } from '../../src/core/random.js';
import { fitLogistic } from '../../src/evaluate/logistic-fit.js';
import { fitTwoLayer } from '../../src/evaluate/two-layer-fit.js';
import { pythonOrSkip, runPython } from '../support/python.js';

/** Rows of three features of very different sizes, and targets that follow them with noise. */
function noisy(count: number): { rows: number[][]; targets: boolean[] } {
  const stream = random(7, 'noisy rows');
  const rows = Array.from({ length: count }, () => [stream.int(20), stream.float(), 1000 + 50 * stream.float()]);
  const targets = rows.map(
    ([a = 0, b = 0, c = 0]) => 1 / (1 + Math.exp(-(0.2 * (a - 10) + 3 * (b - 0.5) - (c - 1025) / 30))) > stream.float(),
  );
  return { rows, targets };
}

test('logistic weights are those of statsmodels without a penalty and of scipy with one', (t) => {
  const python = pythonOrSkip(t, ['statsmodels', 'scipy']);
  if (python === undefined) return;
  const { rows, targets } = noisy(400);
  for (const l2 of [0, 1, 25]) {
    const expected = runPython(python, 'logistic_oracle.py', [rows, targets, l2]) as number[];
    // Both sides end at a slope of 1e-8 or less, with curvatures of ten and more: 1e-7 leaves room for that alone.
    for (const [at, weight] of fitLogistic(rows, targets, { l2 }).weights.entries()) {
      assert.ok(Math.abs(weight - (expected[at] as number)) < 1e-7, `l2 ${l2}, weight ${at}: ${weight} for ${expected[at]}`);
    }
  }
});

test('the bias of a fit without a useful feature is the log-odds of the targets, and a constant feature has no weight', () => {
  const rows = Array.from({ length: 8 }, () => [0.1]);
  const targets = [true, true, false, false, false, false, false, false];
  const { weights, probability } = fitLogistic(rows, targets);
  // ln(2/6); Newton ends at a slope below 8e-10, which on a curvature of 8 · 0.25 · 0.75 = 1.5 is below 1e-9.
  assert.ok(Math.abs((weights[0] as number) - Math.log(2 / 6)) < 1e-9);
  assert.equal(weights[1], 0);
  assert.ok(Math.abs(probability([0.1]) - 0.25) < 1e-9);
});

test('separable classes have finite weights under the penalty', () => {
  const { weights, probability } = fitLogistic([[0], [1], [2], [3]], [false, false, true, true]);
  assert.ok(weights.every(Number.isFinite));
  assert.ok(probability([0]) < 0.5 && probability([3]) > 0.5);
});

test('the two-layer network learns what no line separates, the same for the same seed', () => {
  const rows = [[0, 0], [0, 1], [1, 0], [1, 1]]; // prettier-ignore
  const targets = [false, true, true, false];
  const fitted = fitTwoLayer(rows, targets, { epochs: 500 });
  for (const [at, row] of rows.entries()) assert.equal(fitted(row) > 0.5, targets[at]);
  const again = fitTwoLayer(rows, targets, { epochs: 500 });
  assert.deepEqual(rows.map(again), rows.map(fitted));
  assert.notDeepEqual(rows.map(fitTwoLayer(rows, targets, { epochs: 500, seed: 14 })), rows.map(fitted));
});

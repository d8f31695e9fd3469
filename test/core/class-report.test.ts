import assert from 'node:assert/strict';
import { test } from 'node:test';
import { classReport, labelSaid, macroF1 } from '../../src/core/class-report.js';

const close = (got: number | null, expected: number): void =>
  assert.ok(got !== null && Math.abs(got - expected) < 1e-12, `${got} is not ${expected}`);

test('confusion, F1 and P(gold label) are those of the definition', () => {
  // Gold match, match, match, partial, partial, null; said match, match, partial, partial, null, null.
  const report = classReport([
    { gold: 0, probabilities: [0.8, 0.1, 0.1] },
    { gold: 0, probabilities: [0.6, 0.3, 0.1] },
    { gold: 0, probabilities: [0.1, 0.7, 0.2] },
    { gold: 1, probabilities: [0.2, 0.5, 0.3] },
    { gold: 1, probabilities: [0.1, 0.3, 0.6] },
    { gold: 2, probabilities: [0, 0.1, 0.9] },
  ]);
  assert.deepEqual(report.confusion, [
    [2, 1, 0],
    [0, 1, 1],
    [0, 0, 1],
  ]);
  assert.equal(report.rows, 6);
  close(report.accuracy, 4 / 6);
  // F1 = 2·right / (rows + said): match 4/5, partial 2/4, null 2/3.
  close(report.f1.match, 4 / 5);
  close(report.f1.partial, 2 / 4);
  close(report.f1.null, 2 / 3);
  close(report.macro_f1, (4 / 5 + 2 / 4 + 2 / 3) / 3);
  close(report.p_gold.match, (0.8 + 0.6 + 0.1) / 3);
  close(report.p_gold.partial, (0.5 + 0.3) / 2);
  close(report.p_gold.null, 0.9);
});

test('a class without rows is left out of the mean, and no rows at all are no number', () => {
  const report = classReport([
    { gold: 0, probabilities: [1, 0, 0] },
    { gold: 1, probabilities: [0, 1, 0] },
  ]);
  assert.deepEqual([report.macro_f1, report.f1.null, report.p_gold.null], [1, null, null]);
  const empty = classReport([]);
  assert.deepEqual([empty.rows, empty.accuracy, empty.macro_f1, empty.f1], [0, null, null, { match: null, partial: null, null: null }]);
});

test('weights count instead of rows', () => {
  const { confusion, accuracy } = classReport([
    { gold: 0, probabilities: [1, 0, 0], weight: 3 },
    { gold: 2, probabilities: [1, 0, 0], weight: 0.5 },
  ]);
  assert.deepEqual(confusion, [
    [3, 0, 0],
    [0, 0, 0],
    [0.5, 0, 0],
  ]);
  close(accuracy, 3 / 3.5);
});

test('a tie is no match', () => {
  assert.equal(labelSaid([0.4, 0.4, 0.2]), 1);
  assert.equal(labelSaid([0.4, 0.2, 0.4]), 2);
  assert.equal(labelSaid([1 / 3, 1 / 3, 1 / 3]), 2);
  assert.equal(labelSaid([-0.1, -3, -4]), 0);
});

test('macro-F1 counts a class that was never said as 0', () => {
  close(
    macroF1([
      [1, 0, 0],
      [1, 0, 0],
      [0, 0, 0],
    ]),
    // Match 2·1 / (1 + 2), partial 0.
    (2 / 3 + 0) / 2,
  );
});

import assert from 'node:assert/strict';
import { test } from 'node:test';

import * as fc from 'fast-check';

import { holm, holmCells, holmFamily } from '../../src/stats/index.js';

const pValues = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 1, maxLength: 12 });

test('holm steps down from the smallest p-value', () => {
  // 0.005·4 = 0.02, 0.01·3 = 0.03, 0.03·2 = 0.06, then 0.04·1 is raised to 0.06.
  const { adjusted, rejected } = holm([0.01, 0.04, 0.03, 0.005]);
  assert.deepEqual(adjusted, [0.03, 0.06, 0.06, 0.02]);
  assert.deepEqual(rejected, [true, false, false, true]);
});

test('holm keeps the order of the p-values, never makes one smaller, and lies below Bonferroni', () => {
  fc.assert(
    fc.property(pValues, (given) => {
      const { adjusted } = holm(given);
      for (const [i, p] of given.entries()) {
        const ours = adjusted[i] as number;
        assert.ok(ours >= p && ours <= Math.min(1, p * given.length));
        for (const [j, q] of given.entries()) if (p < q) assert.ok(ours <= (adjusted[j] as number));
      }
    }),
  );
});

test('lowering one p-value never loses a rejection elsewhere', () => {
  fc.assert(
    fc.property(pValues, fc.nat(), (given, pick) => {
      const before = holm(given).rejected;
      const lowered = given.with(pick % given.length, (given[pick % given.length] as number) / 2);
      const after = holm(lowered).rejected;
      for (const [i, was] of before.entries()) if (was) assert.equal(after[i], true);
    }),
  );
});

test('a family leaves degenerate cells out of its size and names them', () => {
  const family = holmFamily([
    { name: '2Wiki', p: 0.02 },
    { name: 'Bamboogle', p: 0.001, degenerate: true },
    { name: 'HotpotQA', p: 0.04 },
  ]);
  assert.deepEqual(family, {
    tests: [
      { name: '2Wiki', p: 0.02, adjusted: 0.04, rejected: true },
      { name: 'HotpotQA', p: 0.04, adjusted: 0.04, rejected: true },
    ],
    leftOut: ['Bamboogle'],
  });
});

test('a cell passes where both its endpoints reject, and is not judged where one was left out', () => {
  // HALT's rule: non-inferiority and loops. A family of five: 0.004·5, 0.006·4, 0.008·3, 0.02·2, then 0.2.
  const { family, cells } = holmCells([
    { cell: '2Wiki', endpoint: 'NI', p: 0.004 },
    { cell: '2Wiki', endpoint: 'loops', p: 0.006 },
    { cell: 'HotpotQA', endpoint: 'NI', p: 0.2 },
    { cell: 'HotpotQA', endpoint: 'loops', p: 0.008 },
    { cell: 'MuSiQue', endpoint: 'NI', p: Number.NaN, degenerate: true },
    { cell: 'MuSiQue', endpoint: 'loops', p: 0.02 },
  ]);
  assert.deepEqual(cells, [
    { cell: '2Wiki', passes: true },
    { cell: 'HotpotQA', passes: false },
    { cell: 'MuSiQue', passes: null },
  ]);
  assert.deepEqual(family.leftOut, ['MuSiQue, NI']);
  assert.deepEqual(
    family.tests.map(({ name, rejected }) => [name, rejected]),
    [
      ['2Wiki, NI', true],
      ['2Wiki, loops', true],
      ['HotpotQA, NI', false],
      ['HotpotQA, loops', true],
      ['MuSiQue, loops', true],
    ],
  );
});

test('a p-value that is none is refused by place', () => {
  assert.throws(() => holm([0.1, Number.NaN]), { name: 'RangeError', message: 'pValues[1]: got NaN, expected a number from 0 to 1' });
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { bestAssignment, matchTargets } from '../../distill/slot-matching.js';

function permutations(n: number): number[][] {
  if (n === 0) return [[]];
  return permutations(n - 1).flatMap((rest) => Array.from({ length: n }, (_, at) => [...rest.slice(0, at), n - 1, ...rest.slice(at)]));
}

test('the assignment has the largest sum of all permutations', () => {
  fc.assert(
    fc.property(
      fc
        .integer({ min: 1, max: 5 })
        .chain((n) => fc.tuple(fc.constant(n), fc.array(fc.integer({ min: -20, max: 20 }), { minLength: n * n, maxLength: n * n }))),
      ([n, cells]) => {
        const score = Float64Array.from(cells);
        const total = (assigned: readonly number[]): number =>
          assigned.reduce((sum, claim, slot) => sum + (cells[slot * n + claim] as number), 0);
        const found = bestAssignment(score, n);
        assert.deepEqual(
          found.toSorted((a, b) => a - b),
          Array.from({ length: n }, (_, at) => at),
        );
        assert.equal(total(found), Math.max(...permutations(n).map(total)));
      },
    ),
    { seed: 13 },
  );
});

test('claim order wins where all assignments are equal', () => {
  for (const n of [1, 2, 5, 8])
    assert.deepEqual(
      bestAssignment(new Float64Array(n * n), n),
      Array.from({ length: n }, (_, at) => at),
    );
});

test('targets move to the slots whose drafts they fit; slots without a claim stay empty', () => {
  const batch = {
    size: 2,
    questions: new Float32Array(4),
    // Question 1: claims (1,0) and (0,1); question 2: one claim.
    targets: Float32Array.of(1, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0),
    mask: Float32Array.of(1, 1, 0, 1, 0, 0),
    counts: Int32Array.of(1, 0),
  };
  const drafts = Float32Array.of(0, 1, 1, 0, 0, 0, 1, 0, 0, 1, 0, 0);
  assert.deepEqual([...matchTargets(batch, drafts, 3, 2).targets], [0, 1, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0]);
});

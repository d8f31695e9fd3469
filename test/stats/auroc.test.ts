import assert from 'node:assert/strict';
import { test } from 'node:test';

import * as fc from 'fast-check';

import { random } from '../../src/core/random.js';
import { auroc, bootstrapAuroc } from '../../src/stats/index.js';

test('auroc counts the pairs in which the positive scores higher, a tie as a half', () => {
  // Pairs (positive, negative): 3>1, 3>2, 2>1, 2=2 → 3.5 of 4.
  assert.equal(auroc({ scores: [3, 2, 1, 2], positive: [1, 1, 0, 0] }), 0.875);
  assert.ok(Number.isNaN(auroc({ scores: [1, 2], positive: [true, true] })));
});

test('auroc equals the plain count over all pairs', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.integer({ min: 0, max: 6 }), fc.boolean()), { minLength: 2, maxLength: 40 }), (cases) => {
      let pairs = 0;
      let won = 0;
      for (const [high, up] of cases) {
        for (const [low, down] of cases) {
          if (!up || down) continue;
          pairs++;
          won += high > low ? 1 : high === low ? 0.5 : 0;
        }
      }
      const ours = auroc({ scores: cases.map(([score]) => score), positive: cases.map(([, up]) => up) });
      assert.deepEqual(ours, won / pairs);
    }),
  );
});

test('bootstrapAuroc draws whole questions: every hop twice under its question leaves the distribution as it was', () => {
  const stream = random(13, 'hops');
  const positive = Array.from({ length: 120 }, () => stream.int(2));
  const scores = positive.map((label) => label + 2 * stream.float());
  const ids = positive.map((_, i) => i);
  const single = bootstrapAuroc({ scores, positive, resamples: 300 });
  const twice = { scores: [...scores, ...scores], positive: [...positive, ...positive], resamples: 300 };
  assert.deepEqual(bootstrapAuroc({ ...twice, clusters: [...ids, ...ids] }).distribution, single.distribution);
  assert.ok(bootstrapAuroc(twice).standardError < 0.8 * single.standardError);
  assert.equal(single.estimate, auroc({ scores, positive }));
  assert.ok(single.low < single.estimate && single.estimate < single.high);
});

test('scores and labels that do not fit are refused by place', () => {
  assert.throws(() => auroc({ scores: [1, 2], positive: [1] }), {
    name: 'RangeError',
    message: 'positive: got 1 values, expected one for each of 2 scores',
  });
  assert.throws(() => auroc({ scores: [1, Number.NaN], positive: [1, 0] }), {
    name: 'RangeError',
    message: 'scores[1]: got NaN, expected a finite number',
  });
  assert.throws(() => auroc({ scores: [1, 2], positive: [1, 2] }), {
    name: 'RangeError',
    message: 'positive[1]: got 2, expected true, false, 1 or 0',
  });
});

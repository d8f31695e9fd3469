import fc from 'fast-check';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AGGREGATIONS, type Aggregation, cosine, createMargin } from '../../../runtime/index.js';
import { roundMargin } from '../../../src/core/units.js';

function unit(values: readonly number[]): Float32Array {
  const length = Math.sqrt(values.reduce((sum, value) => sum + value * value, 0));
  return Float32Array.from(values, (value) => value / length);
}

/** Vectors of four numbers, none near zero length. */
const vector = fc
  .array(fc.integer({ min: -20, max: 20 }), { minLength: 4, maxLength: 4 })
  .filter((one) => one.some((x) => x !== 0))
  .map(unit);
const targets = fc.array(vector, { minLength: 1, maxLength: 4 });
const loops = fc.array(fc.array(vector, { maxLength: 4 }), { maxLength: 6 });

/** The definition itself, from all sentences at once. */
function naive(target: Float32Array, sentences: readonly Float32Array[], aggregation: Aggregation): number {
  if (sentences.length === 0) return 2;
  const cosines = sentences.map((one) => cosine(target, one)).toSorted((a, b) => b - a);
  if (aggregation === 'max') return roundMargin(1 - (cosines[0] as number));
  if (aggregation === 'top2') {
    const two = cosines.slice(0, 2);
    return roundMargin(1 - two.reduce((sum, one) => sum + one, 0) / two.length);
  }
  const three = cosines.slice(0, 3);
  const weights = three.map((one) => Math.exp(one / 0.05));
  const total = weights.reduce((sum, one) => sum + one, 0);
  return roundMargin(1 - three.reduce((sum, one, at) => sum + (one * (weights[at] as number)) / total, 0));
}

for (const aggregation of AGGREGATIONS) {
  for (const over of ['all', 'any'] as const) {
    test(`loop by loop, ${aggregation} over ${over} equals the margin computed anew from all sentences`, () => {
      fc.assert(
        fc.property(targets, loops, (claims, evidence) => {
          const tracker = createMargin({ targets: claims, aggregation, over });
          for (const [at, newSentences] of evidence.entries()) {
            const { margin, perClaim } = tracker.observe(newSentences);
            const expected = claims.map((claim) => naive(claim, evidence.slice(0, at + 1).flat(), aggregation));
            for (const [claim, value] of perClaim.entries()) {
              // The rounding to 1e-6 may fall to the other side of a half when sums are formed in another order.
              assert.ok(Math.abs(value - (expected[claim] as number)) <= 1.000001e-6);
              assert.equal(value, roundMargin(value));
              assert.ok(value >= 0 && value <= 2);
            }
            assert.equal(margin, over === 'all' ? Math.max(...perClaim) : Math.min(...perClaim));
          }
        }),
      );
    });
  }
}

test('the order of the sentences inside a loop, and how they fall into loops, changes nothing', () => {
  fc.assert(
    fc.property(targets, loops, fc.constantFrom(...AGGREGATIONS), (claims, evidence, aggregation) => {
      const [inLoops, atOnce] = [createMargin({ targets: claims, aggregation }), createMargin({ targets: claims, aggregation })];
      for (const sentences of evidence) inLoops.observe(sentences);
      assert.deepEqual(inLoops.state, atOnce.observe(evidence.flat().toReversed()));
    }),
  );
});

test('under max a margin never rises as evidence grows', () => {
  fc.assert(
    fc.property(targets, loops, (claims, evidence) => {
      const tracker = createMargin({ targets: claims });
      let before = tracker.state;
      for (const sentences of evidence) {
        const now = tracker.observe(sentences);
        assert.ok((now.margin as number) <= (before.margin as number));
        for (const [at, value] of now.perClaim.entries()) assert.ok(value <= (before.perClaim[at] as number));
        before = now;
      }
    }),
  );
});

test('under top2 and softmax3 a margin can rise: a second, worse sentence pulls the mean down', () => {
  const [target, other] = [unit([1, 0]), unit([0, 1])];
  for (const aggregation of ['top2', 'softmax3'] as const) {
    const tracker = createMargin({ targets: [target], aggregation, temperature: 1 });
    assert.equal(tracker.observe([target]).margin, 0);
    assert.ok((tracker.observe([other]).margin as number) > 0.1, aggregation);
  }
});

test('by hand: cosines 0.6, 0.8 and 0 with the claim', () => {
  const claim = unit([1, 0]);
  const sentences = [unit([3, 4]), unit([4, 3]), unit([0, 1])];
  const margin = (aggregation: Aggregation): number | null => createMargin({ targets: [claim], aggregation }).observe(sentences).margin;
  assert.equal(margin('max'), 0.2);
  assert.equal(margin('top2'), 0.3);
  // Python: e = [math.exp((c - .8) / .05) for c in (.8, .6, 0)]; 1 - (.8 * e[0] + .6 * e[1]) / sum(e) = 0.203597...
  assert.equal(margin('softmax3'), 0.203597);
});

test('a claim without any evidence has margin 2, and without claims there is no margin', () => {
  assert.deepEqual(createMargin({ targets: [unit([1, 0])] }).state, { margin: 2, perClaim: [2] });
  assert.deepEqual(createMargin({ targets: [unit([1, 0])] }).observe([]), { margin: 2, perClaim: [2] });
  assert.deepEqual(createMargin({ targets: [] }).observe([unit([1, 0])]), { margin: null, perClaim: [] });
});

test('each sentence is compared once with each claim, in the loop that brought it', () => {
  const tracker = createMargin({ targets: [unit([1, 0]), unit([0, 1])] });
  const many = Array.from({ length: 50 }, (_, at) => unit([1, at]));
  tracker.observe(many);
  assert.equal(tracker.products, 100);
  tracker.observe(many.slice(0, 3));
  assert.equal(tracker.products, 106);
});

test('identical vectors have margin exactly 0, opposite ones exactly 2', () => {
  fc.assert(
    fc.property(vector, (one) => {
      assert.equal(createMargin({ targets: [one] }).observe([one]).margin, 0);
      assert.equal(createMargin({ targets: [one] }).observe([one.map((x) => -x)]).margin, 2);
    }),
  );
});

test('P28: with every cosine pressed into 0.7 to 1, as with E5, the order of the margins stays', () => {
  fc.assert(
    fc.property(vector, fc.array(vector, { minLength: 2, maxLength: 8 }), (claim, sentences) => {
      // One more axis that all vectors share: cosine c becomes 0.85 + 0.15 c.
      const pressed = (one: Float32Array): Float32Array => Float32Array.from([...one.map((x) => x * Math.sqrt(0.15)), Math.sqrt(0.85)]);
      const margins = (target: Float32Array, all: Float32Array[]): number[] =>
        all.map((one) => createMargin({ targets: [target] }).observe([one]).margin as number);
      const [plain, shifted] = [margins(claim, sentences), margins(pressed(claim), sentences.map(pressed))];
      for (const [at, value] of plain.entries()) {
        // Both roundings are to 1e-6, and 32-bit components carry 1e-7.
        assert.ok(Math.abs((shifted[at] as number) - 0.15 * value) < 3e-6);
      }
    }),
  );
});

test('refuses vectors of another length, numbers that are none, and a temperature of 0', () => {
  const tracker = createMargin({ targets: [unit([1, 0])] });
  assert.throws(() => tracker.observe([unit([1, 0, 0])]), {
    name: 'RangeError',
    message: 'cosine: got vectors of 2 and 3 numbers, expected the same length',
  });
  assert.throws(() => tracker.observe([Float32Array.of(NaN, 0)]), {
    name: 'RangeError',
    message: 'cosine: got NaN, expected a finite number',
  });
  assert.throws(() => createMargin({ targets: [], temperature: 0 }), {
    name: 'RangeError',
    message: 'temperature: got 0, expected a positive number',
  });
});

import assert from 'node:assert/strict';
import { test } from 'node:test';

import * as fc from 'fast-check';

import { binomialAtMost, mcnemarExact, newcombePaired, normalCdf, wilson } from '../../src/stats/index.js';

// HALT, Table 10: n, full correct, full-only, HALT-only → Δ and its interval in points, to one decimal, and p, to three.
const table10 = [
  { cell: '2Wiki generated', n: 1_000, full: 182, onlyFull: 11, onlyHalt: 14, printed: [0.3, -0.7, 1.3], p: 0.69 },
  { cell: '2Wiki gold', n: 1_000, full: 184, onlyFull: 15, onlyHalt: 30, printed: [1.5, 0.2, 2.8], p: 0.036 },
  { cell: 'HotpotQA generated', n: 1_000, full: 306, onlyFull: 17, onlyHalt: 16, printed: [-0.1, -1.2, 1.0], p: 1 },
  { cell: 'MuSiQue generated', n: 1_000, full: 76, onlyFull: 1, onlyHalt: 0, printed: [-0.1, -0.5, 0.3], p: 1 },
] as const;

for (const { cell, n, full, onlyFull, onlyHalt, printed, p } of table10) {
  test(`P99: ${cell} of HALT's Table 10 comes back from its counts`, () => {
    const { difference, low, high } = newcombePaired({ n, bothRight: full - onlyFull, onlyA: onlyHalt, onlyB: onlyFull });
    assert.deepEqual(
      [difference, low, high].map((share) => Number((100 * share).toFixed(1))),
      printed,
    );
    assert.equal(Number(mcnemarExact({ onlyA: onlyHalt, onlyB: onlyFull }).p.toFixed(3)), p);
  });
}

test('P99: a paired difference is found where an unpaired z overlooks it', () => {
  // 2Wiki gold: 18.4% and 19.9% right. Unpaired: se = √(0.184·0.816/1000 + 0.199·0.801/1000) = 0.0176, z = 0.015/0.0176 = 0.85.
  const z = 0.015 / Math.sqrt((0.184 * 0.816 + 0.199 * 0.801) / 1_000);
  const unpaired = 2 * normalCdf(-z);
  const { p } = mcnemarExact({ onlyA: 30, onlyB: 15 });
  assert.ok(unpaired > 0.39 && unpaired < 0.4, `${unpaired}`);
  assert.ok(p < 0.05);
  assert.ok(newcombePaired({ n: 1_000, bothRight: 169, onlyA: 30, onlyB: 15 }).low > 0);
});

test('mcnemarExact is twice the smaller tail in plain arithmetic, and 1 where nothing differs', () => {
  // 1 against 4: 2·(1 + 5)/2⁵ = 0.375; 0 against 5: 2/2⁵ = 0.0625.
  assert.ok(Math.abs(mcnemarExact({ onlyA: 1, onlyB: 4 }).p - 0.375) < 1e-14);
  assert.ok(Math.abs(mcnemarExact({ onlyA: 5, onlyB: 0 }).p - 0.0625) < 1e-14);
  assert.equal(mcnemarExact({ onlyA: 0, onlyB: 0 }).p, 1);
});

test('under the null mcnemarExact rejects at most the level', () => {
  // Exact, no simulation: given the discordant total, A's share is binomial at one half; the tail's own rejections are summed.
  for (const total of [1, 5, 6, 25, 60]) {
    let rejected = 0;
    for (let onlyA = 0; onlyA <= total; onlyA++) {
      if (mcnemarExact({ onlyA, onlyB: total - onlyA }).p > 0.05) continue;
      rejected += binomialAtMost(onlyA, { n: total, p: 0.5 }) - binomialAtMost(onlyA - 1, { n: total, p: 0.5 });
    }
    assert.ok(rejected <= 0.05 + 1e-12, `${total} discordant: ${rejected}`);
  }
});

test('newcombePaired holds its difference, mirrors when A and B change places, and stays in [-1, 1]', () => {
  fc.assert(
    fc.property(fc.nat(50), fc.nat(50), fc.nat(50), fc.integer({ min: 1, max: 50 }), (bothRight, onlyA, onlyB, neither) => {
      const n = bothRight + onlyA + onlyB + neither;
      const { difference, low, high } = newcombePaired({ n, bothRight, onlyA, onlyB });
      assert.ok(low <= difference && difference <= high);
      assert.ok(low >= -1 - 1e-12 && high <= 1 + 1e-12);
      const mirrored = newcombePaired({ n, bothRight, onlyA: onlyB, onlyB: onlyA });
      // The same sums in another order: rounding alone.
      assert.ok(Math.abs(mirrored.low + high) < 1e-12 && Math.abs(mirrored.high + low) < 1e-12);
    }),
  );
});

test('the Wilson interval ends exactly at 0 and 1 where nothing or everything succeeded', () => {
  assert.equal(wilson({ successes: 0, n: 20 }).low, 0);
  assert.equal(wilson({ successes: 20, n: 20 }).high, 1);
});

test('counts that cannot be are refused by name', () => {
  assert.throws(() => newcombePaired({ n: 10, bothRight: 8, onlyA: 2, onlyB: 1 }), {
    name: 'RangeError',
    message: 'n: got 10, expected at least bothRight + onlyA + onlyB = 11',
  });
  assert.throws(() => mcnemarExact({ onlyA: 1.5, onlyB: 1 }), {
    name: 'RangeError',
    message: 'onlyA: got 1.5, expected an integer of at least 0',
  });
  assert.throws(() => wilson({ successes: 3, n: 2 }), { name: 'RangeError', message: 'successes: got 3, expected at most n = 2' });
});

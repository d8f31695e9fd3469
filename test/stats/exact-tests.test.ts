import assert from 'node:assert/strict';
import { test } from 'node:test';

import * as fc from 'fast-check';

import {
  binomialAt,
  binomialSelection,
  binomialTest,
  clopperPearson,
  countPairs,
  discordanceWarning,
  learnThenTest,
  mcnemarExact,
} from '../../src/stats/index.js';

/** The whole error. */
function range(message: string): { name: string; message: string } {
  return { name: 'RangeError', message };
}

test('under the null the binomial test rejects at most the level, one-sided and two-sided', () => {
  // Exact, no simulation: the probabilities of all rejecting outcomes are summed.
  for (const n of [1, 7, 20, 75, 200]) {
    for (const p of [0.02, 0.3, 0.5, 0.9]) {
      for (const alternative of ['two-sided', 'greater', 'less'] as const) {
        let rejected = 0;
        for (let successes = 0; successes <= n; successes++) {
          if (binomialTest({ successes, n, p, alternative }).p <= 0.05) rejected += binomialAt(successes, { n, p });
        }
        assert.ok(rejected <= 0.05 + 1e-12, `${alternative}, n ${n}, p ${p}: ${rejected}`);
      }
    }
  }
});

test('at one half the two-sided binomial test is the exact McNemar test', () => {
  fc.assert(
    fc.property(fc.nat(60), fc.nat(60), (onlyA, onlyB) => {
      const { p } = binomialTest({ successes: onlyA, n: onlyA + onlyB, p: 0.5 });
      assert.ok(Math.abs(p - mcnemarExact({ onlyA, onlyB }).p) < 1e-12, `${onlyA}/${onlyB}: ${p}`);
    }),
  );
});

test('the Clopper–Pearson interval covers the true share at least as often as it says, and ends at 0 and 1', () => {
  for (const n of [1, 10, 60]) {
    const ends = Array.from({ length: n + 1 }, (_, successes) => clopperPearson({ successes, n }));
    for (const p of [0.01, 0.2, 0.5, 0.83]) {
      const covered = ends.reduce((sum, { low, high }, k) => sum + (low <= p && p <= high ? binomialAt(k, { n, p }) : 0), 0);
      assert.ok(covered >= 0.95 - 1e-12, `n ${n}, p ${p}: ${covered}`);
    }
  }
  assert.equal(clopperPearson({ successes: 0, n: 9 }).low, 0);
  assert.equal(clopperPearson({ successes: 9, n: 9 }).high, 1);
  // No success of 9: 1 − 0.025^(1/9).
  assert.ok(Math.abs(clopperPearson({ successes: 0, n: 9 }).high - (1 - 0.025 ** (1 / 9))) < 1e-14);
});

test('binomial selection shares delta among its candidates, and one candidate is the first step of Learn-then-Test', () => {
  // 29 of 29 certify at 0.05 (0.9²⁹ = 0.0471), not where two candidates share it (0.9³⁶ = 0.0225 does).
  assert.deepEqual(binomialSelection({ agreeing: [29], n: 29, bar: 0.9, delta: 0.05 }).certified, [true]);
  assert.deepEqual(binomialSelection({ agreeing: [29, 29], n: 29, bar: 0.9, delta: 0.05 }).certified, [false, false]);
  assert.deepEqual(binomialSelection({ agreeing: [30, 36], n: 36, bar: 0.9, delta: 0.05 }).certified, [false, true]);
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 200 }), fc.nat(200), (n, missing) => {
      const agreeing = [Math.max(0, n - missing)];
      const walk = learnThenTest({ agreeing, n, bar: 0.9, delta: 0.1 });
      const chosen = binomialSelection({ agreeing, n, bar: 0.9, delta: 0.1 });
      assert.equal(chosen.certified[0], walk.certified === 0);
      assert.equal(chosen.agreeingNeeded, walk.agreeingNeeded);
    }),
  );
});

test('pairs are counted from two columns of right and wrong', () => {
  assert.deepEqual(countPairs({ system: [1, 1, 0, 0, 1], reference: [1, 0, 1, 0, 0] }), { n: 5, bothRight: 1, onlyA: 2, onlyB: 1 });
});

test('fewer than 20 discordant questions are said in words, 20 are not', () => {
  assert.equal(discordanceWarning({ onlyA: 8, onlyB: 12 }), null);
  assert.equal(
    discordanceWarning({ onlyA: 8, onlyB: 11 }),
    'only 19 discordant questions (8 for the system, 11 for the reference), fewer than 20: intervals and tests may err more often than they say; ' +
      'read the exact McNemar test and the counts',
  );
  assert.match(discordanceWarning({ onlyA: 0, onlyB: 1 }) as string, /^only 1 discordant question \(/);
});

test('counts and columns that cannot be are refused by name', () => {
  assert.throws(() => binomialTest({ successes: 4, n: 3, p: 0.5 }), range('successes: got 4, expected at most n = 3'));
  assert.throws(() => clopperPearson({ successes: 0, n: 0 }), range('n: got 0, expected an integer of at least 1'));
  assert.throws(
    () => binomialSelection({ agreeing: [4], n: 3, bar: 0.9, delta: 0.1 }),
    range('agreeing[0]: got 4, expected at most n = 3'),
  );
  assert.throws(() => countPairs({ system: [0.5], reference: [1] }), range('question 0: got 0.5, expected 0 or 1'));
});

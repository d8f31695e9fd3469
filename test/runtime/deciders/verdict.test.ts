import fc from 'fast-check';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  DEFAULT_SCAN,
  type QuestionVerdict,
  type VerdictScore,
  callsAt,
  isMatch,
  questionVerdict,
  scanTrajectory,
} from '../../../runtime/index.js';
import type { DecidedQuestion, Verdict } from '../../../src/core/verdicts.js';
import { trajectoryOf } from '../../support/trajectories.js';

const question = (loops: number, claims: number | null): DecidedQuestion => ({ question_id: 'q', row: 3, loops, claims });
const blank = { claim: null, page: null, sentence: null, lp_match: null, lp_partial: null, lp_null: null, p: null };
const row = (loop: number, more: Partial<VerdictScore>): Verdict => ({ question_id: 'q', row: 3, decider: 'd', ...blank, loop, ...more });
const stored = (scores: readonly VerdictScore[]): Verdict[] => scores.map((one) => row(one.loop, one));

test('a claim stays matched, and all_match fires at the loop of the last one, any_match at the first', () => {
  // Claim 0 is matched by the second sentence of loop 1, claim 1 by the sentence of loop 3.
  const rows = [
    row(1, { claim: 0, page: 0, sentence: 0, p: 0.2 }),
    row(1, { claim: 0, page: 0, sentence: 1, p: 0.5 }),
    row(1, { claim: 1, page: 0, sentence: 0, p: 0.1 }),
    row(1, { claim: 1, page: 0, sentence: 1, p: 0.49 }),
    row(2, { claim: 1, page: 1, sentence: 0, p: 0 }),
    row(3, { claim: 1, page: 1, sentence: 1, p: 1 }),
  ];
  assert.deepEqual(questionVerdict(question(4, 2), rows), {
    firesByLoop: [false, false, true, true],
    firstFire: 3,
    matchedAt: [1, 3],
    pairsByLoop: [4, 1, 1, 0],
  });
  const any = questionVerdict(question(4, 2), rows, DEFAULT_SCAN, { policy: 'any_match' });
  assert.deepEqual([any.firesByLoop, any.firstFire], [[true, true, true, true], 1]);
});

test('a tie between match and another label is no match, and the threshold on the match margin is strict', () => {
  const lps = (lp_match: number, lp_partial: number, lp_null: number): Verdict => row(1, { lp_match, lp_partial, lp_null });
  assert.equal(isMatch(lps(-1, -1, -3)), false);
  assert.equal(isMatch(lps(-1, -3, -1)), false);
  assert.equal(isMatch(lps(-1, -1.5, -1.25)), true);
  // −1 − max(−1.5, −1.25) = 0.25.
  assert.equal(isMatch(lps(-1, -1.5, -1.25), { pAtLeast: 0.5, marginAbove: 0.25 }), false);
  assert.equal(isMatch(row(1, { p: 0.5 })), true);
  assert.equal(isMatch(lps(-Infinity, -Infinity, -Infinity)), false);
});

test('P8: a question without claims is never covered, under either policy', () => {
  for (const policy of ['all_match', 'any_match'] as const) {
    const verdict = questionVerdict(question(3, 0), [], DEFAULT_SCAN, { policy });
    assert.deepEqual([verdict.firesByLoop, verdict.firstFire], [[false, false, false], null]);
  }
});

test('P24: loops that brought no sentence leave every claim uncovered', async () => {
  const rows = await scanTrajectory(trajectoryOf([[], []]), 2, () => ({ ...blank, p: 1 }));
  assert.deepEqual(rows, []);
  assert.equal(questionVerdict(question(2, 2), stored(rows)).firstFire, null);
});

test('a decider without claims needs a row for every loop; a missing one is named, never taken as not covered', () => {
  const rows = [row(1, { p: 0 }), row(3, { p: 1 })];
  assert.throws(() => questionVerdict(question(3, null), rows), { message: 'row 3, question "q": no verdict for loop 2 of 3' });
  const whole = questionVerdict(question(3, null), [...rows, row(2, { p: 0.7 })]);
  // Each loop is its own ruling: a later "not covered" stands.
  assert.deepEqual(whole.firesByLoop, [false, true, true]);
  assert.deepEqual(questionVerdict(question(2, null), [row(1, { p: 1 }), row(2, { p: 0 })]).firesByLoop, [true, false]);
  assert.throws(() => questionVerdict(question(1, null), [row(1, { p: 0 }), row(1, { p: 0 })]), {
    message: 'row 3, question "q": two verdicts for loop 1, expected one',
  });
});

test('rows outside their question, without a score, or scored twice are refused by name', () => {
  const pair = { claim: 0, page: 0, sentence: 0, p: 0 };
  const cases: [DecidedQuestion, Verdict[], string][] = [
    [question(2, 1), [row(3, pair)], 'verdict at loop 3, expected a loop in 1..2'],
    [question(2, 1), [row(1, { ...pair, claim: 1 })], 'verdict at loop 1 for claim 1, expected a claim in 0..0'],
    [question(2, 1), [row(1, { p: 0 })], 'verdict at loop 1 for claim null, expected a claim in 0..0'],
    [question(2, 0), [row(1, pair)], 'verdict at loop 1 for claim 0, expected no row: the question has no claims'],
    [question(2, null), [row(1, pair)], 'verdict at loop 1 for claim 0, expected no claim: this decider reads none'],
    [question(2, 1), [row(1, { ...pair, p: null })], 'verdict at loop 1: expected either p or all of lp_match, lp_partial, lp_null'],
    [question(2, 1), [row(1, { ...pair, lp_match: -1 })], 'verdict at loop 1: expected either p or all of lp_match, lp_partial, lp_null'],
    [question(2, 1), [row(1, pair), row(2, pair)], 'claim 0 was scored twice against sentence 0 of page 0, again at loop 2'],
  ];
  for (const [of, rows, message] of cases) {
    assert.throws(() => questionVerdict(of, rows), { name: 'InputError', message: `row 3, question "q": ${message}` });
  }
});

test('a threshold stricter than the one that ended the scans is refused, unless every pair was scored', () => {
  const rows = [row(1, { claim: 0, page: 0, sentence: 0, p: 0.6 })];
  const rule = { threshold: { pAtLeast: 0.9, marginAbove: 0 } };
  assert.throws(() => questionVerdict(question(1, 1), rows, DEFAULT_SCAN, rule), {
    message:
      'threshold 0.9 is stricter than the 0.5 at which the scan of a claim ended, so later sentences were not scored; decide again with --all-pairs',
  });
  assert.equal(questionVerdict(question(1, 1), rows, { ...DEFAULT_SCAN, allPairs: true }, rule).firstFire, null);
  // Without claims nothing was scanned, so any threshold may be asked for.
  assert.equal(questionVerdict(question(1, null), [row(1, { p: 0.6 })], DEFAULT_SCAN, rule).firstFire, null);
});

test('a late call scores what the skipped loops brought, and rules as always-verify does at that loop', () => {
  const verdict: QuestionVerdict = { firesByLoop: [false, false, true, true], firstFire: 3, matchedAt: [1, 3], pairsByLoop: [4, 1, 1, 0] };
  assert.deepEqual(callsAt(verdict, [1, 2, 3]), [
    { loop: 1, covered: false, pairs: 4, claimVerdicts: 2 },
    { loop: 2, covered: false, pairs: 1, claimVerdicts: 2 },
    { loop: 3, covered: true, pairs: 1, claimVerdicts: 2 },
  ]);
  assert.deepEqual(callsAt(verdict, [2, 4]), [
    { loop: 2, covered: false, pairs: 5, claimVerdicts: 2 },
    { loop: 4, covered: true, pairs: 1, claimVerdicts: 2 },
  ]);
  assert.deepEqual(callsAt(verdict, []), []);
  assert.throws(() => callsAt(verdict, [2, 2]), { message: 'called loops: got 2, 2, expected ascending numbers in 1..4' });
});

test('derived calls equal a live loop that keeps, for every claim, the sentences it was not yet scored against', async () => {
  // Scores of a pair are a function of claim and sentence; loops bring new sentences; any subset of loops is called.
  const cases = fc.record({
    claims: fc.integer({ min: 0, max: 3 }),
    sizes: fc.array(fc.integer({ min: 0, max: 3 }), { minLength: 1, maxLength: 5 }),
    scores: fc.array(fc.constantFrom(0, 0.3, 0.5, 0.8), { minLength: 60, maxLength: 60 }),
    called: fc.array(fc.boolean(), { minLength: 5, maxLength: 5 }),
    allPairs: fc.boolean(),
    policy: fc.constantFrom('all_match' as const, 'any_match' as const),
  });
  await fc.assert(
    fc.asyncProperty(cases, async ({ claims, sizes, scores, called, allPairs, policy }) => {
      let next = 0;
      const trajectory = trajectoryOf(sizes.map((size) => Array.from({ length: size }, () => [0, next++] as const)));
      const p = (claim: number, sentence: number): number => scores[claim * 15 + sentence] as number;
      const rows = await scanTrajectory(trajectory, claims, (claim, { sentence }) => ({ ...blank, p: p(claim, sentence) }), { allPairs });
      const verdict = questionVerdict(question(sizes.length, claims), stored(rows), { ...DEFAULT_SCAN, allPairs }, { policy });

      const live = liveCalls();
      assert.deepEqual(
        callsAt(
          verdict,
          live.map(({ loop }) => loop),
        ),
        live,
      );

      function liveCalls(): { loop: number; covered: boolean; pairs: number; claimVerdicts: number }[] {
        const pending: number[][] = Array.from({ length: claims }, () => []);
        const matched = Array.from({ length: claims }, () => false);
        const calls = [];
        for (const { loop, sentences } of trajectory.loops) {
          for (const list of pending) list.push(...sentences.map((one) => one.sentence));
          if (!called[loop - 1]) continue;
          let pairs = 0;
          for (let claim = 0; claim < claims; claim++) {
            for (const sentence of (pending[claim] as number[]).splice(0)) {
              if (matched[claim]) break;
              pairs++;
              matched[claim] = p(claim, sentence) >= 0.5;
            }
          }
          const covered = claims > 0 && (policy === 'all_match' ? matched.every(Boolean) : matched.some(Boolean));
          calls.push({ loop, covered, pairs, claimVerdicts: claims });
        }
        return calls;
      }
    }),
    { seed: 13 },
  );
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { breakEven, breakEvenWords } from '../../src/evaluate/break-even.js';
import { measure } from '../../src/evaluate/measures.js';
import { alwaysVerify, fixedK, full, gate } from '../../src/evaluate/policies.js';
import { question } from './question-runs.js';

const pairs = (...numbers: number[]): Int32Array => Int32Array.from(numbers);

// A: always-verify stops at loop 2 of 4 (gold loop 2); at τ 0.5 the gate skips loop 1 and stops there too.
const a = question([0.7, 0.5, 0.3, 0.3], '.FFF', { id: 'a', row: 0, goldLoop: 2, claims: 2, pairs: pairs(6, 4, 2, 2) });
// B: stops at loop 1 of 3 (gold loop 2: unsafe); the gate defers to loop 2 (safe).
const b = question([0.6, 0.4, 0.4], 'FFF', { id: 'b', row: 1, goldLoop: 2, claims: 3, pairs: pairs(9, 3, 0) });
// C: never fires, gold loop never reached; the gate asks at the last loop alone.
const c = question([0.9, 0.8, 0.5], '...', { id: 'c', row: 2, goldLoop: Infinity, claims: 2, pairs: pairs(6, 6, 6) });
const questions = [a, b, c];

test('gives the figures of a gated run worked by hand', () => {
  const m = measure(questions, gate(0.5), { resamples: 200 });
  assert.deepEqual(m.questions, { rows: 3, unique: 3, valid: 3 });
  // Always-verify: 2 + 1 + 3 calls. Gate: A at loop 2, B at loop 2, C at loop 3.
  assert.equal(m.alwaysCalls, 6);
  assert.equal(m.calls, 3);
  assert.equal(m.callCut.value, 0.5);
  assert.equal(m.agreement.value, 2 / 3);
  // Early stops: A and B, both at or after loop 2; always-verify's B is unsafe.
  assert.equal(m.coverageSafety.value, 1);
  assert.equal(m.ownSafety, 0.5);
  assert.equal(m.safetyDifference.value, 0.5);
  // Covered at the stop: A, B of three; at the end as well.
  assert.equal(m.deltaCoverage.value, 0);
  assert.equal(m.loops, 2 + 2 + 3);
  assert.equal(m.addedLoops.value, 1 / 3);
  assert.equal(m.loopsAgainstFull.value, (7 - 10) / 3);
  // One call with 2 claims, one with 3, one with 2.
  assert.equal(m.claimVerdicts, 7);
  // The last call reads everything up to its loop: A 10, B 12, C 18; always-verify: 10, 9, 18.
  assert.equal(m.pairs, 40);
  assert.equal(m.alwaysPairs, 37);
  assert.equal(m.pairCut.value, 1 - 40 / 37);
  // Verdicts "covered" on the full trajectories: 3 + 3 + 0 of 10 loops.
  assert.equal(m.fireRatePerLoop, 0.6);
  assert.equal(m.stoppedByDecider, 2 / 3);
  assert.equal(m.overSearch.value, 0);
  assert.equal(m.unverifiedStops, 0);
});

test('always-verify measured against itself cuts nothing and agrees everywhere', () => {
  const m = measure(questions, alwaysVerify, { resamples: 200 });
  assert.deepEqual(m.callCut, { value: 0, low: 0, high: 0 });
  assert.deepEqual(m.agreement, { value: 1, low: 1, high: 1 });
  // B stops before its gold loop: one covered question fewer than the full trajectory.
  assert.equal(m.deltaCoverage.value, -1 / 3);
});

test('the full trajectory searches on after the gold loop', () => {
  const m = measure(questions, full, { resamples: 200 });
  // Loops after the gold loop: A 2, B 1, C none, of 10.
  assert.equal(m.overSearch.value, 0.3);
  assert.equal(m.coverageSafety.value, null);
  assert.equal(m.safetyDifference.value, null);
});

test('stops that no decider made are counted as unverified', () => {
  assert.equal(measure(questions, fixedK(2), { resamples: 200 }).unverifiedStops, 3);
});

test('without gold labels coverage figures are undefined, not zero', () => {
  const m = measure(
    questions.map((one) => Object.assign({}, one, { goldLoop: null })),
    gate(0.5),
    { resamples: 200 },
  );
  for (const figure of [m.coverageSafety, m.safetyDifference, m.deltaCoverage, m.overSearch]) {
    assert.deepEqual(figure, { value: null, low: null, high: null });
  }
  assert.equal(m.ownSafety, null);
  assert.equal(m.callCut.value, 0.5);
});

test('intervals are the same to the bit for the same seed, and left out for 0 resamples', () => {
  const many = Array.from({ length: 40 }, (_, row) => Object.assign({}, questions[row % 3], { id: `q${row}`, row }));
  const first = measure(many, gate(0.5), { resamples: 500, seed: 7 });
  assert.deepEqual(measure(many, gate(0.5), { resamples: 500, seed: 7 }), first);
  assert.ok((first.callCut.low as number) <= 0.5 && (first.callCut.high as number) >= 0.5);
  const bare = measure(many, gate(0.5), { resamples: 0 });
  assert.deepEqual(bare.callCut, { value: first.callCut.value, low: null, high: null });
});

test('P7: rows of one id are drawn together, so repeating every row does not narrow an interval', () => {
  const once = Array.from({ length: 30 }, (_, row) => Object.assign({}, questions[row % 3], { id: `q${row}`, row }));
  const thrice = [...once, ...once, ...once].map((one, row) => Object.assign({}, one, { row }));
  const [narrow, wide] = [once, thrice].map((all) => measure(all, gate(0.5), { resamples: 500 }));
  assert.deepEqual(wide?.agreement, narrow?.agreement);
  assert.deepEqual(wide?.questions, { rows: 90, unique: 30, valid: 90 });
});

test('P107: the break-even cost of a loop on the paper’s printed numbers', () => {
  // evaluation.md §4: (1.822 − 0.502) / 0.29, (1.643 − 0.429) / 0.49, (2.665 − 0.078) / 0.07 seconds.
  const seconds = [
    breakEven({ always: 1.822, gated: 0.502, addedLoops: 0.29 }),
    breakEven({ always: 1.643, gated: 0.429, addedLoops: 0.49 }),
    breakEven({ always: 2.665, gated: 0.078, addedLoops: 0.07 }),
  ];
  assert.deepEqual(
    seconds.map((one) => one.toFixed(2)),
    ['4.55', '2.48', '36.96'],
  );
});

test('P107: says in words when the gate pays and when it does not', () => {
  assert.equal(
    breakEvenWords('hotpotqa', { always: 3, gated: 1, addedLoops: 0.25 }),
    'hotpotqa: the gate adds 0.250 loops a question and saves 2.00 calls; it pays in time while a loop takes less than 8.0 decider calls.',
  );
  assert.equal(breakEvenWords('a', { always: 3, gated: 1, addedLoops: 0 }), 'a: the gate adds no loop, so every saved call is gained.');
  assert.equal(breakEvenWords('a', { always: 1, gated: 1.5, addedLoops: 1 }), 'a: the gate saves no call, it does not pay.');
});

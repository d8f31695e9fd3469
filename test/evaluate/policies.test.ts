import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  ALWAYS_CALL,
  NEVER_CALL,
  alwaysVerify,
  fixedK,
  full,
  gate,
  marginOnly,
  matchPolicy,
  twoThreshold,
} from '../../src/evaluate/policies.js';
import { anyQuestions, question } from './question-runs.js';

// Margins fall 0.8 → 0.3, the decider fires from loop 3 on.
const falling = question([0.8, 0.6, 0.4, 0.35, 0.3], '..FFF');
// The decider takes its verdict back at loop 3 and gives it again at the last loop but one.
const unfiring = question([0.5, 0.7, 0.5, 0.4, 0.2], '.F.F.');

test('full runs every loop and calls nobody', () => {
  assert.deepEqual(full(falling), { stop: 5, calls: 0, lastCall: 0, stoppedBy: 'end' });
});

test('always-verify stops at the first fire, with as many calls as loops', () => {
  assert.deepEqual(alwaysVerify(falling), { stop: 3, calls: 3, lastCall: 3, stoppedBy: 'decider' });
  assert.deepEqual(alwaysVerify(unfiring), { stop: 2, calls: 2, lastCall: 2, stoppedBy: 'decider' });
  assert.deepEqual(alwaysVerify(question([0.1, 0.1], '..')), { stop: 2, calls: 2, lastCall: 2, stoppedBy: 'end' });
  assert.deepEqual(alwaysVerify(question([0.1, 0.1], '.F')), { stop: 2, calls: 2, lastCall: 2, stoppedBy: 'decider' });
});

test('fixed-k stops after k loops, or at the end of a shorter trajectory', () => {
  assert.deepEqual(fixedK(3)(falling), { stop: 3, calls: 0, lastCall: 0, stoppedBy: 'fixed' });
  assert.deepEqual(fixedK(5)(falling), { stop: 5, calls: 0, lastCall: 0, stoppedBy: 'end' });
  assert.deepEqual(fixedK(9)(falling), { stop: 5, calls: 0, lastCall: 0, stoppedBy: 'end' });
});

test('the gate skips above τ, calls at τ and follows the decider', () => {
  // τ = 0.4: loops 1, 2 skipped; loop 3 is at τ and called; it fires.
  assert.deepEqual(gate(0.4)(falling), { stop: 3, calls: 1, lastCall: 3, stoppedBy: 'decider' });
  // Just below 0.4 the fire at loop 3 is missed and the stop deferred to loop 4.
  assert.deepEqual(gate(0.399999)(falling), { stop: 4, calls: 1, lastCall: 4, stoppedBy: 'decider' });
  assert.deepEqual(gate(0.1)(falling), { stop: 5, calls: 0, lastCall: 0, stoppedBy: 'end' });
});

test('the gate asks again after a verdict was taken back', () => {
  // τ = 0.5: loop 1 called (no), loop 2 skipped (its fire is missed), loop 3 called (taken back), loop 4 called and fires.
  assert.deepEqual(gate(0.5)(unfiring), { stop: 4, calls: 3, lastCall: 4, stoppedBy: 'decider' });
  // τ = 0.2: loop 5 alone is called, and there the verdict is taken back again.
  assert.deepEqual(gate(0.2)(unfiring), { stop: 5, calls: 1, lastCall: 5, stoppedBy: 'end' });
});

test('the two-threshold ablation stops below τ_lo without a call, and says so', () => {
  const policy = twoThreshold({ lower: 0.39, tau: 0.4 });
  assert.deepEqual(policy(question([0.8, 0.4, 0.35, 0.3], '...F')), { stop: 3, calls: 1, lastCall: 2, stoppedBy: 'margin' });
  // Equality does not stop.
  assert.deepEqual(policy(question([0.39, 0.39], '..')), { stop: 2, calls: 2, lastCall: 2, stoppedBy: 'end' });
  assert.deepEqual(policy(falling), { stop: 3, calls: 1, lastCall: 3, stoppedBy: 'decider' });
});

test('margin-only stopping stops at the first margin ≤ τ and never asks', () => {
  assert.deepEqual(marginOnly(0.6)(falling), { stop: 2, calls: 0, lastCall: 0, stoppedBy: 'margin' });
  assert.deepEqual(marginOnly(0.1)(falling), { stop: 5, calls: 0, lastCall: 0, stoppedBy: 'end' });
});

test('any-match and all-match are always-verify with their own verdicts', () => {
  const both = { ...falling, firesBy: { all_match: falling.fires, any_match: [false, true, true, true, true] } };
  assert.equal(matchPolicy('all_match')(both).stop, 3);
  assert.equal(matchPolicy('any_match')(both).stop, 2);
  assert.equal(matchPolicy('any_match')(falling).stop, 3);
});

test('P93: a gate that always calls is always-verify, one that never calls is the full trajectory, and neither is the gate', () => {
  fc.assert(
    fc.property(anyQuestions, (questions) => {
      for (const one of questions) {
        assert.deepEqual(gate(ALWAYS_CALL)(one), alwaysVerify(one));
        assert.deepEqual(gate(NEVER_CALL)(one), full(one));
      }
    }),
  );
  // The mutations "always calls" and "never calls" give other stops or calls on these questions.
  for (const mutant of [alwaysVerify, full]) assert.notDeepEqual(gate(0.4)(falling), mutant(falling));
});

test('P93: a decider that always says covered stops the gate at the first loop it is asked, and no earlier', () => {
  fc.assert(
    fc.property(anyQuestions, fc.double({ min: 0, max: 2, noNaN: true }), (questions, tau) => {
      for (const one of questions) {
        const outcome = gate(tau)({ ...one, fires: one.fires.map(() => true) });
        const asked = one.margins.findIndex((margin) => margin <= tau);
        assert.equal(outcome.stop, asked < 0 ? one.margins.length : asked + 1);
        assert.equal(outcome.calls, asked < 0 ? 0 : 1);
      }
    }),
  );
});

test('every stop of the gate is the decider’s or the end’s, never earlier than always-verify’s', () => {
  fc.assert(
    fc.property(anyQuestions, fc.double({ min: 0, max: 2, noNaN: true }), (questions, tau) => {
      for (const one of questions) {
        const outcome = gate(tau)(one);
        assert.ok(outcome.stoppedBy === 'decider' ? one.fires[outcome.stop - 1] : outcome.stop === one.margins.length);
        assert.ok(outcome.stop >= alwaysVerify(one).stop);
      }
    }),
  );
});

test('a question agrees exactly when it never fires, first fires at the last loop, or its margin at the first fire is ≤ τ', () => {
  fc.assert(
    fc.property(anyQuestions, fc.double({ min: 0, max: 2, noNaN: true }), (questions, tau) => {
      for (const one of questions) {
        const first = one.fires.indexOf(true);
        const expected = first < 0 || first === one.fires.length - 1 || (one.margins[first] as number) <= tau;
        assert.equal(gate(tau)(one).stop === alwaysVerify(one).stop, expected);
      }
    }),
  );
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { bestSelfGating } from '../../src/evaluate/ablation-thresholds.js';
import { measure } from '../../src/evaluate/measures.js';
import { ALWAYS_CALL, alwaysVerify } from '../../src/evaluate/policies.js';
import { MATCH_MARGINS, type QuestionRun } from '../../src/evaluate/question-run.js';
import { everyOther, oracleSelfGating, selfGating, skipFirst, veto } from '../../src/evaluate/router-policies.js';
import { claimPairs, matchMarginSweep } from '../../src/evaluate/stored-verdicts.js';
import { SYSTEM_NAMES } from '../../src/evaluate/system-fidelity.js';
import { parseSystems, readySystem } from '../../src/evaluate/systems.js';
import { anyQuestions, question } from './question-runs.js';

// Three claims, matched at loops 1, 3 and 5: two are open after loops 1 and 2, one after 3 and 4; the decider fires at 5.
const three = question([0.9, 0.8, 0.7, 0.6, 0.5, 0.4], '....FF', { matchedAt: [1, 3, 5], claims: 3 });

test('skip-first-k asks from loop k + 1 on, every-other after loops 1, 3, 5', () => {
  assert.deepEqual(skipFirst(2)(three), { stop: 5, calls: 3, lastCall: 5, stoppedBy: 'decider' });
  assert.deepEqual(skipFirst(9)(three), { stop: 6, calls: 0, lastCall: 0, stoppedBy: 'end' });
  assert.deepEqual(everyOther(three), { stop: 5, calls: 3, lastCall: 5, stoppedBy: 'decider' });
  // The fire at loop 2 is missed, loop 3 takes it back, the end comes before loop 5.
  assert.deepEqual(everyOther(question([1, 1, 1, 1], '.F.F')), { stop: 4, calls: 2, lastCall: 3, stoppedBy: 'end' });
});

test('the veto defers a stop whose margin is above τ, and pays for the calls', () => {
  assert.deepEqual(veto(0.45)(three), { stop: 6, calls: 6, lastCall: 6, stoppedBy: 'decider' });
  assert.deepEqual(veto(0.5)(three), alwaysVerify(three));
});

test('self-gating skips the next k calls after a call that leaves enough claims open', () => {
  // Two or more open: loop 1 leaves two, so 2 is skipped; 3 leaves one; 4; 5 fires.
  assert.deepEqual(selfGating({ next: 1, least: 2 })(three), { stop: 5, calls: 4, lastCall: 5, stoppedBy: 'decider' });
  // One or more open, two calls skipped: 1, 4; then 5 is skipped and the trajectory ends.
  assert.deepEqual(selfGating({ next: 2, least: 1 })(three), { stop: 6, calls: 2, lastCall: 4, stoppedBy: 'end' });
  assert.deepEqual(selfGating({ next: 3, least: 4 })(three), alwaysVerify(three));
});

test('the oracle bound calls once for each change of the open claims and stops where always-verify does', () => {
  // Called at 1 (two open), 3 (one), 5 (none).
  assert.deepEqual(oracleSelfGating(three), { stop: 5, calls: 3, lastCall: 5, stoppedBy: 'decider' });
});

test('skip-first-0 and a veto that passes everything are always-verify', () => {
  fc.assert(
    fc.property(anyQuestions, (questions) => {
      for (const one of questions) {
        assert.deepEqual(skipFirst(0)(one), alwaysVerify(one));
        assert.deepEqual(veto(ALWAYS_CALL)(one), alwaysVerify(one));
      }
    }),
  );
});

test('with claims that stay matched the oracle bound has always-verify’s stops, and self-gating never stops earlier', () => {
  const trajectories = fc.array(
    fc.record({
      loops: fc.integer({ min: 1, max: 6 }),
      matchedAt: fc.array(fc.oneof(fc.integer({ min: 1, max: 6 }), fc.constant(Infinity)), { minLength: 1, maxLength: 4 }),
    }),
    { minLength: 1, maxLength: 10 },
  );
  fc.assert(
    fc.property(trajectories, fc.integer({ min: 1, max: 3 }), (all, next) => {
      const questions = all.map(({ loops, matchedAt }, row): QuestionRun => {
        const covered = Math.max(...matchedAt);
        const fires = Array.from({ length: loops }, (_, at) => (at + 1 >= covered ? 'F' : '.')).join('');
        return question(
          Array.from({ length: loops }, () => 1),
          fires,
          { id: `q${row}`, row, matchedAt, claims: matchedAt.length },
        );
      });
      for (const one of questions) {
        assert.equal(oracleSelfGating(one).stop, alwaysVerify(one).stop);
        assert.ok(oracleSelfGating(one).calls <= alwaysVerify(one).calls);
        for (const least of [1, 2, 5]) assert.ok(selfGating({ next, least })(one).stop >= alwaysVerify(one).stop);
      }
      const { policy } = bestSelfGating(questions, { next, bar: 0.9 });
      const measures = measure(questions, policy, { resamples: 0 });
      assert.ok((measures.agreement.value as number) >= 0.9 && (measures.callCut.value as number) >= 0);
    }),
  );
});

const scored = (claim: number, loop: number, sentence: number, lp_match: number): Parameters<typeof claimPairs>[1][number] => ({
  question_id: 'q', row: 0, loop, decider: 'd', claim, page: 0, sentence, lp_match, lp_partial: -1, lp_null: -1, p: null,
}); // prettier-ignore

test('pairs of each claim end at its own first match', () => {
  const decided = { question_id: 'q', row: 0, loops: 2, claims: 2 };
  // Claim 0 matches its second sentence at loop 1 (0 − (−1) = 1 > 0); its pair of loop 2 is no live one. Claim 1 never matches.
  const rows = [scored(0, 1, 0, -2), scored(0, 1, 1, 0), scored(0, 2, 2, 0), scored(1, 1, 0, -2), scored(1, 1, 1, -2), scored(1, 2, 2, -2)];
  const scan = { threshold: { pAtLeast: 0.5, marginAbove: 0 }, allPairs: true };
  assert.deepEqual(claimPairs(decided, rows, scan)?.map((one) => [...one]), [[2, 0], [2, 1]]); // prettier-ignore
  assert.equal(claimPairs({ ...decided, claims: null }, [], scan), null);
});

test('the threshold sweep fires later as the match margin rises, and reads more pairs', () => {
  const decided = { question_id: 'q', row: 0, loops: 2, claims: 1 };
  // Match margins: −0.25 and 0.75 at loop 1, 1.75 at loop 2.
  const rows = [scored(0, 1, 0, -1.25), scored(0, 1, 1, -0.25), scored(0, 2, 2, 0.75)];
  const scan = { threshold: { pAtLeast: 0.5, marginAbove: 0 }, allPairs: true };
  const sweep = matchMarginSweep(decided, rows, { scan, policy: 'all_match' });
  // −2, −1, −0.5: the first sentence is a match; 0, 0.5: the second; 1: the third; 2: none.
  assert.deepEqual(sweep?.map(({ fires }) => fires.indexOf(true) + 1), [1, 1, 1, 1, 1, 2, 0]); // prettier-ignore
  assert.deepEqual(sweep?.map(({ pairs }) => [...pairs]), [[1, 0], [1, 0], [1, 0], [2, 0], [2, 0], [2, 1], [2, 1]]); // prettier-ignore
  assert.equal(matchMarginSweep(decided, rows, { scan: { ...scan, allPairs: false }, policy: 'all_match' }), undefined);

  const one = question([1, 1], '.F', { sweep, claims: 1, pairs: Int32Array.from([2, 0]) });
  const specs = parseSystems('threshold-sweep');
  assert.deepEqual(specs.map(({ k }) => k), [...MATCH_MARGINS]); // prettier-ignore
  assert.deepEqual(specs.map(({ label }) => label).slice(2, 5), ['match-margin-0.5', 'match-margin+0', 'match-margin+0.5']); // prettier-ignore
  const measured = specs.map((spec) => {
    const { policy, fires } = readySystem(spec, [one], { tau: null, bar: 0.9 });
    return measure([one], policy, { resamples: 0, fires });
  });
  assert.deepEqual(measured.map(({ loops, pairs, fireRatePerLoop }) => [loops, pairs, fireRatePerLoop]).slice(3), [
    [1, 2, 1],
    [1, 2, 1],
    [2, 3, 0.5],
    [2, 3, 0],
  ]); // prettier-ignore
  const [strict] = parseSystems('match-margin+2');
  assert.throws(() => readySystem(strict as NonNullable<typeof strict>, [question([1], '.')], { tau: null, bar: 0.9 }), {
    name: 'InputError',
    message: "--systems match-margin+2: needs verdicts with the three labels' scores of every pair; decide again with --all-pairs",
  });
});

test('P103: every system says how faithful it is and what differs', () => {
  for (const name of SYSTEM_NAMES) {
    if (name === 'match-margin') continue;
    const [spec] = parseSystems(name.replace('-k', '-2'));
    const ready = readySystem(spec as NonNullable<typeof spec>, [{ ...three, goldLoop: 5 }], { tau: 0.5, bar: 0.9 });
    assert.match(ready.fidelity, /^(exact|approximate)$/);
    assert.ok(ready.fidelityNote.length > 10);
  }
  const [own] = parseSystems('self-gating-1');
  assert.throws(() => readySystem(own as NonNullable<typeof own>, [question([1], '.')], { tau: null, bar: 0.9 }), {
    name: 'InputError',
    message: '--systems self-gating-1: needs a decider that rules claim by claim',
  });
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { largestLower, matchedMarginOnly } from '../../src/evaluate/ablation-thresholds.js';
import { NEVER_CALL, alwaysVerify, isCovered, isEarly, marginOnly, twoThreshold } from '../../src/evaluate/policies.js';
import type { QuestionRun } from '../../src/evaluate/question-run.js';
import { replay, replayRows, replayTable } from '../../src/evaluate/replay.js';
import { restoredReplay, storedReplay } from '../../src/evaluate/stored-replay.js';
import { parseSystems, readySystem } from '../../src/evaluate/systems.js';
import { callsDecider, gate as runtimeGate } from '../../runtime/index.js';
import { gate } from '../../src/evaluate/policies.js';
import { anyQuestions, question } from './question-runs.js';

const excluded = { no_claims: 0, no_loop: 0, undecided: 0, repeated: 0 };

test('systems are named, fixed-k for any k', () => {
  assert.deepEqual(
    parseSystems('full, fixed-3,gate').map(({ name, k }) => [name, k]),
    [
      ['full', null],
      ['fixed-k', 3],
      ['gate', null],
    ],
  );
  const list =
    'full, always-verify, fixed-k, all_match, any_match, gate, two-threshold, margin-only, match-margin, veto, skip-first-k, every-other, self-gating-k, oracle-self-gating';
  assert.throws(() => parseSystems('fixed-0'), {
    name: 'InputError',
    message: `--systems: got "fixed-0", expected some of ${list} (those with k with a number: fixed-3; match-margin with one of match-margin-2, match-margin-1, match-margin-0.5, match-margin+0, match-margin+0.5, match-margin+1, match-margin+2, or threshold-sweep for all of them)`,
  });
  assert.throws(() => parseSystems('gate,gate'), { name: 'InputError', message: '--systems: got "gate" twice, expected each once' });
  assert.throws(() => parseSystems(' , '), { name: 'InputError', message: `--systems: got none, expected some of ${list}` });
});

test('a gate without a threshold is refused', () => {
  const [spec] = parseSystems('gate');
  assert.throws(() => readySystem(spec as NonNullable<typeof spec>, [question([1], '.')], { tau: null, bar: 0.9 }), {
    name: 'InputError',
    message: '--systems gate: needs a threshold; give --profile or --tau',
  });
});

test('the replayed gate asks exactly at the loops at which the runtime’s gate says call', () => {
  fc.assert(
    fc.property(anyQuestions, fc.double({ min: 0, max: 2, noNaN: true }), (questions, tau) => {
      for (const one of questions) {
        const { stop, calls } = gate(tau)(one);
        const asked = [...one.margins].slice(0, stop).filter((margin) => callsDecider(runtimeGate(margin, tau)));
        assert.equal(calls, asked.length);
      }
    }),
  );
});

test('margin-only’s matched τ equals trying every margin', () => {
  const safetyOf = (questions: readonly QuestionRun[], policy: (one: QuestionRun) => ReturnType<typeof alwaysVerify>): number | null => {
    const early = questions.filter((one) => one.goldLoop !== null && isEarly(one, policy(one)));
    return early.length === 0 ? null : early.filter((one) => isCovered(one, policy(one))).length / early.length;
  };
  fc.assert(
    fc.property(anyQuestions, (questions) => {
      const known = questions.filter((one) => one.goldLoop !== null);
      const least = safetyOf(known, alwaysVerify) ?? 1;
      const margins = known.flatMap((one) => Array.from(one.margins));
      const good = margins.filter((tau) => (safetyOf(known, marginOnly(tau)) ?? 1) >= least);
      // Larger values of τ inside one step stop the same; compare what they do.
      const got = matchedMarginOnly(questions);
      if (known.length === 0) return assert.equal(got, null);
      const best = Math.max(NEVER_CALL, ...good);
      for (const one of known) assert.equal(marginOnly(got as number)(one).stop, marginOnly(best)(one).stop);
    }),
    { numRuns: 300 },
  );
});

test('two-threshold’s τ_lo is the largest that keeps the bar', () => {
  fc.assert(
    fc.property(anyQuestions, fc.constantFrom(0.3, 0.5, 1), fc.constantFrom(0.5, 0.9), (questions, tau, bar) => {
      const agreement = (lower: number): number =>
        questions.filter((one) => twoThreshold({ lower, tau })(one).stop === alwaysVerify(one).stop).length / questions.length;
      const lower = largestLower(questions, { tau, bar });
      if (agreement(0) < bar) return assert.equal(lower, 0);
      assert.ok(agreement(lower) >= bar);
      const larger = questions.flatMap((one) => Array.from(one.margins)).filter((margin) => margin > lower && margin <= tau);
      for (const candidate of larger) assert.ok(agreement(candidate) < bar);
    }),
    { numRuns: 300 },
  );
});

const runs = [
  {
    dataset: 'hotpotqa',
    rows: 3,
    excluded: { ...excluded, no_claims: 1 },
    questions: [
      question([0.7, 0.5, 0.3], '.FF', { id: 'a', goldLoop: 2 }),
      question([0.6, 0.4, 0.2], 'F.F', { id: 'b', row: 1, goldLoop: 1 }),
    ],
  },
  { dataset: '2wiki', rows: 1, excluded, questions: [question([0.9, 0.2], '.F', { id: 'a', goldLoop: 2 })] },
];

test('replay measures every system on every dataset and pooled, and names how thresholds were found', () => {
  const specs = parseSystems('full,always-verify,fixed-2,gate,two-threshold,margin-only,any_match');
  const result = replay(runs, specs, { tau: 0.5, bar: 0.9 }, { resamples: 50 });
  assert.deepEqual(
    result.datasets.map((one) => [one.dataset, one.systems.length]),
    [
      ['hotpotqa', 7],
      ['2wiki', 7],
    ],
  );
  const gated = result.datasets[0]?.systems.find((one) => one.label === 'gate');
  // a: call at loop 2, stop. b: its fire at loop 1 is skipped, loop 2 called in vain, loop 3 called, fires. Always-verify: 2 + 1.
  assert.equal(gated?.measures.calls, 3);
  assert.equal(gated?.measures.callCut.value, 0);
  assert.equal(gated?.measures.agreement.value, 0.5);
  assert.equal(result.pooled?.systems.find((one) => one.label === 'gate')?.measures.questions.unique, 3);
  // One of the three rows has no claims: it is no question, but it is a row (P7).
  assert.match(replayTable(result), /^hotpotqa: 3 rows, 2 unique ids, 2 valid questions\n/);
  assert.match(replayTable(result), /two-threshold: τ_lo chosen on these same questions at agreement ≥ 0\.9/);
  assert.match(replayTable(result), /hotpotqa: the gate saves no call, it does not pay\./);
});

test('a replay comes back from the spelling of its file', () => {
  const result = replay(runs, parseSystems('full,gate'), { tau: 0.5, bar: 0.9 }, { resamples: 50 });
  const stored = JSON.parse(JSON.stringify(storedReplay(result))) as Parameters<typeof restoredReplay>[0];
  assert.deepEqual(Object.keys(stored), ['datasets', 'pooled', 'break_even']);
  assert.deepEqual(restoredReplay(stored), result);
});

test('rows say what each system did on each question', () => {
  const rows = [...replayRows(runs, parseSystems('gate'), { tau: 0.5, bar: 0.9 })];
  assert.deepEqual(rows[1], {
    dataset: 'hotpotqa',
    question_id: 'b',
    row: 1,
    system: 'gate',
    stop: 3,
    stopped_by: 'decider',
    calls: 2,
    always_stop: 1,
    agrees: false,
    loops: 3,
    gold_loop: 1,
    covered: true,
  });
  assert.equal(rows.length, 3);
});

test('fire rates are those of the verdicts that a system reads, and a system without a decider has none', () => {
  const firesBy = { all_match: [false, false, true], any_match: [true, true, true] };
  const one = question([0.9, 0.5, 0.1], '..F', { firesBy, deciderClaims: 3 });
  const free = question([0.9, 0.5, 0.1], '..F', { deciderClaims: null });
  const rows = (asked: typeof one): unknown =>
    replay([{ dataset: 'd', questions: [asked], excluded, rows: 1 }], parseSystems('full,any_match,gate'), { tau: 0.5, bar: 0.9 }, { resamples: 0 })
      .datasets[0]?.systems.map(({ label, measures: m }) => [
        label, m.fireRatePerLoop, m.fireRatePerQuestion, m.fireRatePerCall, m.stoppedByDecider, m.claimVerdicts,
      ]); // prettier-ignore
  // any_match fires at loop 1: one call of three claims; the gate asks at loops 2 and 3 and stops at the second call.
  assert.deepEqual(rows(one), [
    ['full', null, null, null, null, 0],
    ['any_match', 1, 1, 1, 1, 3],
    ['gate', 1 / 3, 1, 1 / 2, 1, 6],
  ]);
  assert.deepEqual(rows(free), [
    ['full', null, null, null, null, null],
    ['any_match', 1 / 3, 1, 1 / 3, 1, null],
    ['gate', 1 / 3, 1, 1 / 2, 1, null],
  ]);
});

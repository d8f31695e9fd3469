import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type GateEnd, type GateEvent, type GateLog, groupGateEvents } from '../../src/core/gate-log.js';
import { completion, joinShadowRuns, shadowRun } from '../../src/evaluate/log-runs.js';
import { shadowFigures, shadowWords } from '../../src/evaluate/log-shadow.js';
import { logWarnings } from '../../src/evaluate/log-warnings.js';
import { trafficOf } from '../../src/evaluate/log-traffic.js';
import { measure } from '../../src/evaluate/measures.js';
import { gate } from '../../src/evaluate/policies.js';
import { thresholdCurve } from '../../src/evaluate/threshold-curve.js';
import { endLine, gateHeader, loggedQuestion } from '../support/logged-questions.js';
import { anyQuestions, question } from './question-runs.js';

/** What a calibration and a report both say of a log. */
const warningsOf = (log: GateLog) =>
  logWarnings([{ ...trafficOf(log, { file: 'live.jsonl' }), sha256: '', bytes: 0 }], [shadowRun(log, 'live')]);

const shadowOf = (events: readonly GateEvent[]) => shadowRun(groupGateEvents([gateHeader(), ...events]), 'live');

test('a shadow log of runs that go on after a fire is the trajectory: same margins, same verdicts', () => {
  fc.assert(
    fc.property(anyQuestions, (questions) => {
      const run = shadowOf(questions.flatMap((one) => loggedQuestion(one, { runOn: true })));
      assert.deepEqual(
        run.questions.map(({ pessimistic, optimistic, unseen }) => [
          pessimistic.margins,
          pessimistic.fires,
          optimistic === pessimistic,
          unseen,
        ]),
        questions.map(({ margins, fires }) => [margins, [...fires], true, 0]),
      );
    }),
    { seed: 13, numRuns: 200 },
  );
});

test('cut at the first fire the log gives the same agreement at every τ, and calls between which the trajectory’s lie', () => {
  fc.assert(
    fc.property(anyQuestions, fc.double({ min: 0, max: 2, noNaN: true }), (questions, other) => {
      const run = shadowOf(questions.flatMap((one) => loggedQuestion(one)));
      for (const tau of [...thresholdCurve(questions).taus, -1, 2, other]) {
        const truth = measure(questions, gate(tau), { resamples: 0 });
        const of = (which: 'pessimistic' | 'optimistic') => measure(completion(run, which).questions, gate(tau), { resamples: 0 });
        const [least, most] = [of('optimistic'), of('pessimistic')];
        assert.deepEqual([least.agreement, most.agreement, most.alwaysCalls], [truth.agreement, truth.agreement, truth.alwaysCalls]);
        assert.ok(most.calls >= truth.calls && truth.calls >= least.calls, `τ ${tau}`);
      }
    }),
    { seed: 13, numRuns: 200 },
  );
});

test('a fire at the last loop of the budget leaves nothing unseen, and without a budget the longest run of the log stands for it', () => {
  const fired = question([0.9, 0.8, 0.7], '.F.', { id: 'a', row: 0 });
  const longer = question([0.9, 0.9, 0.9, 0.9, 0.9], '.....', { id: 'b', row: 1 });
  const atEnd = shadowOf([...loggedQuestion(fired, { budget: 2 }), ...loggedQuestion(longer)]);
  assert.deepEqual(
    atEnd.questions.map((one) => one.unseen),
    [0, 0],
  );
  // Both stop at loop 2, the gate without a call.
  assert.equal(shadowFigures(atEnd, 0.4, { resamples: 0 })?.agreement.value, 1);
  const without = shadowOf([...loggedQuestion(fired, { budget: null }), ...loggedQuestion(longer)]);
  assert.deepEqual([without.withoutBudget, without.longest, without.questions[0]?.unseen], [1, 5, 3]);
});

test('without a budget a fire at the log’s longest loop is not taken to agree: one loop more is assumed, and said', () => {
  const questions = [question([0.9, 0.8], '.F', { id: 'a', row: 0 }), question([0.9], 'F', { id: 'b', row: 1 })];
  const log = groupGateEvents([gateHeader(), ...questions.flatMap((one) => loggedQuestion(one, { budget: null }))]);
  const run = shadowRun(log, 'live');
  assert.deepEqual(
    run.questions.map(({ unseen, assumed }) => [unseen, assumed]),
    [[1, true], [1, true]], // prettier-ignore
  );
  const figures = shadowFigures(run, 0.4, { resamples: 0 });
  assert.ok(figures);
  assert.deepEqual([figures.agreement.value, figures.deferred, figures.assumed], [0, 2, 2]);
  assert.match(
    shadowWords(figures),
    / Agreement is 0\.000; 2 questions that the gate would have skipped the fire of count as not agreeing, although they have no budget of steps and nothing says that the agent would have gone on\. /,
  );
  assert.deepEqual(warningsOf(log), [
    'live: 2 questions ended where the decider fired and have no budget of steps, so nothing says whether the agent would have gone on. Agreement and call cut assume at least one more loop: a gate that skips the fire disagrees; the smaller cut counts a call at every loop up to 2, the most that a session made (a gate with maxSteps says it)',
  ]);
});

test('runs that were ended by a bound that their own calls spend are left out, counted and said', () => {
  const one = (row: number, stop?: Partial<GateEnd>) => [
    ...loggedQuestion(question([0.9, 0.8, 0.3], '...', { id: `q${row}`, row }), { budget: 6 }).slice(0, -1),
    endLine(`s${row}`, { loops: 3, ...stop }),
  ];
  const events = [
    ...one(0),
    ...(['maxCalls', 'maxTokens', 'maxMillis'] as const).flatMap((bound, at) => one(at + 1, { stopped_by: 'budget', bound })),
    ...one(4, { stopped_by: 'maxSteps', bound: 'maxSteps' }),
    ...one(5, { stopped_by: 'noProgress', bound: 'noProgress' }),
  ];
  const run = shadowOf(events);
  assert.deepEqual([run.questions.length, run.excluded.call_bound], [3, 3]);
  assert.deepEqual(warningsOf(groupGateEvents([gateHeader(), ...events])), [
    'live: 3 questions in shadow are left out because maxCalls, maxTokens or maxMillis ended them, which the calls of always asking spend: a gate that asks less would have got further. What is left are questions that ended sooner, and agreement and cut are theirs (a shadow gate with maxSteps alone leaves none out)',
  ]);
});

test('P7: sessions of which the log has neither id nor text count as questions of their own, which is said', () => {
  const events = [0, 1, 2].flatMap((row) => loggedQuestion(question([0.9], '.', { id: `q${row}`, row })));
  const bare = events.map((one) => (one.event === 'open' && one.session !== 's0' ? { ...one, question_id: null } : one));
  assert.deepEqual(warningsOf(groupGateEvents([gateHeader(), ...events])), []);
  assert.deepEqual(warningsOf(groupGateEvents([gateHeader(), ...bare])), [
    'live: the log has neither an id nor the text of 2 questions, so each counts as a question of its own; where the same one is asked again, guarantee and intervals are surer than they should be (open(question, { questionId }) says it)',
  ]);
});

test('a session of which lines are lost is left out, counted and said', () => {
  const [open, , ...rest] = loggedQuestion(question([0.9, 0.8, 0.7], '..F', { id: 'a', row: 0 })) as [GateEvent, GateEvent, ...GateEvent[]];
  const whole = loggedQuestion(question([0.9], '.', { id: 'b', row: 1 }));
  const log = groupGateEvents([gateHeader(), ...whole, open, ...rest, endLine('never opened')]);
  const run = shadowRun(log, 'live');
  assert.deepEqual([run.questions.length, run.excluded.gap], [1, 1]);
  assert.deepEqual(warningsOf(log), [
    'live: 1 line belongs to questions of which the beginning is lost, and is left out',
    'live: 1 question in shadow is left out because lines of it are lost',
  ]);
});

test('the words say what would have been skipped, deferred and changed, and why the cut is an interval', () => {
  const questions = [
    // Skips loop 1, calls and stops at loop 2: agrees with 1 call of 2.
    question([0.9, 0.3, 0.2], '.F.', { id: 'a', row: 0 }),
    // Skips the loop that fires: stops later, with 0 to 2 further calls where always-verify made 1.
    question([0.9, 0.3, 0.2], 'F..', { id: 'b', row: 1 }),
    // Never fires: 2 calls of 3.
    question([0.9, 0.3, 0.2], '...', { id: 'c', row: 2 }),
  ];
  const run = shadowOf(questions.flatMap((one) => loggedQuestion(one)));
  const figures = shadowFigures(run, 0.4, { resamples: 0 });
  assert.ok(figures);
  // Calls: 1 + (2 or 0) + 2 against 2 + 1 + 3.
  assert.equal(
    shadowWords(figures),
    "live: at τ 0.4 the gate would have skipped 3 of the decider's 6 calls in 3 questions, and 1 question would have stopped later. Agreement is 0.667, and nothing is assumed in it: who skips a loop that fires stops later. The call cut lies between 0.167 (one call at every remaining loop) and 0.500 (no further call): a live shadow run follows the decider and ends where it fires, so what the gate would have asked after skipping that loop was not observed (1 question).",
  );
  assert.equal(figures.addedLoops.pessimistic.value, 2 / 3);
  assert.equal(figures.addedLoops.optimistic.value, 1 / 3);
});

test('sessions that say nothing are left out and counted by reason', () => {
  const one = (row: number, more: Parameters<typeof loggedQuestion>[1] = {}) =>
    loggedQuestion(question([0.9, 0.3], '..', { id: `q${row}`, row }), more);
  const withoutEnd = one(1).slice(0, -1);
  const [openedIn, ...rest] = one(2);
  const stopped = [...one(3).slice(0, -1), endLine('s3', { stopped_by: 'error', loops: 2 })];
  const noClaims = loggedQuestion(question([0.9], '.', { id: 'q4', row: 4, claims: 0 }), {});
  const noLoop = [one(5)[0] as GateEvent, endLine('s5')];
  const run = shadowOf([
    ...one(0),
    ...withoutEnd,
    ...([{ ...openedIn, mode: 'enforce' }, ...rest] as GateEvent[]),
    ...stopped,
    ...noClaims,
    ...noLoop,
    ...one(6, { loop: { covered: null, error: 'decider failed: no answer' } }),
    ...one(7, { loop: { margin: null } }),
    ...one(8, { loop: { asked: false, because: 'gate' } }),
  ]);
  assert.deepEqual(run.excluded, {
    enforced: 1,
    gap: 0,
    unfinished: 1,
    error: 1,
    call_bound: 0,
    no_claims: 1,
    no_loop: 1,
    no_margin: 1,
    no_verdict: 1,
    not_asked: 1,
  });
  assert.equal(run.questions.length, 1);
  const dataset = completion(run, 'observed');
  assert.deepEqual([dataset.rows, dataset.excluded], [8, { no_claims: 1, no_loop: 1, undecided: 5, repeated: 0 }]);
});

test('a last loop at which a bound came before the decider is no loop of any policy', () => {
  const events = loggedQuestion(question([0.9, 0.3, 0.2], '...', { id: 'a', row: 0 }));
  const [open, first, second, third, end] = events as [GateEvent, GateEvent, GateEvent, GateEvent, GateEvent];
  const bounded = { ...third, asked: false, because: 'stopped', covered: null } as GateEvent;
  const run = shadowOf([open, first, second, bounded, end]);
  assert.deepEqual([...(run.questions[0]?.observed.margins ?? [])], [0.9, 0.3]);
});

test('P7: logs of one name are one run, rows of the second after those of the first, and sessions of one question keep its id', () => {
  const events = (rows: readonly number[]) => rows.flatMap((row) => loggedQuestion(question([0.9], '.', { id: `q${row % 2}`, row })));
  const [joined] = joinShadowRuns([shadowOf(events([0, 1])), shadowOf(events([2]))]);
  assert.deepEqual(
    joined?.questions.map(({ pessimistic }) => [pessimistic.id, pessimistic.row]),
    [['q0', 0], ['q1', 1], ['q0', 2]], // prettier-ignore
  );
  assert.equal(joined?.sessions, 3);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type GateEvent, type GateLoop, type GateSettings, groupGateEvents } from '../../src/core/gate-log.js';
import { random } from '../../src/core/random.js';
import { roundMargin } from '../../src/core/units.js';
import { type LogAudits, auditWords, logAudits } from '../../src/evaluate/log-audits.js';
import { driftWords, logDrift } from '../../src/evaluate/log-drift.js';
import { logFigures } from '../../src/evaluate/log-figures.js';
import { logReportHtml, verdictWords } from '../../src/evaluate/log-report.js';
import { joinShadowRuns, shadowRun } from '../../src/evaluate/log-runs.js';
import { logBreakEven, logBreakEvenWords, logTimes } from '../../src/evaluate/log-times.js';
import { type GateTraffic, trafficOf } from '../../src/evaluate/log-traffic.js';
import { firstMargins } from '../../src/evaluate/margin-quantiles.js';
import { noExclusions } from '../../src/evaluate/question-run.js';
import { exampleProfile } from '../runtime/gate/example-profile.js';
import { endLine, gateHeader, loggedQuestion } from '../support/logged-questions.js';
import { question } from './question-runs.js';

function traffic(events: readonly GateEvent[], { settings }: { settings?: Partial<GateSettings> } = {}): GateTraffic {
  const name = 'live';
  const log = groupGateEvents([gateHeader(settings), ...events]);
  return { ...trafficOf(log, { file: `${name}.jsonl` }), sha256: name.padEnd(64, '0'), bytes: 1 };
}

/** An enforced session: "s" skips, "a" is audited in vain, "A" audited and fires, "e" an audit without a verdict, "c" calls in vain. */
function enforced(session: string, plan: string): GateEvent[] {
  const loops = plan.split('').map((one, at): GateLoop => {
    const asked = one !== 's';
    const covered = { s: null, e: null, a: false, A: true, c: false }[one] ?? null;
    const template = loggedQuestion(question([0.9], '.', { id: session, row: 0 }))[1] as GateLoop;
    const because = 'aAe'.includes(one) ? 'audit' : 'gate';
    return { ...template, session, loop: at + 1, decision: one === 'c' ? 'call' : 'skip', asked, because, covered };
  });
  const [open] = loggedQuestion(question([0.9], '.', { id: session, row: 0 }), { session }) as [GateEvent];
  return [{ ...open, mode: 'enforce' } as GateEvent, ...loops, endLine(session, { loops: loops.length })];
}

test('audits are counted over enforced questions, and one without a verdict leaves a range from not fired to fired', () => {
  const events = [
    ...enforced('1', 'ssacs'),
    ...enforced('2', 'sA'),
    ...enforced('3', 'se'),
    ...loggedQuestion(question([0.9], '.', { row: 9 })),
  ];
  const [audits] = logAudits([traffic(events, { settings: { audit: { skips: 0.5, questions: 0 } } })]);
  assert.ok(audits);
  const { estimate, ...counts } = audits;
  assert.deepEqual(counts, { name: 'live', share: 0.5, questions: 3, skips: 8, audited: 3, fired: 1, unanswered: 1, gaps: 0 });
  assert.deepEqual([estimate?.noneFired.wouldFire.value, estimate?.allFired.wouldFire.value], [2, 4]);
  assert.equal(
    auditWords(audits),
    // 1 − 0.5^F > 0.025 from F = 1 on. Had both fired: P(Bin(F, 0.5) ≤ 2) = (1 + F + F (F − 1) / 2) / 2^F > 0.025 up to F = 11, and at most 8 − 1 skips
    // can have fired. Saved: 5 that were not audited, less 2 − 1 or 4 − 2; at most none of them, at least all.
    'live: 8 skips in 3 enforced questions, each audited with probability 0.5: 3 were, and the decider fired at 1 of them. 1 audits got no verdict: the figures run from none of them having fired to all, and the intervals hold both ends. Estimated skips that would have fired: 2.0 to 4.0 (95% interval 1 to 7). Calls saved without missing anything, against asking at every loop that was run: 3.0 to 4.0 (95% interval 0 to 5).',
  );
});

test('a question that may not call any more, by its own bound, is not audited either, so its later skips count as none', () => {
  const bounds = { maxSteps: 6, maxCalls: null, maxTokens: null, maxMillis: null, noProgress: null };
  const [open, ...rest] = enforced('1', 'scss') as [GateEvent, ...GateEvent[]];
  const bounded = { ...open, bounds: { ...bounds, maxCalls: 1 } } as GateEvent;
  const [audits] = logAudits([traffic([bounded, ...rest, ...enforced('2', 'scss')], { settings: { bounds } })]);
  assert.equal(audits?.skips, 4);
  const [loose] = logAudits([traffic(enforced('1', 'scss'), { settings: { bounds: { ...bounds, maxCalls: 1 } } })]);
  assert.equal(loose?.skips, 3);
});

test('enforced questions of which lines are lost are counted, and say nothing of skips', () => {
  const [open, , ...rest] = enforced('1', 'sA') as [GateEvent, GateEvent, ...GateEvent[]];
  const events = [open, ...rest, ...enforced('2', 'sA')];
  const [audits] = logAudits([traffic(events, { settings: { audit: { skips: 0.5, questions: 0 } } })]);
  assert.deepEqual([audits?.gaps, audits?.questions, audits?.skips, audits?.fired], [1, 1, 2, 1]);
  assert.match(auditWords(audits as LogAudits), / 1 enforced questions of which lines are lost are left out\.$/);
});

test('without audits nothing is said of skips', () => {
  const [audits] = logAudits([traffic(enforced('1', 'ss'), { settings: { audit: { skips: 0, questions: 0 } } })]);
  assert.ok(audits);
  assert.equal(audits.estimate, null);
  assert.equal(
    auditWords(audits),
    'live: 2 skips in 1 enforced questions, each audited with probability 0: nothing is known of what they missed.',
  );
});

test('drift is tested on one first margin a question, against all that τ was chosen on and each dataset alone; without first margins it is not', () => {
  const draw = random(13, 'log drift');
  const margins = (count: number, shift: number) => Array.from({ length: count }, () => roundMargin(draw.float() * 0.5 + shift));
  const dataset = (name: string, values: readonly number[]) => ({
    dataset: name,
    questions: values.map((margin, row) => question([margin, 0.1], '..', { id: `${name}${row}`, row })),
    excluded: noExclusions(),
    rows: values.length,
  });
  const first_margins = firstMargins([dataset('hotpotqa', margins(200, 0.2)), dataset('2wiki', margins(200, 0.2))]);
  const profile = exampleProfile({ first_margins, trained_on: ['hotpotqa', '2wiki'] });
  const live = margins(120, 0.5).map((margin, row) => question([margin, 0.2], '..', { id: `q${row}`, row }));
  const again = loggedQuestion({ ...(live[0] as (typeof live)[number]), row: 999 });
  const log = traffic([...live.flatMap((one) => loggedQuestion(one)), ...again]);
  const drift = logDrift([log], profile) ?? [];
  assert.deepEqual(
    drift.map(({ name, dataset: of, questions, alarmAt }) => [name, of, questions, alarmAt !== null]),
    [['live', null, 120, true], ['live', 'hotpotqa', 120, true], ['live', '2wiki', 120, true]], // prettier-ignore
  );
  const [first] = drift;
  assert.ok(first?.alarmAt);
  assert.equal(
    driftWords(first),
    `live: DRIFT, the alarm came at question ${first.alarmAt} of 120 against the questions that τ was chosen on; without drift one would ever come with probability at most 0.01. τ says little about such questions: calibrate on their own log.`,
  );
  assert.equal(logDrift([log], exampleProfile()), null);
});

test('the break-even verdict is made of measured times', () => {
  // As in the shadow words' test: calls 2 + 1 + 3 always; gated 1 + (2 or 0) + 2, loops 2 + (3 or 2) + 3; 200 ms a call, 10 ms of gate a loop.
  const questions = [
    question([0.9, 0.3, 0.2], '.F.', { id: 'a', row: 0 }),
    question([0.9, 0.3, 0.2], 'F..', { id: 'b', row: 1 }),
    question([0.9, 0.3, 0.2], '...', { id: 'c', row: 2 }),
  ];
  const log = traffic(questions.flatMap((one) => loggedQuestion(one)));
  const [run] = joinShadowRuns([shadowRun(log.log, 'live')]);
  assert.ok(run);
  const figures = logBreakEven(run, 0.4, logTimes([log]));
  assert.ok(figures);
  const round = (value: number) => Math.round(value * 1e6) / 1e6;
  assert.deepEqual(
    [figures.always, figures.gated.pessimistic, figures.gated.optimistic, figures.host].map(round),
    // 6 × 0.2 / 3; (5 × 0.2 + 8 × 0.01) / 3; (3 × 0.2 + 7 × 0.01) / 3.
    [0.4, 0.36, 0.223333, 1],
  );
  // (0.4 − 0.36) / (2 / 3) = 0.06; (0.4 − 0.2233) / (1 / 3) = 0.53.
  assert.equal(
    logBreakEvenWords(figures),
    'live: verification takes 0.400 s a question when always asked, 0.223 to 0.360 s with the gate and its own work, claims included (measured on 3 questions in shadow); it pays in time while a loop of the host takes less than 0.06 to 0.53 s and one takes 1.00 s. The gate does not pay.',
  );
  const fast = { ...figures, host: 0.2 };
  assert.match(logBreakEvenWords(fast), /Whether the gate pays is open: it depends on loops that nobody saw\./);
  assert.match(logBreakEvenWords({ ...figures, host: 0.01 }), / The gate pays\.$/);
  assert.match(
    logBreakEvenWords({ ...figures, limit: { pessimistic: Infinity, optimistic: Infinity } }),
    /; it adds no loop, so every second saved is gained\. The gate pays\.$/,
  );
  assert.match(logBreakEvenWords({ ...figures, limit: { pessimistic: 0, optimistic: 0 } }), /it saves no time on verification, whatever a loop costs\. The gate does not pay\.$/); // prettier-ignore
});

test('making the claims counts once for whoever needs them: at the first call for a gate that calls, before the first search for the gate in any case', () => {
  const round = (value: number) => Math.round(value * 1e6) / 1e6;
  const secondsOf = (claims: { loop: number; ms: number }, deciderClaims: number | null) => {
    // Always-verify: 1 + 2 calls. The gate: none in the first, whose only loop it skips, and 1 of 2 in the second.
    const questions = [question([0.9], 'F', { id: 'a', row: 0 }), question([0.9, 0.3], '.F', { id: 'b', row: 1 })];
    const log = traffic(
      questions.flatMap((one) => loggedQuestion(one, { claims })),
      { settings: { decider: { name: 'mine', identity: {}, reads_claims: deciderClaims !== null } } },
    );
    const figures = logBreakEven(shadowRun(log.log, 'live'), 0.4, logTimes([log]));
    return [figures?.always, figures?.gated.pessimistic, figures?.gated.optimistic].map((one) => round((one as number) * 2));
  };
  // 3 × 0.2 + 2 × 0.5; 1 × 0.2 + 3 × 0.01 + 1 × 0.5.
  assert.deepEqual(secondsOf({ loop: 1, ms: 500 }, 2), [1.6, 0.73, 0.73]);
  // Before the first search the gate pays twice as well.
  assert.deepEqual(secondsOf({ loop: 0, ms: 500 }, 2), [1.6, 1.23, 1.23]);
  // A decider that reads none needs none.
  assert.deepEqual(secondsOf({ loop: 0, ms: 500 }, null), [0.6, 1.23, 1.23]);
});

test('logs of another gate are refused, by the first setting that differs', () => {
  const other = { gate: 'h', label: null };
  const log = groupGateEvents([gateHeader(), gateHeader({ evidence_text: 'sentence' }, other)]);
  assert.throws(() => trafficOf(log, { file: 'a.jsonl' }), {
    name: 'InputError',
    message:
      'a.jsonl: evidence_text differs between two headers of this log: "title+sentence" and "sentence"; a log for each gate keeps them apart',
  });
  // Another τ, seed or bound is the same gate at another time.
  const later = groupGateEvents([gateHeader(), gateHeader({ tau: 0.5, seed: 1 }, other)]);
  assert.equal(trafficOf(later, { file: 'a.jsonl' }).settings.tau, 0.5);
  assert.throws(() => trafficOf(groupGateEvents([]), { file: 'a.jsonl' }), {
    message: 'a.jsonl: no header of a gate in this file, so nothing says what its lines belong to',
  });
});

test('a gate without τ says so instead of a verdict', () => {
  const log = traffic(loggedQuestion(question([0.9], '.', { id: 'a', row: 0 })), { settings: { tau: null } });
  assert.deepEqual(verdictWords(logFigures([log], { resamples: 0 })), [
    'The gate had no threshold, so nothing can be said of skips: calibrate on this log first (hopgate calibrate --from-log).',
  ]);
});

test('the page stands alone, escapes what a host wrote, and links a question where it has a page', async () => {
  const [open, ...rest] = loggedQuestion(question([0.9, 0.3], '.F', { id: 'a', row: 0 })) as [GateEvent, ...GateEvent[]];
  const named = { ...open, question: '<script>alert(1)</script>' } as GateEvent;
  const failing = loggedQuestion(question([0.9], '.', { id: 'b', row: 1 }), { loop: { covered: null, error: 'decider failed: <b>' } });
  const log = traffic([named, ...rest, ...failing]);
  const html = await logReportHtml([log], logFigures([log], { resamples: 0 }), {
    title: 'A log',
    sessionHref: ({ open: { session } }) => (session === 's0' ? '#steps-s0' : undefined),
    more: [{ heading: 'Step by step', body: '<div id="steps-s0"></div>' }],
  });
  assert.doesNotMatch(html, /<script|https?:\/\/(?!www\.w3\.org)|<b>/);
  assert.ok(html.includes('<tr id="session-s0"><td><a href="#steps-s0">&#60;script&#62;alert(1)&#60;/script&#62;</a></td>'));
  assert.ok(html.includes('decider failed: &#60;b&#62;'));
  for (const heading of ['The verdict', 'How questions ended', 'Audited skips', 'Drift', 'Times', 'Errors', 'Questions', 'Step by step'])
    assert.ok(html.includes(`<h2>${heading}</h2>`), heading);
});

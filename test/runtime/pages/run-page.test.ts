import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runPage } from '../../../runtime/index.js';
import { runView } from '../../../runtime/pages/run-view.js';
import { groupGateEvents } from '../../../src/core/gate-log.js';
import { question } from '../../evaluate/question-runs.js';
import { type ExampleRun, exampleRun } from '../../support/example-runs.js';
import { gateHeader, loggedQuestion } from '../../support/logged-questions.js';

const ofRun = ({ session, settings }: ExampleRun, tau?: number): ReturnType<typeof runView> => runView(session, { settings, tau });

// Margins of the example: the first search leaves 1 − 0.3/√(0.3² + 0.1² + 1²) = 0.713961 and 1 − 0.1/√1.1 = 0.904654, the second 0 and 0.904654, the
// third 0 and 0. Against τ 0.4: skip, skip, call.
test('in enforce the page says what always-verify would have done only as far as it was observed', async () => {
  const view = ofRun(await exampleRun(({ loop }) => loop === 3));
  assert.equal(view.stop, 'Stopped by covered after 3 loops: the decider said that the evidence covers the question.');
  assert.equal(view.gate, 'The gate skipped loops 1 and 2 and called at loop 3.');
  assert.equal(
    view.always,
    'Always-verify would have called after each loop and stopped at loop 3 at the latest. Whether it would have stopped earlier, at loops 1 and 2, was not observed, since the decider was not asked there or gave no verdict.',
  );
  assert.deepEqual(
    view.steps.map((one) => [one.action, one.why, one.verdictWords, one.always]),
    [
      ...[1, 2].map(() => [
        'skipped',
        'Skipped, since margin 0.904654 is above τ 0.4: the evidence is still too far from what has to be found.',
        'not known, since the decider was not asked at this loop',
        'would have called here; whether it would have stopped was not observed.',
      ]),
      [
        'called',
        'Called, since margin 0 is at or below τ 0.4.',
        'covered',
        'would have called here, and stopped here at the latest; whether it would have stopped at loops 1 and 2 was not observed.',
      ],
    ],
  );
});

test('in shadow it is known, and what the gate would have done after a skipped fire is not, where the run ended there', async () => {
  const view = ofRun(await exampleRun(({ loop }) => loop === 2, { gate: { mode: 'shadow' } }));
  assert.equal(
    view.always,
    'Always-verify would have called after each loop and stopped at loop 2, the first at which the decider said covered: 2 calls.',
  );
  assert.equal(
    view.gate,
    'The gate at τ 0.4 would have skipped loops 1 and 2, among them loop 2, at which the decider said covered. It would have gone on; where it would have stopped was not observed, since this run ended there.',
  );
  assert.equal(
    view.steps[0]?.why,
    'Called, since this question runs in shadow, where the decider is asked at every loop. The gate would have skipped, since margin 0.904654 is above τ 0.4.',
  );
});

test('where the agent ran on, the gate’s later stop is told by its loop', async () => {
  const run = await exampleRun(({ loop }) => loop >= 2, { gate: { mode: 'shadow' }, runOn: true });
  const view = ofRun(run);
  assert.equal(
    view.gate,
    'The gate at τ 0.4 would have skipped loops 1 and 2, among them loop 2, at which the decider said covered, and stopped 1 loop later, at loop 3.',
  );
  assert.equal(view.stop, 'Stopped by hostFinished after 3 loops: the agent ended by itself. The decider had said covered at loop 2.');
  assert.equal(view.steps[2]?.always, 'would have stopped at loop 2 already.');
});

test('another τ than the gate’s is held against the margins, and said to be another', async () => {
  const run = await exampleRun(({ loop }) => loop === 2, { gate: { mode: 'shadow' } });
  const view = ofRun(run, 0.95);
  assert.equal(view.gate, 'The gate at τ 0.95 would have skipped no loop and stopped at loop 2, where the decider first said covered.');
  assert.match(view.steps[0]?.why ?? '', / Against τ 0\.95 it would have called: margin 0\.904654 is at or below τ 0\.95\.$/);
  assert.match(runPage(run.session, { settings: run.settings, tau: 0.95 }), /The gate itself ran with τ 0\.4\./);
});

test('a bound, its size, an error and a run that has not ended are each said in words', async () => {
  const bound = ofRun(await exampleRun(() => false, { gate: { mode: 'shadow', bounds: { maxSteps: 2 } } }));
  assert.equal(
    bound.stop,
    'Stopped by maxSteps after 2 loops: the bound on steps was reached, which is no sign of coverage. The bound was maxSteps: 2 steps.',
  );
  const failing = await exampleRun(
    () => {
      throw new Error('the model is away');
    },
    { gate: { mode: 'shadow', onError: 'stop' } },
  );
  assert.equal(ofRun(failing).stop, 'Stopped by error after 1 loop: something failed. The decider had not said covered.');
  assert.equal(ofRun(failing).steps[0]?.verdictWords, 'none, since something failed');
  assert.match(
    runPage(failing.session, { settings: failing.settings }),
    /<strong>Error:<\/strong> <bdi>decider failed: the model is away<\/bdi>/,
  );
  const { session, settings } = await exampleRun(() => false);
  assert.equal(runView({ ...session, end: null }, { settings }).stop, 'Not ended, as far as the log goes: 3 loops so far.');
  const calls = ofRun(await exampleRun(() => false, { gate: { mode: 'shadow', bounds: { maxCalls: 1 } } }));
  assert.equal(
    calls.stop,
    'Stopped by budget after 2 loops: a bound on calls, tokens or time was reached, which is no sign of coverage. The bound was maxCalls: 1 decider call.',
  );
});

test('an audited skip, a question without claims and a gate without τ say why they called or did not', async () => {
  const audited = ofRun(await exampleRun(() => false, { gate: { audit: { skips: 1, questions: 0 } } }));
  assert.equal(
    audited.steps[0]?.why,
    'Called as an audit: the gate said skip, since margin 0.904654 is above τ 0.4, and this skip was drawn by chance to be checked.',
  );
  assert.equal(audited.gate, 'The gate skipped no loop and called at loops 1, 2 and 3, at loops 1 and 2 only to check a skip.');
  const none = await exampleRun(() => false, { gate: { claims: { source: 'heuristic', make: () => Promise.resolve([]) } } });
  assert.equal(ofRun(none).steps[0]?.why, 'Not called: there are no claims, so nothing could be covered.');
  assert.match(runPage(none.session, { settings: none.settings }), /No loop has a margin/);
  const bare = await exampleRun(() => false, { gate: { mode: 'shadow', profile: undefined } });
  assert.equal(ofRun(bare).gate, 'The gate: it had no threshold, so nothing can be said of skips. Calibrate on this log first.');
});

test('what was not logged is said not to be, and shown nowhere', () => {
  const header = gateHeader();
  const { sessions } = groupGateEvents([header, ...loggedQuestion(question([0.9, 0.3], '.F', { id: 'my-id', row: 0 }))]);
  const html = runPage(sessions[0] as (typeof sessions)[number], { settings: header.settings });
  for (const words of [
    '<h1>my-id</h1>',
    'The query was not logged.',
    'New sentences: 3',
    'Their text was not logged.',
    'not logged: questions, queries and sentences stay with the agent',
  ])
    // prettier-ignore
    assert.ok(html.includes(words), words);
});

test('a very long run, passage or sentence is cut, and the page says so', async () => {
  const margins = Array.from({ length: 250 }, () => 0.9);
  const header = gateHeader();
  const { sessions } = groupGateEvents([header, ...loggedQuestion(question(margins, '.'.repeat(250), { id: 'a', row: 0 }))]);
  const html = runPage(sessions[0] as (typeof sessions)[number], { settings: header.settings });
  assert.ok(html.includes('The first 200 of 250 loops; the log has all.'));
  assert.equal(html.match(/<section class="loop /g)?.length, 200);
  const run = await exampleRun(() => false, { searches: [Array.from({ length: 120 }, (_, at) => ({ title: '', text: `${'y'.repeat(at === 0 ? 2500 : 3)} ${at},0,1` }))] }); // prettier-ignore
  const many = runPage(run.session, { settings: run.settings });
  assert.ok(many.includes('The first 100 of 120 sentences; the log has all.'));
  assert.ok(many.includes('y'.repeat(2000)) && !many.includes('y'.repeat(2001)) && many.includes('(2506 characters)'));
});

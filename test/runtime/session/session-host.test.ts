import assert from 'node:assert/strict';
import { test } from 'node:test';
import { InputError } from '../../../src/core/errors.js';
import { scriptedGate } from '../../support/scripted-gate.js';

const QUESTION = 'Where was the director of the film born?';

test('P85: an agent that ends by itself is told to go on once for each time, and ends when it does not search', async () => {
  const session = await scriptedGate(() => false, { forceContinue: 'Go on.' }).gate.open(QUESTION);
  await session.observe(['1,0,0']);
  assert.equal(session.nativeStop(), 'Go on.');
  await session.observe(['0,0,1']);
  assert.equal(session.nativeStop(), 'Go on.');
  assert.equal(session.nativeStop(), null);
  assert.equal(session.stoppedBy, 'hostFinished');
  const free = await scriptedGate(() => false).gate.open(QUESTION);
  assert.deepEqual([free.nativeStop(), free.stoppedBy], [null, 'hostFinished']);
});

test('a decider of the host’s is asked for by an observation, and its verdict is handed in', async () => {
  const { gate, read, clock } = scriptedGate(() => false, { decider: 'host' });
  const session = await gate.open(QUESTION);
  const asked = await session.observe(['1,1,0']);
  assert.deepEqual([asked.action, asked.covered, session.state.awaitsVerdict], ['call', null, true]);
  clock.now += 250;
  assert.equal((await session.verdict({ covered: false, p: 0.2 })).stoppedBy, null);
  await assert.rejects(session.verdict({ covered: true }), {
    message: `session ${session.id}: got a verdict that no observation asked for`,
  });
  await session.observe(['0,0,1']);
  // The host goes on without its verdict: counted, and never taken as covered.
  assert.equal((await session.observe(['0,1,0'])).action, 'call');
  assert.equal((await session.verdict({ covered: true })).stoppedBy, 'covered');
  assert.deepEqual(
    read().sessions[0]?.loops.map(({ covered, decider_ms: ms, error }) => [covered, ms, error]),
    [
      [false, 250, null],
      [null, 0, 'decider failed: the host went on without its verdict'],
      [true, 0, null],
    ],
  );
});

test('evidence that is refused leaves a verdict that is waited for, and spends nothing', async () => {
  const session = await scriptedGate(() => false, { decider: 'host' }).gate.open(QUESTION);
  await session.observe(['1,1,0']);
  await assert.rejects(session.observe(7 as never, { tokens: 5 }), InputError);
  await assert.rejects(session.observe(['0,0,1'], { tokens: -5 }), InputError);
  assert.equal(session.state.sentences, 1);
  assert.deepEqual([session.state.awaitsVerdict, session.state.tokens, session.state.errors], [true, 0, 0]);
  assert.equal((await session.verdict({ covered: true })).stoppedBy, 'covered');
});

test('a question’s time runs out while a verdict of the host’s is waited for, and the late verdict finds it stopped', async () => {
  const { gate, clock, read } = scriptedGate(() => false, { decider: 'host' });
  const session = await gate.open(QUESTION, { bounds: { maxMillis: 100 } });
  await session.observe(['1,1,0']);
  clock.now += 150;
  assert.deepEqual([session.stoppedBy, session.bound], ['budget', 'maxMillis']);
  assert.equal((await session.verdict({ covered: true })).stoppedBy, 'budget');
  assert.deepEqual([read().sessions[0]?.end?.bound, read().sessions[0]?.loops[0]?.error], ['maxMillis', null]);
});

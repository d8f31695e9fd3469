import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EmptyAnswerError, GateDeciderError, gatedLoop } from '../../../runtime/index.js';
import { scriptedGate } from '../../support/scripted-gate.js';

const question = 'Where was the director of the film born?';
const corpus: { [query: string]: string[] } = { film: ['1,0,0'], director: ['0,1,0'], other: ['0,0,1'] };
const search = (query: string): string[] => corpus[query] ?? [];
const script =
  (...queries: string[]) =>
  ({ searches }: { searches: readonly unknown[] }): string | null =>
    queries[searches.length] ?? null;

test('the plain loop searches until the decider says covered, and answers once with the reason before it', async () => {
  const { gate, calls } = scriptedGate(() => true);
  const asked: string[] = [];
  const result = await gatedLoop(search, {
    gate,
    question,
    next: script('film', 'director', 'other'),
    answer: (instruction) => {
      asked.push(instruction);
      return 'Cincinnati';
    },
  });
  assert.deepEqual(
    [result.stoppedBy, result.answer, result.searches.map(({ query }) => query)],
    ['covered', 'Cincinnati', ['film', 'director']],
  );
  assert.equal(calls.length, 1);
  assert.deepEqual(asked, [
    'The evidence that was found covers the question. Do not search again. Answer the question now, from what was found; if it does not suffice, say so in the answer.',
  ]);
});

test('P85, P91: forced continuation tells the agent once, in its next request, and the budget of the options is the budget of the run', async () => {
  const { gate } = scriptedGate(() => false, { forceContinue: 'Go on.', bounds: { maxSteps: 2 } });
  const messages: (string | null)[] = [];
  const result = await gatedLoop(search, {
    gate,
    question,
    next: ({ searches, message }) => {
      messages.push(message);
      return message === null && messages.length > 1 ? null : (['film', 'other', 'director'][searches.length] as string);
    },
  });
  assert.deepEqual(messages, [null, null, 'Go on.']);
  assert.deepEqual([result.stoppedBy, result.searches.length, result.answer], ['maxSteps', 2, null]);
});

test('P79: an empty final answer is asked for a second time, and then is an error; none is made up', async () => {
  const replies = [' ', 'Yes.'];
  const { gate } = scriptedGate(() => true);
  const next = script('film', 'director');
  assert.equal((await gatedLoop(search, { gate, question, next, answer: () => replies.shift() as string })).answer, 'Yes.');
  await assert.rejects(gatedLoop(search, { gate, question, next, id: 'q', answer: () => '' }), (error) => {
    assert.ok(error instanceof EmptyAnswerError);
    assert.equal(error.message, "session q: the model's final answer was empty twice, expected a text");
    return true;
  });
});

test('what search or agent throws ends the run by error, and a decider’s failure is typed', async () => {
  const { gate, read } = scriptedGate(() => false);
  await assert.rejects(
    gatedLoop(() => Promise.reject(new Error('no index')), { gate, question, next: () => 'film' }),
    {
      message: 'no index',
    },
  );
  assert.equal(read().sessions[0]?.end?.stopped_by, 'error');
  const throwing = scriptedGate(() => Promise.reject(new Error('down')), { onError: 'throw' }).gate;
  await assert.rejects(
    gatedLoop(() => ['1,1,0'], { gate: throwing, question, next: () => 'film' }),
    GateDeciderError,
  );
});

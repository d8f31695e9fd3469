import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type AgentEnd, type LoopOptions, searchQuestion, selfAskAgent } from '../../src/agents/index.js';
import type { Loop } from '../../src/core/trajectories.js';
import type { ChatRequest } from '../../src/llm/index.js';
import { bm25Index, sentencePool } from '../../src/retrieval/index.js';
import { type Scripted, type ScriptedModel, scriptedModel } from '../support/scripted-model.js';
import { recordOf } from '../support/trajectories.js';

const record = recordOf(
  [
    ['Mona Ray', 'Mona Ray is a singer.', 'She was born in Tarn.'],
    ['Tarn', 'Tarn is a town in Elland.', 'It has a mill.'],
    ['Elland', 'Elland is a country.', 'Its capital is Orr.'],
  ],
  { question: 'In which country was the singer Mona Ray born?' },
);

/** The turn of a request that is not the intermediate answer's. */
const isStep = ({ messages }: ChatRequest): boolean => !(messages.at(-1)?.content ?? '').endsWith('Answer:');
const userOf = (request: ChatRequest): string => request.messages.at(-1)?.content ?? '';

/** Says the lines in order where the next step is asked for, and always "Tarn" as intermediate answer. */
function saying(...lines: Scripted[]): ScriptedModel {
  let at = 0;
  return scriptedModel((request) => (isStep(request) ? (lines[at++] ?? new Error(`no line ${at} in the script`)) : 'Tarn'));
}

function run(
  model: ScriptedModel,
  { forceContinue, ...options }: LoopOptions & { forceContinue?: boolean } = {},
): Promise<{ loops: Loop[]; end: AgentEnd }> {
  return searchQuestion(selfAskAgent(model, { forceContinue }), { record, retriever: bm25Index(sentencePool(record)), top: 1, ...options });
}

test('Self-Ask asks, answers each follow-up from what it found, and stops with its answer', async () => {
  const model = saying('Follow up: Where was Mona Ray born?', 'Follow up: Tarn is in which country?', 'So the final answer is: Elland');
  const { loops, end } = await run(model);
  assert.deepEqual(
    loops.map(({ loop, query, sub_answer, sentences, stop_reason }) => [
      loop,
      query,
      sub_answer,
      sentences.map(({ text }) => text),
      stop_reason,
    ]),
    [
      [1, 'Where was Mona Ray born?', 'Tarn', ['She was born in Tarn.'], null],
      [2, 'Tarn is in which country?', 'Tarn', ['Tarn is a town in Elland.'], 'no_follow_up'],
    ],
  );
  assert.equal(end.answered?.answer, 'Elland');
  assert.equal(end.usage?.calls, 5);
  assert.deepEqual(
    model.requests.map(({ maxTokens, temperature }) => [maxTokens, temperature]),
    [80, 48, 80, 48, 80].map((tokens) => [tokens, undefined]),
  );
  // The newest sentence first, then those before it.
  assert.equal(
    userOf(model.requests[3] as ChatRequest),
    '[Tarn]: Tarn is a town in Elland.\n[Mona Ray]: She was born in Tarn.\nQuestion: Tarn is in which country?\nAnswer:',
  );
  assert.match(
    end.answered?.transcript ?? '',
    /Search: Where was Mona Ray born\?\n {2}\[Mona Ray\] She was born in Tarn\.\nIntermediate answer: Tarn/,
  );
});

test('P91: the budget of the settings is the longest trajectory there is; the answer is then asked for', async () => {
  for (const budget of [1, 2, 6]) {
    let asked = 0;
    const model = scriptedModel((request) => {
      if (!isStep(request)) return 'x';
      return /Nothing more can be looked up/.test(userOf(request)) ? 'So the final answer is: Orr' : `Follow up: question ${asked++}?`;
    });
    const { loops, end } = await run(model, { budget });
    assert.deepEqual([loops.length, loops.at(-1)?.stop_reason, end.stop_reason, end.answered?.answer], [budget, 'budget', 'budget', 'Orr']);
    // A step and an intermediate answer a loop, one step that asks in vain, and the answer.
    assert.equal(model.requests.length, 2 * budget + 2);
  }
});

test('a model that writes nothing, rambles, or begins with its answer has searched for the question once, and its end has a name', async () => {
  const cases: [Scripted[], string, string | null][] = [
    [['', '', ''], 'no_output', null],
    [['I like trains', 'I like trains', 'I like trains'], 'off_format', 'I like trains'],
    [['So the final answer is: Orr', 'So the final answer is: Orr'], 'no_follow_up', 'Orr'],
    [['Follow up:', 'Follow up: none', 'So the final answer is: Orr'], 'no_follow_up', 'Orr'],
  ];
  for (const [lines, reason, answer] of cases) {
    const { loops, end } = await run(saying(...lines));
    assert.deepEqual([loops.map(({ query }) => query), end.stop_reason, end.answered?.answer], [[record.question], reason, answer], reason);
  }
});

test('a follow-up that never ends is cut at its limit, and one that is asked again goes on to the next sentences, within the budget', async () => {
  const endless = `Follow up: ${Array.from({ length: 200 }, (_, at) => `word${at}`).join(' ')}`;
  const { loops, end } = await run(
    scriptedModel((request) => (isStep(request) ? endless : 'x')),
    { budget: 4 },
  );
  // 80 words are let through, two of which are the mark.
  assert.equal(loops[0]?.query.split(' ').length, 78);
  assert.deepEqual([loops.length, end.stop_reason, end.counts?.repeated_queries], [4, 'budget', 3]);
});

test('P87: two loops that bring nothing end the question', async () => {
  const small = recordOf([['T', 'one', 'two']], { question: 'one' });
  const model = scriptedModel((request) => (isStep(request) ? 'Follow up: one?' : 'x'));
  const { loops, end } = await searchQuestion(selfAskAgent(model), { record: small, retriever: bm25Index(sentencePool(small)), top: 3 });
  assert.deepEqual(
    [loops.map(({ sentences }) => sentences.length), loops.map(({ sub_answer }) => sub_answer), end.stop_reason],
    [[2, 0, 0], ['x', null, null], 'no_progress'],
  );
});

test('P85: forced continuation is told in the next request, once a stop, and superseded answers are forgotten', async () => {
  const model = saying(
    'Follow up: Where was Mona Ray born?',
    'So the final answer is: Tarn',
    'Follow up: Where is Tarn?',
    'So the final answer is: Elland',
    'So the final answer is: Elland, as I said',
  );
  const { loops, end } = await run(model, { forceContinue: true, budget: 3 });
  assert.deepEqual([loops.length, end.stop_reason, end.answered?.answer], [2, 'continue_refused', 'Elland, as I said']);
  assert.equal(end.counts?.forced_stops, 2);
  const told = model.requests.filter(isStep).map((request) => userOf(request).split('That is not enough').length - 1);
  assert.deepEqual(told, [0, 0, 1, 0, 1]);
  // At the budget nothing is left to go on with: the stop is its own.
  const once = await run(saying('Follow up: Where?', 'So the final answer is: Tarn'), { forceContinue: true, budget: 1 });
  assert.deepEqual([once.end.stop_reason, once.end.answered?.answer, once.end.counts?.forced_stops], ['no_follow_up', 'Tarn', 0]);
});

test('its identity names model, prompt and limits', () => {
  const { identity } = selfAskAgent(saying(), { forceContinue: true });
  const { prompt_sha256, fidelity_note, ...rest } = identity as { [name: string]: unknown };
  assert.match(String(prompt_sha256), /^[0-9a-f]{64}$/);
  assert.match(String(fidelity_note), /papers/);
  assert.deepEqual(rest, {
    agent: 'self-ask',
    model: { model: 'scripted' },
    max_tokens: { follow_up: 80, intermediate: 48, final: 48 },
    sentences_read: 12,
    force_continue: true,
    first_query: 'its own; the question itself where it asks nothing',
    fidelity: 'approximate',
  });
});

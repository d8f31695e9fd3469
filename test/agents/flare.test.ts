import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type AgentEnd, draginAgent, flareAgent, searchQuestion } from '../../src/agents/index.js';
import type { Loop } from '../../src/core/trajectories.js';
import { type ChatRequest, LanguageModelError, NoLogprobsError } from '../../src/llm/index.js';
import { bm25Index, sentencePool } from '../../src/retrieval/index.js';
import { type Scripted, type ScriptedModel, scriptedModel } from '../support/scripted-model.js';
import { recordOf } from '../support/trajectories.js';

const record = recordOf(
  [
    ['Mona Ray', 'Mona Ray is a singer.', 'She was born in Tarn.'],
    ['Tarn', 'Tarn is a town in Elland.', 'It has a mill.'],
  ],
  { question: 'In which country was the singer Mona Ray born?' },
);
const userOf = (request: ChatRequest): string => request.messages[1]?.content ?? '';
const drafting = (request: ChatRequest): boolean => userOf(request).startsWith('Question:');

/** A reply whose tokens are its words, with these probabilities (the last for all further ones). */
function words(text: string, ...probabilities: number[]): Scripted {
  const tokens = text.match(/\s*\S+/g) ?? [];
  return {
    text,
    logprobs: tokens.map((token, at) => ({ token, logprob: Math.log(probabilities[at] ?? (probabilities.at(-1) as number)), top: [] })),
  };
}

function inOrder(...replies: Scripted[]): ScriptedModel {
  let at = 0;
  return scriptedModel(() => replies[at++] ?? new Error(`no reply ${at} in the script`));
}

function run(
  model: ScriptedModel,
  options: { beta?: number; budget?: number; dragin?: boolean } = {},
): Promise<{ loops: Loop[]; end: AgentEnd }> {
  const { dragin = false, beta, budget = 8 } = options;
  const agent = dragin ? draginAgent(model, { beta }) : flareAgent(model, { beta });
  return searchQuestion(agent, { record, retriever: bm25Index(sentencePool(record)), top: 2, budget });
}

test('an improbable token makes its sentence a query, and the sentence is written again with what was found', async () => {
  const model = inOrder(
    words('Mona Ray was born in Orr. More behind it.', 0.9, 0.9, 0.9, 0.9, 0.9, 0.3, 0.01),
    words('Mona Ray was born in Tarn.', 0.9),
    words('Tarn is in Elland.', 0.9),
    words('So the answer is Elland.', 0.9),
  );
  const { loops, end } = await run(model);
  assert.deepEqual(
    loops.map(({ query, sub_answer, sentences, stop_reason }) => [query, sub_answer, sentences.length, stop_reason]),
    [['Mona Ray was born in Orr.', null, 2, 'finished']],
  );
  assert.deepEqual([end.answered?.answer, end.counts], ['Elland', { sentences: 3, confident_sentences: 2 }]);
  assert.deepEqual(model.requests.map(drafting), [true, false, true, true]);
  assert.match(userOf(model.requests[1] as ChatRequest), /^\[Mona Ray\]: She was born in Tarn\.\n/);
  assert.match(userOf(model.requests[2] as ChatRequest), /\nText so far: Mona Ray was born in Tarn\.\n/);
  assert.ok(model.requests.every(({ maxTokens, logprobs }) => maxTokens === 64 && logprobs === 0));
});

test('a token at the threshold is no trigger, and one behind the first sentence is none either', async () => {
  const model = inOrder(words('The answer is Elland. It is so.', 0.4, 0.4, 0.4, 0.4, 0.1));
  const { loops, end } = await run(model);
  assert.deepEqual([loops.length, end.stop_reason, end.answered?.answer], [0, 'finished', 'Elland']);
});

test('a character of several tokens is as improbable as the least of them, at the start of a sentence too', async () => {
  const tokens: [string, number][] = [
    ['', 0.01],
    ['', 0.99],
    ['東', 0.99],
    ['京。', 0.99],
    ['', 0.001],
    ['大', 0.99],
  ];
  const logprobs = tokens.map(([token, p]) => ({ token, logprob: Math.log(p), top: [] }));
  const model = inOrder(
    { text: '東京。\n大', logprobs: [...logprobs.slice(0, 4), { token: '\n', logprob: 0, top: [] }, ...logprobs.slice(4)] },
    '',
    '',
  );
  const { loops, end } = await run(model, { budget: 1 });
  assert.deepEqual(
    loops.map(({ query }) => query),
    ['東京。'],
  );
  assert.match(String(end.answered?.transcript), /least probable token 0\.0100\)/);
});

test('DRAGIN-approx is the same loop at 0.6, marked as approximate with what differs', async () => {
  const script = (): Scripted[] => [words('The answer is Tarn.', 0.5), words('The answer is Orr.', 0.9)];
  assert.deepEqual(
    [(await run(inOrder(...script()))).loops.length, (await run(inOrder(...script()), { dragin: true })).loops.length],
    [0, 1],
  );
  const dragin = draginAgent(inOrder()).identity as { [name: string]: unknown };
  assert.deepEqual([dragin.agent, dragin.beta, dragin.fidelity], ['dragin', 0.6, 'approximate']);
  assert.match(String(dragin.fidelity_note), /attention/);
});

test('P103: every baseline says how faithful it is, with a note and its threshold', () => {
  for (const agent of [flareAgent(inOrder()), draginAgent(inOrder()), flareAgent(inOrder(), { beta: 0.3 })]) {
    const { fidelity, fidelity_note, beta } = agent.identity as { [name: string]: unknown };
    assert.ok(['exact', 'approximate'].includes(String(fidelity)));
    assert.ok(String(fidelity_note).length > 20);
    assert.equal(typeof beta, 'number');
  }
});

test('every end has its name: the limit of sentences, the budget, a sentence again, nothing written', async () => {
  let at = 0;
  const endless = await run(scriptedModel(() => words(`Sentence number ${at++}.`, 0.9)));
  assert.deepEqual([endless.end.stop_reason, endless.end.counts?.sentences, endless.loops.length], ['sentence_limit', 8, 0]);
  const unsure = await run(
    scriptedModel(() => words(`Sentence number ${at++}.`, 0.1)),
    { budget: 2 },
  );
  assert.deepEqual([unsure.end.stop_reason, unsure.loops.length, unsure.loops.at(-1)?.stop_reason], ['budget', 2, 'budget']);
  const again = await run(scriptedModel(() => words('It is so.', 0.1)));
  assert.deepEqual([again.end.stop_reason, again.loops.length], ['repeated_sentence', 1]);
  assert.equal((await run(scriptedModel(() => words(' ', 1)))).end.stop_reason, 'no_output');
  assert.equal((await run(inOrder(words('One.', 0.9), words('', 1)))).end.stop_reason, 'finished');
});

test('a model without log-probabilities is refused before the first question', async () => {
  const prefix = '--agent flare: needs the log-probabilities of tokens, and the language model gives none';
  await assert.rejects(async () => flareAgent(inOrder('yes')).prepare?.(), { name: 'InputError', message: prefix });
  await assert.rejects(async () => flareAgent(inOrder(new NoLogprobsError('logprobs is not supported'))).prepare?.(), {
    name: 'InputError',
    message: `${prefix} (logprobs is not supported)`,
  });
  // A server that is down says nothing of log-probabilities.
  await assert.rejects(async () => draginAgent(inOrder(new LanguageModelError('no answer within 2 s'))).prepare?.(), {
    name: 'StoppedError',
    message: '--agent dragin: no answer within 2 s; the same command with --resume tries again',
  });
  await flareAgent(inOrder(words('yes', 0.9))).prepare?.();
});

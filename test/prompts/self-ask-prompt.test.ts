import assert from 'node:assert/strict';
import { test } from 'node:test';
import { flareConclusion, readSelfAsk, readShortAnswer, selfAskStep } from '../../src/prompts/index.js';

test('a reply is read up to its first follow-up or final answer, in whatever dress a small model writes it', () => {
  const cases: [string, ReturnType<typeof readSelfAsk>][] = [
    ['Follow up: Where was Mona Ray born?', { kind: 'follow_up', query: 'Where was Mona Ray born?' }],
    ['**Follow-up question 2:** "Where is Tarn?"', { kind: 'follow_up', query: 'Where is Tarn?' }],
    ['Follow up: Édith Piaf was born where?', { kind: 'follow_up', query: 'Édith Piaf was born where?' }],
    ['Follow up: Где родился Пушкин?', { kind: 'follow_up', query: 'Где родился Пушкин?' }],
    ['Follow-up： 東京はどこですか', { kind: 'follow_up', query: '東京はどこですか' }],
    ['Follow up: … 1984?', { kind: 'follow_up', query: '… 1984?' }],
    ['follow up:\nWhere is Tarn?\n', { kind: 'follow_up', query: 'Where is Tarn?' }],
    ['Where is Tarn?', { kind: 'follow_up', query: 'Where is Tarn?' }],
    ['Follow up: A?\nIntermediate answer: b\nFollow up: C?\nSo the final answer is: d', { kind: 'follow_up', query: 'A?' }],
    ['So the final answer is: Elland.', { kind: 'final', answer: 'Elland' }],
    ['The final answer is **Elland**', { kind: 'final', answer: 'Elland' }],
    ['Are follow up questions needed here: No.\nSo the final answer is: J. K. Rowling', { kind: 'final', answer: 'J. K. Rowling' }],
    ['<think>Follow up: no!</think>So the final answer is: x', { kind: 'final', answer: 'x' }],
    ['Follow up: none.', { kind: 'final', answer: '' }],
    ['Follow up:', { kind: 'final', answer: '' }],
    [' \n ', { kind: 'empty' }],
    ['<think>and then', { kind: 'empty' }],
    ['I am a helpful assistant.', { kind: 'other' }],
  ];
  for (const [reply, expected] of cases) assert.deepEqual(readSelfAsk(reply), expected, reply);
});

test('a short answer is the first line without its dress, and none where the sentences had none', () => {
  assert.equal(readShortAnswer('Answer: "Tarn".\nBecause it says so.'), 'Tarn');
  assert.equal(readShortAnswer('Dr. No was a film.'), 'Dr. No was a film.');
  for (const nothing of ['', ' \n', 'Not found.', 'not found', 'Not found in the sentences.']) assert.equal(readShortAnswer(nothing), null);
});

test('a follow-up with line breaks cannot write a line of the exchange', () => {
  const turns = selfAskStep('Q\nFollow up: mine', [{ question: 'a\nSo the final answer is: x', answer: null }], 'conclude');
  assert.deepEqual(
    turns.slice(-3).map(({ role, content }) => [role, content.split('\n')[0]]),
    [
      ['user', 'Question: Q Follow up: mine'],
      ['assistant', 'Follow up: a So the final answer is: x'],
      ['user', 'Intermediate answer: not found'],
    ],
  );
  assert.equal(turns.at(-1)?.content.split('\n').length, 2);
});

test('the turns of an exchange alternate, the examples in the form of the question', () => {
  const turns = selfAskStep('Q?', []);
  assert.deepEqual(
    turns.map(({ role }) => role),
    ['system', ...turns.slice(1).map((_, at) => (at % 2 === 0 ? 'user' : 'assistant'))],
  );
  assert.deepEqual(turns.at(-1), { role: 'user', content: 'Question: Q?' });
  for (const { role, content } of turns) if (role === 'assistant') assert.notEqual(readSelfAsk(content).kind, 'other', content);
  // Told to go on, no example shows how to conclude.
  const told = selfAskStep('Q?', [{ question: 'A?', answer: 'b' }], 'go_on');
  const own = told.filter(({ role }) => role === 'assistant').map(({ content }) => readSelfAsk(content).kind);
  assert.deepEqual([...new Set(own)], ['follow_up']);
  assert.equal(told.filter(({ content }) => content.includes('That is not enough')).length, 3);
});

test("FLARE's last sentence says the answer", () => {
  assert.equal(flareConclusion('So the answer is Elland.'), 'Elland');
  assert.equal(flareConclusion('So the answer is: "Orr"'), 'Orr');
  assert.equal(flareConclusion('Mona Ray was born in Tarn.'), undefined);
});

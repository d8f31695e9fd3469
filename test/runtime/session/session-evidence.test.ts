import assert from 'node:assert/strict';
import { test } from 'node:test';
import { InputError } from '../../../src/core/errors.js';
import { gateEvent } from '../../../src/core/gate-log.js';
import { TWO_CLAIMS, numberProfile, scriptedGate } from '../../support/scripted-gate.js';

const QUESTION = 'Where was the director of the film born?';

test('sentences are new once: by their place where the host gives it, else by title and text', async () => {
  const session = await scriptedGate(() => false).gate.open(QUESTION);
  assert.equal((await session.observe(['1,0,0', { text: '1,0,0', title: 'A' }, { text: '1,0,0' }, ' '])).newSentences, 2);
  assert.equal((await session.observe([{ text: '1,0,0', page: 0, sentence: 1 }, { text: '1,0,0', page: 0, sentence: 2 }])).newSentences, 2); // prettier-ignore
  assert.equal((await session.observe([{ text: 'another text 0,1,0', page: 0, sentence: 1 }])).newSentences, 0);
});

test('text is split by the profile’s splitter, and refused where the profile knows another', async () => {
  const split = await scriptedGate(() => false).gate.open(QUESTION);
  assert.equal((await split.observe('A first one 1,0,0. And a second 0,1,0.')).newSentences, 2);
  const { gate } = scriptedGate(() => false, { profile: numberProfile({ splitter: ['dataset'] }) });
  const session = await gate.open(QUESTION);
  await assert.rejects(session.observe('A first one.'), {
    message:
      'splitter differs: the profile was made with ["dataset"], this run uses "sbd@1.0.19"; hand in sentences instead of text, or calibrate on text; `transfer` applies the profile knowingly',
  });
  assert.equal((await session.observe(['1,0,0'])).loop, 1);
  const knowingly = scriptedGate(() => false, { profile: numberProfile({ splitter: ['dataset'] }), transfer: true }).gate;
  assert.deepEqual(knowingly.settings.transferred, ['splitter: ["dataset"] → "sbd@1.0.19"']);
});

test('the session’s own evidence and a broken observation are refused by field, and count as no loop', async () => {
  const session = await scriptedGate(() => false).gate.open(QUESTION);
  const broken: [unknown, string][] = [
    [7, 'evidence: got number, expected a text or a list of sentences'],
    [[{ title: 'A' }], 'field evidence[0]: got text undefined, expected a string or { title?, text }'],
    [['a', { text: 'b', page: 1 }], 'field evidence[1]: expected page and sentence together, as whole numbers from 0'],
    ['x'.repeat(1_000_001), 'evidence: got over 1000000 characters in one observation, expected retrieved passages'],
  ];
  for (const [evidence, message] of broken) {
    await assert.rejects(session.observe(evidence as string), (error) => error instanceof InputError && error.message === message, message);
  }
  assert.equal(session.state.loops, 0);
});

test('every event of every kind of session follows the log’s schema', async () => {
  const { gate, log } = scriptedGate(({ loop }) => loop === 2, { content: true, label: 'mine' });
  const session = await gate.open(QUESTION, { questionId: 'q1' });
  await session.observe([{ title: 'A', text: '1,1,0' }], { query: 'who?' });
  await session.observe(['0,1,0']);
  for (const event of log.events) gateEvent.parse(event);
  const open = log.events.find((event) => event.event === 'open');
  assert.deepEqual([open?.question, open?.claim_texts, open?.claims], [QUESTION, TWO_CLAIMS, 2]);
});

test('without content no line holds a word of question, query or evidence', async () => {
  const { gate, log } = scriptedGate(() => false);
  const session = await gate.open('The SECRET question?');
  await session.observe([{ title: 'SECRET', text: 'SECRET 1,0,0' }], { query: 'SECRET' });
  session.finish();
  assert.doesNotMatch(JSON.stringify(log.events), /SECRET/);
});

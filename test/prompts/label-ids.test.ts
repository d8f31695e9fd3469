import assert from 'node:assert/strict';
import { test } from 'node:test';
import { labelIds, openTextTokenizer } from '../../src/prompts/index.js';
import { smallTokenizer } from '../support/small-tokenizer.js';

const tokenizer = await openTextTokenizer(await smallTokenizer());
const encode = (text: string): number[] => tokenizer.encode(text);

test('P66: label ids are those of prompt and label together', () => {
  const ids = labelIds(['match', 'null'], 'assistant\n', encode);
  assert.equal(tokenizer.decode(ids.match), 'match');
  assert.deepEqual([...encode('assistant\n'), ...ids.null], encode('assistant\nnull'));
});

test('P66: a label that is read as one token with the end of the prompt is refused by name', () => {
  // The vocabulary has "mat": "ma" and "tch" do not stand side by side in it.
  assert.throws(() => labelIds(['match', 'tch'], 'ma', encode), {
    name: 'InputError',
    message:
      'label "tch": its beginning is read as one token with the end of the prompt "ma", so its probability could not be told from that of ' +
      'the prompt (boundary merge)',
  });
});

test('P66: a prompt whose end depends on what follows is refused too', () => {
  // GPT-2's pattern takes two line breaks together at the end of a text, and apart before a word.
  assert.deepEqual(encode('\n\n').length, 1);
  assert.throws(() => labelIds(['match'], '\n\n', encode), {
    name: 'InputError',
    message:
      'label "match": its beginning is read as one token with the end of the prompt "\\n\\n", so its probability could not be told from that ' +
      'of the prompt (boundary merge)',
  });
});

test('P66: a label without a token of its own is refused', () => {
  assert.throws(() => labelIds(['match', ''], 'assistant\n', encode), {
    name: 'InputError',
    message: 'label "": no token of its own, expected at least one',
  });
});

test('P67: "match" and " match" have other ids, and the one without a space is what is scored', () => {
  const ids = labelIds(['match', ' match'], 'assistant\n', encode);
  assert.notDeepEqual(ids.match, ids[' match']);
  assert.equal(tokenizer.decode(ids.match), 'match');
});

test('two labels of equal ids are refused by name', () => {
  // A tokenizer that reads capitals as small letters.
  assert.throws(() => labelIds(['match', 'MATCH'], '\n', (text) => encode(text.toLowerCase())), {
    name: 'InputError',
    message: `labels "match" and "MATCH": equal token ids ${JSON.stringify(encode('match'))}`,
  });
});

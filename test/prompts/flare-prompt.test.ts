import assert from 'node:assert/strict';
import { test } from 'node:test';
import { flareConclusion } from '../../src/prompts/index.js';

test('a sentence that says its answer concludes with it, and one that says that there is none concludes nothing', () => {
  for (const [sentence, answer] of [
    ['So the answer is Elland.', 'Elland'],
    ['The answer to the question is: "no".', 'no'],
    ['So the answer is Not Fade Away.', 'Not Fade Away'],
    ['So the answer is Unknown Pleasures.', 'Unknown Pleasures'],
    ['The answer is not known here.', undefined],
    ['The answer is not yet clear.', undefined],
    ['The answer is unknown.', undefined],
    ['The answer is Unknown', undefined],
    ['The answer is unknown from this text.', undefined],
    ['So the answer is …', undefined],
    ['So the answer is ...', undefined],
    ['So the answer is', undefined],
    ['Elland is a country.', undefined],
  ] as const)
    assert.equal(flareConclusion(sentence), answer, sentence);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { random } from '../../src/core/random.js';
import { normaliseAnswer, scoreAnswer } from '../../src/evaluate/answer-scores.js';
import { pythonOrSkip, runPython } from '../support/python.js';

test('P22: yes, no and noanswer only equal themselves', () => {
  // A token F1 without the rule would give 2 · (1/2 · 1) / (1/2 + 1) = 0.667 here.
  assert.deepEqual(scoreAnswer('yes indeed', ['yes']), { em: 0, f1: 0 });
  assert.deepEqual(scoreAnswer('yes', ['yes indeed']), { em: 0, f1: 0 });
  assert.deepEqual(scoreAnswer('no', ['no one']), { em: 0, f1: 0 });
  assert.deepEqual(scoreAnswer('noanswer', ['']), { em: 0, f1: 0 });
  assert.deepEqual(scoreAnswer('Yes.', ['yes']), { em: 1, f1: 1 });
});

test('articles, punctuation, case and spaces do not count; tokens count as often as both sides have them', () => {
  assert.equal(normaliseAnswer('  The "Löwenmensch",\t a figurine '), 'löwenmensch figurine');
  // Shared: new, york, once each. Precision 2/3, recall 2/2.
  assert.deepEqual(scoreAnswer('New New York', ['the New York']), { em: 0, f1: 0.8 });
  assert.deepEqual(scoreAnswer('U.S.', ['US']), { em: 1, f1: 1 });
  // Without a token there is no shared one: the official script gives F1 0 beside an exact match.
  assert.deepEqual(scoreAnswer('the', ['...']), { em: 1, f1: 0 });
});

test('of several aliases the best one counts, for each measure by itself', () => {
  assert.deepEqual(scoreAnswer('Kofi Annan', ['Annan', 'Kofi Atta Annan', 'kofi annan']), { em: 1, f1: 1 });
  assert.deepEqual(scoreAnswer('Kofi Annan', ['Annan', 'Kofi Atta Annan']), { em: 0, f1: 0.8 });
  assert.deepEqual(scoreAnswer('anything', []), { em: 0, f1: 0 });
});

test('P22: equals a Python implementation of the official definition on 400 pairs', (t) => {
  const python = pythonOrSkip(t);
  if (python === undefined) return;
  const pieces = (
    'yes|no|noanswer|the|a|an|The|AN|New York|new-york|U.S.|1,234|1234|Straße|STRASSE|Æsop|İstanbul|ΣΊΣΥΦΟΣ|naïve|nai\u0308ve|東京|a東|“the”|‘a’|' +
    "the_|_a|½|a½|²|x²the|\u00a0|\u2003|\ufeff|\u200b|\u0085|\u001c|\u180e|\t|\n||...|$5|`|«an»|—|o'the'r|🙂|the🙂|ｔｈｅ|a\u0301"
  ).split('|');
  const draw = random(13, 'answers');
  const answer = (): string =>
    Array.from({ length: draw.int(4) }, () => pieces[draw.int(pieces.length)]).join(draw.int(3) === 0 ? '' : ' ');
  const pairs = Array.from({ length: 400 }, (): [string, string[]] => [answer(), Array.from({ length: 1 + draw.int(3) }, answer)]);
  const theirs = runPython(python, 'answer_scores.py', pairs) as [number, number][];
  // The same operations on the same integers in the same order: equal to the last bit.
  pairs.forEach(([prediction, answers], at) => {
    const { em, f1 } = scoreAnswer(prediction, answers);
    assert.deepEqual([em, f1], theirs[at], JSON.stringify([prediction, answers]));
  });
  assert.ok(theirs.some(([, f1]) => f1 > 0 && f1 < 1) && theirs.some(([em]) => em === 1));
});

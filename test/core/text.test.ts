import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { foldCase, normaliseSentence, normaliseTitle, words } from '../../src/core/text.js';

test('titles that differ only in Unicode form, HTML entities or white space are the same; case counts', () => {
  const same = ['Alû &amp; Lilû', 'Alu\u0302 &#38; Lilu\u0302', ' Alû  &  Lilû ', 'Alû\u00a0& Lilû'];
  assert.equal(new Set(same.map(normaliseTitle)).size, 1);
  assert.notEqual(normaliseTitle('The Who'), normaliseTitle('The who'));
});

test('an entity that stands for a combining mark still composes', () => {
  assert.equal(normaliseTitle('Lilu&#x302;'), 'Lilû');
});

test('sentences are the same text after NFKC, case folding, punctuation and white space', () => {
  // Python: unicodedata.normalize('NFKC', s).casefold() without category P, split and joined gives 'strasse 2 fin'.
  for (const one of ['Straße ② ﬁn.', ' STRASSE\t2 – “fin”', 'strasse 2 fin']) assert.equal(normaliseSentence(one), 'strasse 2 fin');
  assert.notEqual(normaliseSentence('2 + 2'), normaliseSentence('2 2'), 'a plus sign is a symbol, not punctuation');
});

test('folding is idempotent, for every code point and for any text', () => {
  for (let code = 0; code < 0x110000; code++) {
    if (code >= 0xd800 && code < 0xe000) continue;
    const once = foldCase(`a${String.fromCodePoint(code)}b`);
    assert.equal(foldCase(once), once, `U+${code.toString(16)}`);
  }
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      for (const fold of [foldCase, normaliseSentence]) assert.equal(fold(fold(text)), fold(text));
    }),
    { seed: 13 },
  );
});

test('words are letters, digits and marks', () => {
  assert.deepEqual(words("Who's the U.S. president, born 1732–1799?"), ['who', 's', 'the', 'u', 's', 'president', 'born', '1732', '1799']);
});

import fc from 'fast-check';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type PoolSentence, bm25Index, placeKey, sentencePool } from '../../src/retrieval/index.js';
import type { RetrievedSentence } from '../../src/core/trajectories.js';
import { recordOf } from '../support/trajectories.js';

const animals = sentencePool(
  recordOf([
    ['fox', 'red fox runs'],
    ['hen', 'the red hen'],
    ['owl', 'an owl sees the old'],
    ['elk', 'red'],
  ]),
);

function search(pool: readonly PoolSentence[], query: string, top: number, exclude?: ReadonlySet<string>): RetrievedSentence[] {
  const found = bm25Index(pool).search(query, { top, exclude });
  assert.ok(Array.isArray(found));
  return found;
}

test('P25, P27: scores are those of a table computed by hand, with a word in three of four sentences above zero', () => {
  // Lengths of `title sentence`: 4, 4, 6, 2 words, mean 4; k1 1.2, b 0.75, so k1·(1 − b + b·length/mean) = 1.2, 1.2, 1.65, 0.75.
  // red: df 3, ln(1 + 1.5/3.5) = 0.356675 (the classic ln(1.5/3.5) would be −0.847298). fox: df 1, ln(1 + 3.5/1.5) = 1.203973.
  // fox page: 0.356675·1/2.2 + 1.203973·2/3.2 = 0.162125 + 0.752483; elk: 0.356675·1/1.75; hen: 0.356675·1/2.2; owl: no word.
  const expected: [string, number][] = [
    ['fox', 0.914608],
    ['elk', 0.203814],
    ['hen', 0.162125],
    ['owl', 0],
  ];
  const found = search(animals, 'Red FOX?', 4);
  assert.deepEqual(
    found.map(({ title }) => title),
    expected.map(([title]) => title),
  );
  // Six decimals, as the table is rounded.
  for (const [at, [title, score]] of expected.entries())
    assert.ok(Math.abs((found[at] as RetrievedSentence).score - score) < 5e-7, `${title}: ${found[at]?.score}`);
});

test('a word asked twice counts twice', () => {
  const [once] = search(animals, 'fox', 1);
  const [twice] = search(animals, 'fox fox', 1);
  // Doubling is exact in binary floating point.
  assert.equal(twice?.score, 2 * (once?.score ?? NaN));
});

test('P25: in pools of 2 to 20 sentences a sentence with a word of the query is above every sentence without one', () => {
  const word = fc.constantFrom('a', 'b', 'c', 'd', 'e');
  const text = fc.array(word, { minLength: 1, maxLength: 6 }).map((all) => all.join(' '));
  fc.assert(
    fc.property(fc.array(text, { minLength: 2, maxLength: 20 }), fc.array(word, { minLength: 1, maxLength: 3 }), (texts, query) => {
      const pool = texts.map((one, sentence) => ({ page: 0, sentence, title: '', text: one }));
      for (const { text: found, score } of search(pool, query.join(' '), pool.length))
        assert.equal(
          score > 0,
          query.some((one) => found.split(' ').includes(one)),
          found,
        );
    }),
    { seed: 13 },
  );
});

test('the index gives what the formula gives when it is computed sentence by sentence', () => {
  const word = fc.constantFrom('a', 'b', 'c', 'd', 'e');
  const text = fc.array(word, { minLength: 1, maxLength: 8 });
  const cases = fc.record({
    texts: fc.array(text, { minLength: 1, maxLength: 12 }),
    query: fc.array(word, { maxLength: 4 }),
    k1: fc.constantFrom(0, 0.9, 1.2),
    b: fc.constantFrom(0, 0.4, 0.75, 1),
    top: fc.integer({ min: 1, max: 5 }),
  });
  fc.assert(
    fc.property(cases, ({ texts, query, k1, b, top }) => {
      const mean = texts.reduce((sum, one) => sum + one.length, 0) / texts.length;
      const naive = texts.map((own) => {
        let score = 0;
        for (const one of query) {
          const df = texts.filter((other) => other.includes(one)).length;
          const tf = own.filter((other) => other === one).length;
          if (tf > 0) score += (Math.log(1 + (texts.length - df + 0.5) / (df + 0.5)) * tf) / (tf + k1 * (1 - b + (b * own.length) / mean));
        }
        return score;
      });
      const order = naive.map((score, sentence) => ({ score, sentence })).toSorted((x, y) => y.score - x.score || x.sentence - y.sentence);
      const pool = texts.map((one, sentence) => ({ page: 0, sentence, title: '', text: one.join(' ') }));
      const found = bm25Index(pool, { k1, b }).search(query.join(' '), { top }) as RetrievedSentence[];
      assert.deepEqual(
        found.map(({ score, sentence }) => ({ score, sentence })),
        order.slice(0, top),
      );
    }),
    { seed: 13 },
  );
});

test('equal scores keep the pool order, and zero scores fill up in it', () => {
  const pool = sentencePool(recordOf([['x', 'one', 'two', 'apple', 'three', 'apple']]));
  const places = search(pool, 'apple', 4).map(({ sentence }) => sentence);
  assert.deepEqual(places, [2, 4, 0, 1]);
  assert.deepEqual(
    search(pool, '', 9).map(({ sentence }) => sentence),
    [0, 1, 2, 3, 4],
  );
});

test('excluded sentences are passed over, and the next best take their places', () => {
  const exclude = new Set([placeKey(0, 0), placeKey(3, 0)]);
  assert.deepEqual(
    search(animals, 'red fox', 3, exclude).map(({ title }) => title),
    ['hen', 'owl'],
  );
});

test('empty sentences are no part of the pool but keep their index, and pages of one title stay apart', () => {
  const pool = sentencePool(recordOf([['T', '', '  ', ' third'], ['T', 'other'], ['Empty']]));
  assert.deepEqual(pool, [
    { page: 0, sentence: 2, title: 'T', text: ' third' },
    { page: 1, sentence: 0, title: 'T', text: 'other' },
  ]);
  assert.deepEqual(search([], 'anything', 3), []);
  // Sentences without any word: nothing to divide by.
  assert.deepEqual(
    search([{ page: 0, sentence: 0, title: '—', text: '…' }], '…', 3).map(({ score }) => score),
    [0],
  );
});

test('the identity names engine, formula, tokeniser, indexed text and parameters', () => {
  assert.deepEqual(bm25Index([], { k1: 0.9, b: 0.4 }).identity, {
    retriever: 'bm25',
    unit: 'sentence',
    pool: 'question',
    indexed_text: 'title sentence',
    tokeniser: 'runs of letters, digits and marks after NFKC and case folding; no stop words, no stemming',
    idf: 'ln(1 + (N - df + 0.5) / (df + 0.5))',
    tf: 'tf / (tf + k1 * (1 - b + b * length / mean length))',
    k1: 0.9,
    b: 0.4,
  });
});

test('parameters outside their ranges are refused', () => {
  assert.throws(() => bm25Index([], { k1: -1 }), { message: 'k1: got -1, expected a number of at least 0' });
  assert.throws(() => bm25Index([], { b: 1.5 }), { message: 'b: got 1.5, expected a number in [0, 1]' });
  assert.throws(() => bm25Index([]).search('x', { top: 0 }), { message: 'top: got 0, expected an integer of at least 1' });
});

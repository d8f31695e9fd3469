import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { labelCandidates } from '../../datasets/index.js';
import { resolveSupporting } from '../../datasets/supporting.js';
import type { HopRecord } from '../../src/core/records.js';
import { normaliseSentence, normaliseTitle } from '../../src/core/text.js';
import { recordOf } from '../support/trajectories.js';

type Pages = readonly (readonly [title: string, ...sentences: string[]])[];

function labelled(pages: Pages, facts: readonly (readonly [title: string, sentence: number])[], more: Partial<HopRecord> = {}): HopRecord {
  const record = recordOf(pages, more);
  record.supporting = resolveSupporting(
    record.pages,
    facts.map(([title, sentence]) => ({ title, sentence })),
  );
  return record;
}

const places = (list: readonly { claim: number; page: number; sentence: number }[]): number[][] =>
  list.map(({ claim, page, sentence }) => [claim, page, sentence]);

test('gold sentences match, the rest of a gold page is partial, distractor pages are null', () => {
  const record = labelled(
    [
      ['A', 'a0', 'a1', ' '],
      ['B', 'b0', 'b1'],
      ['C', 'c0', '', 'c2'],
    ],
    [
      ['B', 1],
      ['A', 0],
    ],
  );
  const found = labelCandidates(record);
  // Claims stand in the order of the facts; the empty sentences 0.2 and 2.1 are passed over and keep their index.
  assert.deepEqual(places(found.match), [
    [0, 1, 1],
    [1, 0, 0],
  ]);
  assert.deepEqual(places(found.partial), [
    [0, 1, 0],
    [1, 0, 1],
  ]);
  assert.deepEqual(places(found.null), [
    [-1, 2, 0],
    [-1, 2, 2],
  ]);
});

test('P1: a fact past the end of its page is dropped and counted; a page with such facts alone is neither gold nor distractor', () => {
  const record = labelled(
    [
      ['A', 'a0', 'a1', 'a2'],
      ['B', 'b0'],
      ['C', 'c0'],
    ],
    [
      ['A', 902],
      ['B', 0],
    ],
  );
  const found = labelCandidates(record);
  assert.deepEqual([found.danglingFacts, found.hopsWithoutEvidence], [1, 1]);
  assert.deepEqual([places(found.match), places(found.partial), places(found.null)], [[[0, 1, 0]], [], [[-1, 2, 0]]]);
});

test('P1: when every fact dangles there is no claim, which is a reason of its own', () => {
  const found = labelCandidates(
    labelled(
      [
        ['A', 'a0'],
        ['C', 'c0'],
      ],
      [['A', 902]],
    ),
  );
  assert.deepEqual(found.skipped, { reason: 'no_claims', detail: 'no supporting fact names a sentence that exists' });
  assert.equal(found.null.length, 0);
});

test('P3: a question whose gold page is not in its pool gives nothing unless that is allowed', () => {
  const record = labelled(
    [
      ['A', 'a0', 'a1'],
      ['C', 'c0'],
    ],
    [
      ['A', 0],
      ['Gone', 0],
    ],
  );
  assert.deepEqual(labelCandidates(record).skipped, { reason: 'gold_page_missing', detail: 'no page of the pool has the title "Gone"' });
  const allowed = labelCandidates(record, { allowMissingGold: true });
  assert.deepEqual([allowed.match.length, allowed.partial.length, allowed.null.length], [1, 1, 1]);
});

test('a title on several pages: the first page on which the fact resolves is gold, and none of them is a distractor', () => {
  const record = labelled(
    [
      ['Orr &amp; Co', 'x0'],
      ['Orr & Co', 'y0', 'y1'],
      ['C', 'c0'],
      ['C', 'c1'],
    ],
    [['Orr  & Co', 1]],
  );
  const found = labelCandidates(record);
  assert.deepEqual([places(found.match), places(found.partial)], [[[0, 1, 1]], [[0, 1, 0]]]);
  // A distractor page that stands twice counts twice.
  assert.deepEqual(places(found.null), [
    [-1, 2, 0],
    [-1, 3, 0],
  ]);
});

test('P14: a sentence with the text of a gold sentence is neither null nor partial, and is counted', () => {
  const record = labelled(
    [
      ['A', 'The “Mill” is old.', 'THE MILL  is old', 'More.'],
      ['C', 'the mill is old!', 'Ｔhe mill is old', 'c2'],
    ],
    [['A', 0]],
  );
  const found = labelCandidates(record);
  assert.deepEqual([found.refusedPartial, found.refusedNull], [1, 2]);
  assert.deepEqual([places(found.partial), places(found.null)], [[[0, 0, 2]], [[-1, 1, 2]]]);
});

// Few texts and titles, so that equal ones meet often.
const sentence = fc.constantFrom('a b.', 'A  b', 'a-b', 'ａ b', 'c', 'C!', 'd', '', ' ', 'ß x', 'SS X', 'e.');
const page = fc.record({ title: fc.constantFrom('T', 'T ', 'U', '&#85;', 'V', 'W'), sentences: fc.array(sentence, { maxLength: 4 }) });
const anyRecord = fc.record({
  pages: fc.array(page, { minLength: 1, maxLength: 6 }),
  facts: fc.array(fc.record({ title: fc.constantFrom('T', 'U', 'V'), sentence: fc.integer({ min: 0, max: 4 }) }), {
    minLength: 1,
    maxLength: 4,
  }),
});

test('P14: no null or partial candidate shares its normalised text with a gold sentence of its question', () => {
  fc.assert(
    fc.property(anyRecord, ({ pages, facts }) => {
      const record = recordOf([], { pages, supporting: resolveSupporting(pages, facts) });
      const found = labelCandidates(record, { allowMissingGold: true });
      const textOf = (place: { page: number; sentence: number }): string =>
        normaliseSentence(record.pages[place.page]?.sentences[place.sentence] as string);
      const golds = new Set(found.match.map(textOf));
      for (const one of [...found.null, ...found.partial]) assert.ok(!golds.has(textOf(one)));
    }),
    { numRuns: 2000, seed: 13 },
  );
});

test('candidates are those of a plain reading of the rules', () => {
  fc.assert(
    fc.property(anyRecord, ({ pages, facts }) => {
      const record = recordOf([], { pages, supporting: resolveSupporting(pages, facts) });
      const found = labelCandidates(record, { allowMissingGold: true });
      const key = (p: number, s: number): string => `${p}.${s}`;
      // Gold places of every title, by going through the pages anew.
      const gold = new Map<string, Set<string>>();
      for (const { title, sentence: at } of facts) {
        const same = pages.flatMap((one, index) => (normaliseTitle(one.title) === normaliseTitle(title) ? [index] : []));
        const where = same.find((index) => at < (pages[index]?.sentences.length ?? 0));
        if (where !== undefined) gold.set(title, (gold.get(title) ?? new Set()).add(key(where, at)));
      }
      const allGold = new Set([...gold.values()].flatMap((set) => [...set]));
      const texts = new Set(
        pages.flatMap((one, p) => one.sentences.filter((text, s) => text.trim() !== '' && allGold.has(key(p, s))).map(normaliseSentence)),
      );
      const named = new Set(facts.map(({ title }) => normaliseTitle(title)));
      const expected = { match: 0, partial: 0, null: 0, refused: 0 };
      if (gold.size > 0)
        for (const [p, one] of pages.entries())
          for (const [s, text] of one.sentences.entries()) {
            if (text.trim() === '') continue;
            const isGoldPage = one.sentences.some((_, at) => allGold.has(key(p, at)));
            if (allGold.has(key(p, s))) expected.match++;
            else if (named.has(normaliseTitle(one.title)) && !isGoldPage) continue;
            else if (texts.has(normaliseSentence(text))) expected.refused++;
            else expected[isGoldPage ? 'partial' : 'null']++;
          }
      const got = {
        match: found.match.length,
        partial: found.partial.length,
        null: found.null.length,
        refused: found.refusedNull + found.refusedPartial,
      };
      assert.deepEqual(got, expected);
    }),
    { numRuns: 2000, seed: 13 },
  );
});

const musique = (): HopRecord =>
  recordOf(
    [
      ['Quill', 'Quill was born in Velm.', 'She wrote.'],
      ['Quill', 'A ship.'],
      ['Road', 'The road is by Mara QUILL  of Velm.', 'It is long.'],
      ['C', 'c0'],
    ],
    {
      dataset: 'musique',
      decomposition: [
        { question: 'Road >> author', answer: 'Mara Quill', page: 2 },
        { question: 'Where was #1 born?', answer: 'Velm', page: 0 },
      ],
    },
  );

test('P9: derived labels of MuSiQue are by paragraph: the answer’s sentence matches, a namesake paragraph is no gold page', () => {
  const found = labelCandidates(musique(), { derive: 'answer-sentence' });
  assert.deepEqual(places(found.match), [
    [0, 2, 0],
    [1, 0, 0],
  ]);
  assert.deepEqual(places(found.partial), [
    [0, 2, 1],
    [1, 0, 1],
  ]);
  assert.deepEqual(places(found.null), [[-1, 3, 0]]);
});

test('P10: a step without a paragraph makes the question one whose gold is missing', () => {
  const record = musique();
  record.decomposition.push({ question: '#2?', answer: 'x', page: null });
  assert.deepEqual(labelCandidates(record, { derive: 'answer-sentence' }).skipped, {
    reason: 'gold_page_missing',
    detail: 'no paragraph of the pool supports step 3 of the decomposition',
  });
});

test('a step whose answer stands in no sentence labels nothing of its paragraph', () => {
  const record = musique();
  record.decomposition[0] = { question: 'Road >> author', answer: 'nobody', page: 2 };
  const found = labelCandidates(record, { derive: 'answer-sentence' });
  assert.deepEqual([places(found.match), places(found.partial), places(found.null)], [[[1, 0, 0]], [[1, 0, 1]], [[-1, 3, 0]]]);
});

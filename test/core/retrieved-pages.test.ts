import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { HopRecord } from '../../src/core/records.js';
import { onRetrievedPages, retrievedPages } from '../../src/core/retrieved-pages.js';

const record: HopRecord = {
  question_id: 'q',
  row: 0,
  dataset: 'hotpotqa',
  question: 'Where does the Tarn rise?',
  answer: 'Elland',
  aliases: [],
  type: null,
  level: null,
  pages: [
    { title: 'Tarn', sentences: ['The Tarn is a river.', ' It rises in Elland, at U.S. height. ', ''] },
    { title: 'Elland', sentences: ['Elland is a town.'] },
  ],
  supporting: [
    { title: 'Tarn', page: 0, sentence: 1 },
    { title: 'Elland', page: 1, sentence: 0 },
  ],
  decomposition: [],
  evidences: [],
};

test('P9: documents of one title are pages of their own, and only an equal document is met again', () => {
  const met = retrievedPages();
  const first = met.bring([
    { title: 'Tarn', sentences: ['One.', '', 'Two.'], score: 2 },
    { title: 'Tarn', sentences: ['Three.'], score: 1 },
  ]);
  assert.deepEqual(
    first.map(({ page, sentence, text, score }) => [page, sentence, text, score]),
    [
      [0, 0, 'One.', 2],
      [0, 2, 'Two.', 2],
      [1, 0, 'Three.', 1],
    ],
  );
  const second = met.bring([
    { title: 'Tarn', sentences: ['Three.'], score: 9 },
    { title: 'Elland', sentences: ['Three.'], score: 0 },
  ]);
  assert.deepEqual(
    second.map(({ page, title }) => [page, title]),
    [[2, 'Elland']],
  );
  assert.deepEqual(met.pages[0], { title: 'Tarn', sentences: ['One.', '', 'Two.'] });
});

test('a supporting sentence is found by title and text, however the page was cut, and in every sentence that it lies in', () => {
  const pages = [
    { title: 'Elland', sentences: ['A different page: Elland is a town, they say.'] },
    { title: 'Tarn', sentences: ['Another passage.'] },
    { title: 'Tarn', sentences: ['The Tarn is a river.', 'It rises in Elland, at U.S.', 'height.', 'It is long.'] },
  ];
  const { record: moved, gold } = onRetrievedPages(record, pages);
  assert.equal(gold, 'resolved');
  assert.deepEqual(moved.pages, pages);
  assert.deepEqual(moved.supporting, [
    { title: 'Tarn', page: 2, sentence: 1 },
    { title: 'Tarn', page: 2, sentence: 2 },
    { title: 'Elland', page: 0, sentence: 0 },
  ]);
});

test('a page that was never retrieved leaves the question uncovered, and a title without its sentence drops the labels', () => {
  const found = { title: 'Elland', sentences: ['Elland is a town.'] };
  const never = onRetrievedPages(record, [found]);
  assert.equal(never.gold, 'not_retrieved');
  assert.deepEqual(never.record.supporting, [
    { title: 'Tarn', page: null, sentence: 1 },
    { title: 'Elland', page: 0, sentence: 0 },
  ]);
  // "Tarn" is there, but not in an edition that says where it rises; half of a word is no match either.
  const other = onRetrievedPages(record, [found, { title: 'Tarn', sentences: ['It rises in Ellandia, at U.S. heights.'] }]);
  assert.equal(other.gold, 'unresolved');
  assert.deepEqual(other.record.supporting, []);
  assert.equal(onRetrievedPages({ ...record, supporting: [] }, [found]).gold, 'none');
});

test('a step of a decomposition keeps its page only where the whole paragraph is found', () => {
  const musique: HopRecord = { ...record, supporting: [], decomposition: [{ question: 'rise?', answer: 'Elland', page: 0 }] };
  const whole = onRetrievedPages(musique, [
    { title: 'x', sentences: ['y'] },
    { title: 'Tarn', sentences: ['The Tarn is a river. It rises in Elland, at U.S. height.'] },
  ]);
  assert.deepEqual([whole.gold, whole.record.decomposition[0]?.page], ['resolved', 1]);
  const part = onRetrievedPages(musique, [{ title: 'Tarn', sentences: ['It rises in Elland, at U.S. height.'] }]);
  assert.deepEqual([part.gold, part.record.decomposition[0]?.page], ['unresolved', null]);
  const never = onRetrievedPages(musique, [{ title: 'Elland', sentences: ['Elland is a town.'] }]);
  assert.deepEqual([never.gold, never.record.decomposition[0]?.page], ['not_retrieved', null]);
});

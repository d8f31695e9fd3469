import assert from 'node:assert/strict';
import { test } from 'node:test';
import { imported } from '../support/imported-run.js';

test('P17: plain JSON lines keep shipped sentences, and a file does not mix them with text', async () => {
  const shipped = { title: 'T', sentences: ['As U.S. officials', 'said.'] };
  const { questions, manifest, quarantine } = await imported(
    [
      {
        question_id: 'a',
        question: 'A?',
        loops: [{ query: 'q', sub_answer: 's', documents: [shipped] }],
        prediction: 'p',
        stop_reason: 'budget',
      },
      { question: 'B?', loops: [{ query: 'q', documents: [{ title: 'T', text: 'One. Two.' }] }] },
      { question: 'C?', loops: [{ query: 'q', documents: [{ title: 'T', sentences: 7 }] }] },
    ],
    'jsonl',
  );
  assert.deepEqual(questions[0]?.record?.pages, [shipped]);
  assert.deepEqual([questions[0]?.trajectory.loops[0]?.sub_answer, questions[0]?.trajectory.loops[0]?.stop_reason], ['s', 'budget']);
  assert.equal(manifest.details.splitter, 'dataset');
  assert.deepEqual(
    quarantine.map(({ row, reason, detail }) => [row, reason, detail]),
    [
      [1, 'mixed_sentences', "got documents with text, expected those of the file's first"],
      [2, 'bad_field', 'got {"title":"T","sentences":7}, expected a document {title, text} or {title, sentences[]}'],
    ],
  );
});

test('a file in another format, or without a usable trajectory, is refused and leaves nothing', async () => {
  await assert.rejects(
    imported([{ question: 'Q?', text: 'no mark at all' }], 'search-r1'),
    /none of the 1 transcripts has a mark of the format search-r1$/,
  );
  await assert.rejects(
    imported([{ question: 'Q?' }], 'jsonl'),
    /field loops: none of the 1 records can be imported as jsonl; the first: got undefined, expected a list$/,
  );
});

test('P20: a long record is passed over while the others are imported', async () => {
  const huge = JSON.stringify({ question: 'H?', loops: [], transcript: 'x'.repeat(17 * 1024 * 1024) });
  const good = JSON.stringify({ question: 'G?', loops: [{ query: 'q', documents: [{ title: 't', text: 'a. '.repeat(100_000) }] }] });
  const { manifest, questions } = await imported(`${huge}\n${good}\n`, 'jsonl');
  assert.deepEqual(manifest.quarantined, { too_long: 1 });
  assert.equal(questions.length, 1);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hopgate } from '../support/cli.js';
import { temporaryFile, temporaryFolder } from '../support/files.js';
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

const searchedR1 =
  '<|begin_of_query|>one<|end_of_query|><|begin_of_documents|>(1)Title: Alm Text: It is old.<|end_of_documents|><answer> Cob </answer>';

test('the marks of the other format are no searches of this one: the file is refused, or the record left out', async () => {
  const rows = [
    { id: 'a', question: 'A?', gen_text_store: searchedR1 },
    { id: 'b', question: 'B?', gen_text_store: '<answer> by heart </answer>' },
  ];
  await assert.rejects(
    imported(rows, 'search-r1'),
    /1 transcripts have the marks of r1-searcher, and none a search in those of search-r1$/,
  );
  const own = '<search>x</search><information>Doc 1(Title: "T") t.</information><answer>1</answer>';
  const { manifest, quarantine } = await imported([...rows, { id: 'c', question: 'C?', response: own }], 'search-r1');
  assert.deepEqual(
    quarantine.map(({ row, reason, detail }) => [row, reason, detail]),
    [[0, 'bad_marks', 'got the marks of r1-searcher and no search in those of search-r1']],
  );
  assert.deepEqual([manifest.counts.questions, manifest.counts.loops, manifest.warnings], [2, 1, []]);
  const none = await imported(rows.slice(1), 'search-r1');
  assert.deepEqual(none.manifest.warnings, [
    'no trajectory has a search: there is no loop to decide on; is the file in the format search-r1?',
  ]);
});

test('ids that repeat are counted and said', async () => {
  const { manifest } = await imported(
    ['a', 'b', 'a', 'a'].map((id) => ({ id, question: `${id}?`, gen_text_store: searchedR1 })),
    'r1-searcher',
  );
  assert.equal(manifest.counts.repeated_ids, 2);
  assert.deepEqual(manifest.warnings, ['2 questions have an id that stood before; calibrate and replay ask for --repeats']);
});

test('the command prints what was left out and what was repaired by reason', async () => {
  const file = await temporaryFile(
    'trajectories.jsonl',
    [
      { id: 'a', question: 'A?', gen_text_store: `${searchedR1}<|begin_of_query|>cut` },
      { id: 'b', question: 'B?', gen_text_store: 'x<|end_of_query|>' },
      { id: 'c', question: 'C?' },
      { id: 'd', question: 'D?', gen_text_store: 'x<|end_of_query|>' },
    ]
      .map((one) => `${JSON.stringify(one)}\n`)
      .join(''),
  );
  const args = ['trajectories', 'import', file, '--format', 'r1-searcher', '--out', await temporaryFolder()];
  const { code, stdout } = await hopgate(args);
  assert.equal(code, 0);
  assert.deepEqual(stdout.split('\n').slice(1, 4), [
    '       2  skipped  bad_marks              the marks of a transcript do not fit each other',
    '       1  skipped  bad_field              a field is missing or has another form',
    '       1  repaired query_cut_off          the transcript ends inside a query',
  ]);
});

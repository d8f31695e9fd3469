import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { openRecords } from '../../datasets/index.js';
import { openOutputFolder } from '../../src/core/output-folder.js';
import { type HopRecord, recordColumns } from '../../src/core/records.js';
import { collect } from '../../src/core/tables.js';
import { dataOrSkip } from '../support/data.js';
import { temporaryFile, temporaryFolder } from '../support/files.js';

const hotpot = {
  _id: 'a1',
  question: 'Who built the bridge over the Ember?',
  answer: 'Ada Orr',
  type: 'bridge',
  level: 'easy',
  supporting_facts: [
    ['Ember', 0],
    ['Orr &amp; Co', 1],
  ] as [string, number][],
  context: [
    ['Ember', ['The Ember is a river.', '', ' It is crossed by one bridge.']],
    ['Orr & Co', ['A firm.']],
    ['Orr & Co', ['Another page.', 'It built the bridge.']],
  ] as [string, string[]][],
};
const { _id, context, supporting_facts, ...shared } = hotpot;
const hub = {
  id: _id,
  ...shared,
  supporting_facts: { title: supporting_facts.map(([title]) => title), sent_id: supporting_facts.map(([, at]) => at) },
  context: { title: context.map(([title]) => title), sentences: context.map(([, sentences]) => sentences) },
};
const expected: HopRecord = {
  question_id: 'a1',
  row: 0,
  dataset: 'hotpotqa',
  question: hotpot.question,
  answer: 'Ada Orr',
  aliases: [],
  type: 'bridge',
  level: 'easy',
  pages: context.map(([title, sentences]) => ({ title, sentences })),
  // The second fact's sentence 1 exists only on the second page of that title; its title has an HTML entity in the fact alone.
  supporting: [
    { title: 'Ember', page: 0, sentence: 0 },
    { title: 'Orr &amp; Co', page: 2, sentence: 1 },
  ],
  decomposition: [],
  evidences: [],
};

const musique = {
  id: '2hop__1_2',
  question: 'Where was the author of The Salt Road born?',
  answer: 'Velm',
  answer_aliases: ['Velm City'],
  answerable: true,
  paragraphs: [
    { idx: 4, title: 'Mara Quill', paragraph_text: 'Mara Quill was born in Velm. She wrote books.', is_supporting: true },
    { idx: 7, title: 'Mara Quill', paragraph_text: 'Mara Quill is also a ship.', is_supporting: false },
    { idx: 9, title: 'The Salt Road', paragraph_text: 'The Salt Road is by Mara Quill.', is_supporting: true },
  ],
  question_decomposition: [
    { id: 77, question: 'The Salt Road >> author', answer: 'Mara Quill', paragraph_support_idx: 9 },
    { id: 78, question: 'Where was #1 born?', answer: 'Velm', paragraph_support_idx: 4 },
  ],
};

/** A list of objects as the hub stores it: one object of lists. */
function asColumns(rows: readonly object[]): object {
  return Object.fromEntries(
    Object.keys(rows[0] as object).map((name) => [name, rows.map((row) => (row as { [field: string]: unknown })[name])]),
  );
}

async function read(name: string, content: string, options: Parameters<typeof openRecords>[1] = {}) {
  const opened = await openRecords(await temporaryFile(name, content), options);
  return { records: await collect(opened.records), opened };
}

test('reads the official HotpotQA form, and the hub form to the same records', async () => {
  assert.deepEqual((await read('a.json', JSON.stringify([hotpot]))).records, [expected]);
  assert.deepEqual((await read('a.jsonl', JSON.stringify(hub))).records, [expected]);
});

test('P17: a dataset that ships sentences is never split again, and says so', async () => {
  const one = { ...hotpot, context: [['Ember', ['Dr. A. B. Lee met Mr. Orr. They talked.', 'x']]], supporting_facts: [['Ember', 0]] };
  const { records, opened } = await read('a.json', JSON.stringify([one]));
  assert.deepEqual(records[0]?.pages, [{ title: 'Ember', sentences: ['Dr. A. B. Lee met Mr. Orr. They talked.', 'x'] }]);
  assert.equal(opened.splitter, 'dataset');
  assert.equal((await read('m.jsonl', JSON.stringify(musique))).opened.splitter, 'sbd@1.0.19');
});

test('reads 2Wiki with its evidences in the official and two hub forms', async () => {
  const evidences = [{ subject: 'Ember', relation: 'crossed by', object: 'Orr Bridge' }];
  for (const [name, one] of [
    ['a.json', [{ ...hotpot, type: 'compositional', evidences: [['Ember', 'crossed by', 'Orr Bridge']] }]],
    ['a.jsonl', { ...hub, type: 'compositional', evidences: { fact: ['Ember'], relation: ['crossed by'], entity: ['Orr Bridge'] } }],
    [
      'b.jsonl',
      {
        ...hub,
        type: 'compositional',
        context: JSON.stringify(context),
        evidences: JSON.stringify([['Ember', 'crossed by', 'Orr Bridge']]),
      },
    ],
  ] as const) {
    assert.deepEqual(
      (await read(name, JSON.stringify(one))).records,
      [{ ...expected, dataset: '2wiki', type: 'compositional', evidences }],
      name,
    );
  }
});

test('P9: MuSiQue paragraphs of one title stay two pages', async () => {
  const { records } = await read('m.jsonl', JSON.stringify(musique));
  assert.deepEqual(records[0]?.pages, [
    { title: 'Mara Quill', sentences: ['Mara Quill was born in Velm.', 'She wrote books.'] },
    { title: 'Mara Quill', sentences: ['Mara Quill is also a ship.'] },
    { title: 'The Salt Road', sentences: ['The Salt Road is by Mara Quill.'] },
  ]);
});

test('P10: a step of MuSiQue finds its paragraph by paragraph_support_idx, and a null one is tolerated', async () => {
  const steps = [...musique.question_decomposition, { id: 79, question: '#2?', answer: 'x', paragraph_support_idx: null }];
  const one = { ...musique, question_decomposition: steps };
  for (const record of [one, { ...one, paragraphs: asColumns(one.paragraphs), question_decomposition: asColumns(steps) }]) {
    const { records } = await read('m.jsonl', JSON.stringify(record));
    assert.deepEqual(records[0]?.decomposition, [
      { question: 'The Salt Road >> author', answer: 'Mara Quill', page: 2 },
      { question: 'Where was #1 born?', answer: 'Velm', page: 0 },
      { question: '#2?', answer: 'x', page: null },
    ]);
    assert.deepEqual(records[0]?.aliases, ['Velm City']);
  }
});

test('a MuSiQue index that names no paragraph is counted as a repair', async () => {
  const one = { ...musique, question_decomposition: [{ id: 1, question: 'q', answer: 'a', paragraph_support_idx: 99 }] };
  const { records, opened } = await read('m.jsonl', JSON.stringify(one));
  assert.deepEqual(records[0]?.decomposition, [{ question: 'q', answer: 'a', page: null }]);
  assert.deepEqual(opened.quarantine.repaired, { unknown_paragraph: 1 });
});

test('reads Bamboogle, whose answers are a list', async () => {
  const { records, opened } = await read(
    'b.json',
    JSON.stringify([{ Question: 'Who?', id: 'b1', source: 'bamboogle', answer: ['A', 'B'] }]),
  );
  assert.equal(opened.dataset, 'bamboogle');
  assert.deepEqual([records[0]?.question, records[0]?.answer, records[0]?.aliases], ['Who?', 'A', ['B']]);
});

test('reads its own records from a file, and from a finished folder in both formats', async () => {
  const line = JSON.stringify(expected);
  const { opened, records } = await read('own.jsonl', `${line}\n`);
  assert.equal(opened.dataset, 'jsonl');
  assert.deepEqual(records, [expected]);
  for (const format of ['arrow', 'jsonl'] as const) {
    const dir = join(await temporaryFolder(), 'records');
    const out = await openOutputFolder({ dir, kind: 'records', command: 'test', options: {}, seed: 13, inputs: [] });
    await out.table('records', recordColumns, [expected], format);
    await out.finish({ counts: {}, details: { dataset: 'hotpotqa', splitter: 'dataset' } });
    const folder = await openRecords(dir);
    assert.deepEqual([folder.dataset, folder.splitter, folder.inputs], ['hotpotqa', 'dataset', [join(dir, `records.${format}`)]]);
    assert.deepEqual(await collect(folder.records), [expected]);
  }
});

test('a hand-written record needs no more than an id and a question; a misspelt field is refused by name', async () => {
  const pages = [{ title: 'Ember', sentences: ['A river.'] }];
  const good = { question_id: 'x', question: 'What is Ember?', pages, supporting: [{ title: 'Ember', sentence: 0 }] };
  const { records, opened } = await read('own.jsonl', `${JSON.stringify(good)}\n${JSON.stringify({ ...good, suporting: [] })}\n`);
  assert.deepEqual(records[0]?.supporting, [{ title: 'Ember', page: 0, sentence: 0 }]);
  assert.equal(records.length, 1);
  assert.deepEqual(opened.quarantine.skipped, { bad_field: 1 });
});

test('one bad record never costs a good one: each is quarantined with its place, field and value', async () => {
  const content = Buffer.concat([
    Buffer.from(`${JSON.stringify(hub)}\n{"id": "broken", \n`),
    Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d, 0x0a]),
    Buffer.from(`${JSON.stringify({ ...hub, id: null })}\n${JSON.stringify({ ...hub, question: ' ' })}\n`),
    Buffer.from(`${JSON.stringify({ ...hub, context: { title: ['Ember'], sentences: [['a', 3]] } })}\n[1]\n`),
    Buffer.from(
      `${JSON.stringify({ ...hub, context: { title: ['Ember'], sentences: [] } })}\n${JSON.stringify({ ...hub, id: 7 })}\n{"id": "cut`,
    ),
  ]);
  const file = await temporaryFile('a.jsonl', content);
  const opened = await openRecords(file);
  const records = await collect(opened.records);
  assert.deepEqual(
    records.map(({ question_id, row }) => [question_id, row]),
    [
      ['a1', 0],
      ['7', 8],
    ],
  );
  assert.deepEqual(
    opened.quarantine.entries.map(({ reason, row, line: at, field, detail }) => [reason, row, at, field, detail]),
    [
      ['bad_json', 1, 2, null, 'got "{\\"id\\": \\"broken\\", ", expected one JSON object'],
      ['bad_utf8', 2, 3, null, 'the bytes are not UTF-8'],
      ['no_id', 3, 4, null, 'the record has no id'],
      ['no_question', 4, 5, 'question', 'the question is empty'],
      ['bad_field', 5, 6, 'context[0].sentences[1]', 'got 3, expected string'],
      ['bad_field', 6, 7, null, 'got [1], expected one JSON object'],
      ['bad_field', 7, 8, 'context.sentences', 'got 0 values, expected 1 as in context.title'],
      ['cut_off', 9, 10, null, 'got "{\\"id\\": \\"cut", expected one JSON object'],
    ],
  );
  assert.deepEqual(opened.quarantine.skipped, { bad_json: 1, bad_utf8: 1, no_id: 1, no_question: 1, bad_field: 3, cut_off: 1 });
  await collect(opened.records);
  assert.equal(opened.quarantine.entries.length, 8, 'a second reading starts the quarantine anew');
});

test('half of a surrogate pair is read as U+FFFD and counted, a whole pair is left alone', async () => {
  const file = await temporaryFile(
    'halves.json',
    JSON.stringify([{ ...hotpot, question: 'Who wrote \ud83d about \ud83d\ude00 at Ember?' }]),
  );
  const opened = await openRecords(file);
  const [record] = await collect(opened.records);
  assert.equal(record?.question, 'Who wrote \ufffd about \ud83d\ude00 at Ember?');
  assert.equal(opened.quarantine.repaired.lone_surrogate, 1);
});

test('a file in which no record has an id is refused with the option that helps', async () => {
  const { _id: gone, ...rest } = hotpot;
  const file = await temporaryFile('a.json', JSON.stringify([rest, { ...rest, question: 'Another one?' }]));
  await assert.rejects(collect((await openRecords(file)).records), {
    name: 'InputError',
    message: `${file}: no record has an id; --ids row or --ids hash makes ids`,
  });
  const ids = async (which: 'row' | 'hash') =>
    (await collect((await openRecords(file, { ids: which })).records)).map((one) => one.question_id);
  assert.deepEqual(await ids('row'), ['0', '1']);
  // printf '["Who built the bridge over the Ember?",["Ember","Orr & Co","Orr & Co"]]' | sha256sum | cut -c1-16
  assert.equal((await ids('hash'))[0], 'fe5d8dd4a9609aed');
  assert.equal(gone, 'a1');
});

test('refuses what is no dataset, and says what it found and what there is', async () => {
  const names = 'hotpotqa, 2wiki, musique, bamboogle, jsonl';
  const cases: [string, string, Parameters<typeof openRecords>[1], string][] = [
    [
      '<html>',
      'a.json',
      {},
      `: cannot tell which dataset this is (none of the first 1 records is a JSON object); --dataset names it: ${names}`,
    ],
    ['[{"x": 1}]', 'a.json', {}, `: cannot tell which dataset this is (the first record's fields are x); --dataset names it: ${names}`],
    [
      '<html>',
      'a.json',
      { dataset: 'hotpotqa' },
      ', line 1, row 0: neither a JSON array nor JSON lines; the first: got "<html>", expected one JSON object',
    ],
    [
      JSON.stringify(musique),
      'm.jsonl',
      { dataset: 'jsonl' },
      ', line 1, row 0: none of the 1 records can be read as dataset jsonl; the first: got {"id":"2hop__1_2","question":"Where was the author of The Sa…, Unrecognized keys: "id", "answer_aliases", "answerable", "paragraphs", "question_decomposition"',
    ],
    ['[]', 'a.json', { dataset: 'hotpotqa' }, ': no record in the file'],
  ];
  for (const [content, name, options, message] of cases) {
    const file = await temporaryFile(name, content);
    await assert.rejects(
      (async () => collect((await openRecords(file, options)).records))(),
      { name: 'InputError', message: `${file}${message}` },
      content,
    );
  }
});

test('finds the dataset of every real sample', async (t) => {
  const data = dataOrSkip(t);
  if (data === undefined) return;
  for (const [name, dataset, n] of [
    ['hotpotqa_train_800.json', 'hotpotqa', 800],
    ['hotpotqa_dev_100.json', 'hotpotqa', 100],
    ['hotpotqa_dev_100.hf.jsonl', 'hotpotqa', 100],
    ['2wiki_train_500.json', '2wiki', 500],
    ['2wiki_dev_64.json', '2wiki', 64],
    ['musique_train_100.jsonl', 'musique', 100],
    ['musique_dev_100.jsonl', 'musique', 100],
    ['bamboogle_125.json', 'bamboogle', 125],
  ] as const) {
    const opened = await openRecords(join(data, name));
    assert.equal(opened.dataset, dataset, name);
    assert.equal((await collect(opened.records)).length, n, name);
    assert.deepEqual(opened.quarantine.entries, [], name);
  }
});

test('the hub form of the real dev file gives the records of the official one', async (t) => {
  const data = dataOrSkip(t);
  if (data === undefined) return;
  const [official, ofHub] = await Promise.all(
    ['hotpotqa_dev_100.json', 'hotpotqa_dev_100.hf.jsonl'].map(async (name) => collect((await openRecords(join(data, name))).records)),
  );
  assert.deepEqual(ofHub, official);
});

test('P1: a fact whose sentence index is beyond any page dangles, and its record stays', async () => {
  const far = {
    ...hotpot,
    supporting_facts: [
      ['Ember', 0],
      ['Ember', 3_000_000_000],
    ],
  };
  const opened = await openRecords(await temporaryFile('far.json', JSON.stringify([far])), { dataset: 'hotpotqa' });
  const [record] = await collect(opened.records);
  assert.deepEqual(record?.supporting, [
    { title: 'Ember', page: 0, sentence: 0 },
    { title: 'Ember', page: 0, sentence: 2_147_483_647 },
  ]);
});

test('P7: a record without a row of its own does not share the row that an earlier one has claimed', async () => {
  const lines = [
    { question_id: 'a', question: 'Who?', row: 1 },
    { question_id: 'a', question: 'Who?' },
    { question_id: 'c', question: 'Who?' },
  ];
  const opened = await openRecords(await temporaryFile('own.jsonl', lines.map((one) => JSON.stringify(one)).join('\n')), {
    dataset: 'jsonl',
  });
  assert.deepEqual(
    (await collect(opened.records)).map(({ question_id, row }) => [question_id, row]),
    [
      ['a', 1],
      ['c', 2],
    ],
  );
  assert.deepEqual(opened.quarantine.skipped, { repeated_row: 1 });
});

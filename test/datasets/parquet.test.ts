import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { openRecords } from '../../datasets/index.js';
import type { HopRecord } from '../../src/core/records.js';
import { collect } from '../../src/core/tables.js';
import { dataOrSkip } from '../support/data.js';
import { temporaryFolder } from '../support/files.js';
import { hotpotqaQuestions } from '../support/hotpotqa-file.js';
import { pythonOrSkip, runPython } from '../support/python.js';

type Fields = { [field: string]: unknown };

/** The hub's layout of HotpotQA: objects of lists. */
function hub({ _id, context, supporting_facts, ...rest }: Fields): Fields {
  const [pages, facts] = [context as [string, string[]][], supporting_facts as [string, number][]];
  return {
    id: _id,
    ...rest,
    supporting_facts: { title: facts.map(([title]) => title), sent_id: facts.map(([, at]) => at) },
    context: { title: pages.map(([title]) => title), sentences: pages.map(([, sentences]) => sentences) },
  };
}

const hotpotqa = hotpotqaQuestions(40).map(hub);

function write(t: TestContext, files: { path: string; rows: readonly unknown[]; options?: Fields }[]): boolean {
  const python = pythonOrSkip(t, ['pyarrow']);
  if (python === undefined) return false;
  runPython(python, 'write_parquet.py', { files: files.map((file) => ({ options: {}, ...file })) });
  return true;
}

async function recordsOf(path: string): Promise<HopRecord[]> {
  return collect((await openRecords(path)).records);
}

async function asJson(rows: readonly unknown[]): Promise<HopRecord[]> {
  const file = join(await temporaryFolder(), 'rows.jsonl');
  await writeFile(file, rows.map((row) => JSON.stringify(row)).join('\n'));
  return recordsOf(file);
}

const musique = hotpotqaQuestions(12).map(({ question, context }, at) => ({
  id: `2hop__${at}_1`,
  question,
  answer: 'Velm',
  answer_aliases: at % 2 === 0 ? [] : ['Velm City', 'Città di Velm'],
  answerable: true,
  paragraphs: (context as [string, string[]][]).map(([title, sentences], idx) => ({
    idx,
    title,
    paragraph_text: sentences.join(' '),
    is_supporting: idx < 2,
  })),
  question_decomposition: [
    { id: 2 ** 40 + at, question: 'x >> y', answer: 'Velm', paragraph_support_idx: 1 },
    { id: 7, question: 'Where was #1 born?', answer: 'z', paragraph_support_idx: at % 3 === 0 ? null : 0 },
  ],
}));

const layouts: [name: string, rows: Fields[]][] = [
  ['HotpotQA as objects of lists', hotpotqa],
  [
    'HotpotQA as lists of objects',
    hotpotqaQuestions(5).map((one) => ({
      ...one,
      context: (one.context as [string, string[]][]).map(([title, sentences]) => ({ title, sentences })),
      supporting_facts: (one.supporting_facts as [string, number][]).map(([title, sent_id]) => ({ title, sent_id })),
    })),
  ],
  [
    '2Wiki with evidences and content',
    hotpotqa.map((one, at) => ({
      ...one,
      type: 'compositional',
      context: { title: (one.context as Fields).title, content: (one.context as Fields).sentences },
      evidences: at % 2 === 0 ? { fact: ['A'], relation: ['b'], entity: ['C'] } : { fact: [], relation: [], entity: [] },
    })),
  ],
  [
    '2Wiki with columns of JSON text',
    hotpotqaQuestions(5).map((one) => ({
      ...one,
      type: 'inference',
      context: JSON.stringify(one.context),
      supporting_facts: JSON.stringify(one.supporting_facts),
      evidences: '[["A", "b", "C"]]',
    })),
  ],
  ['MuSiQue', musique],
  ['a split without answers and facts', hotpotqa.map((one) => ({ ...one, answer: null, supporting_facts: null }))],
  ['empty pages and odd text', hotpotqa.map((one) => ({ ...one, context: { title: ['A', '\uFEFFB'], sentences: [[], ['', ' é\n']] } }))],
  ['Bamboogle', [{ Question: 'Who?', id: 'b1', source: 'bamboogle', answer: ['A', 'B'] }]],
];

test('Parquet rows are the records that the same rows are as JSON, in every layout', async (t) => {
  const folder = await temporaryFolder();
  const files = layouts.map(([, rows], at) => ({ path: join(folder, `${at}.parquet`), rows, options: { row_group_size: 7 } }));
  if (!write(t, files)) return;
  for (const [at, [name, rows]] of layouts.entries()) {
    const read = await recordsOf(files[at]?.path as string);
    assert.equal(read.length, rows.length, name);
    assert.deepEqual(read, await asJson(rows), name);
  }
});

test('Parquet reads alike in every compression, page version and encoding, with and without a page index', async (t) => {
  const folder = await temporaryFolder();
  const variants: Fields[] = [
    ...['none', 'snappy', 'gzip', 'brotli', 'zstd', 'lz4'].map((compression) => ({ compression, row_group_size: 16 })),
    { data_page_version: '2.0', compression: 'zstd' },
    { use_dictionary: false, row_group_size: 1 },
    { write_page_index: true, data_page_size: 512, row_group_size: 40 },
  ];
  const files = variants.map((options, at) => ({ path: join(folder, `${at}.parquet`), rows: hotpotqa, options }));
  if (!write(t, files)) return;
  const expected = await asJson(hotpotqa);
  for (const [at, { path }] of files.entries()) assert.deepEqual(await recordsOf(path), expected, JSON.stringify(variants[at]));
});

test('shards are read in order from a folder, a pattern or a comma list, and rows are numbered through all of them', async (t) => {
  const folder = await temporaryFolder();
  const names = [0, 1, 2].map((at) => `train-0000${at}-of-00003.parquet`);
  // The second shard has a record without a question.
  const rows = hotpotqa.map((one, at) => (at === 20 ? { ...one, question: '' } : one));
  const parts = [rows.slice(0, 15), rows.slice(15, 22), rows.slice(22)];
  if (
    !write(
      t,
      names.map((name, at) => ({ path: join(folder, name), rows: parts[at] as Fields[] })),
    )
  )
    return;
  const expected = await asJson(rows);
  for (const path of [folder, join(folder, 'train-*'), names.map((name) => join(folder, name)).join(',')]) {
    const opened = await openRecords(path);
    assert.deepEqual(await collect(opened.records), expected, path);
    assert.deepEqual(
      opened.inputs,
      names.map((name) => join(folder, name)),
      path,
    );
    assert.deepEqual(opened.quarantine.entries, [
      {
        action: 'skipped',
        reason: 'no_question',
        row: 20,
        line: null,
        question_id: 'q20',
        field: 'question',
        detail: 'the question is empty',
        file: 'train-00001-of-00003.parquet',
        file_row: 5,
      },
    ]);
  }
});

test('a Parquet shard that is cut off or damaged is refused by name, with its rows', async (t) => {
  const folder = await temporaryFolder();
  const [good, bad] = [join(folder, 'a-00000-of-00002.parquet'), join(folder, 'a-00001-of-00002.parquet')];
  const options = { compression: 'none', use_dictionary: false, row_group_size: 10 };
  if (
    !write(
      t,
      [good, bad].map((path) => ({ path, rows: hotpotqa, options })),
    )
  )
    return;
  const whole = await readFile(bad);
  for (const length of [0, 3, 4, 11, 200, whole.length - 1]) {
    await writeFile(bad, whole.subarray(0, length));
    const message = await refusal(folder);
    assert.ok(message.startsWith(`${bad}: not a whole Parquet file (`), message);
  }
  // The first page header of the second shard is overwritten.
  const damaged = Buffer.from(whole);
  damaged.fill(0xff, 4, 30);
  await writeFile(bad, damaged);
  const message = await refusal(folder);
  assert.ok(message.startsWith(`${bad}: damaged: rows 40 to 49 cannot be read (`), message);
});

test('text in Parquet that is not UTF-8 costs its record, not the file', async (t) => {
  const file = join(await temporaryFolder(), 'a.parquet');
  const rows = hotpotqa.map((one, at) => (at === 3 ? { ...one, answer: 'MARKED' } : one));
  if (!write(t, [{ path: file, rows, options: { compression: 'none', write_statistics: false } }])) return;
  const bytes = await readFile(file);
  bytes[bytes.indexOf('MARKED')] = 0xff;
  await writeFile(file, bytes);
  const opened = await openRecords(file);
  assert.equal((await collect(opened.records)).length, 39);
  const [entry] = opened.quarantine.entries;
  assert.deepEqual([entry?.reason, entry?.row, entry?.detail, entry?.field], ['bad_utf8', 3, 'the bytes are not UTF-8', 'answer']);
});

test('the real hub rows are the same records from Parquet', async (t) => {
  const data = dataOrSkip(t);
  if (data === undefined) return;
  const source = join(data, 'hotpotqa_dev_100.hf.jsonl');
  const rows = (await readFile(source, 'utf8'))
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Fields);
  const file = join(await temporaryFolder(), 'dev.parquet');
  if (!write(t, [{ path: file, rows, options: { row_group_size: 30 } }])) return;
  assert.deepEqual(await recordsOf(file), await recordsOf(source));
});

test('gzipped arrays and lines are read as they are unpacked', async () => {
  const folder = await temporaryFolder();
  const questions = hotpotqaQuestions(30);
  const [array, lines] = [JSON.stringify(questions), questions.map((one) => JSON.stringify(one)).join('\n')];
  const expected = await asJson(questions);
  // Two members behind each other, as pigz and appending tools write them.
  const half = Math.floor(lines.length / 2);
  const files: [string, Uint8Array][] = [
    ['a.json.gz', gzipSync(array)],
    ['b.jsonl.gz', gzipSync(lines)],
    ['c.jsonl.gz', Buffer.concat([gzipSync(lines.slice(0, half)), gzipSync(lines.slice(half))])],
    ['named.json', gzipSync(array)],
  ];
  for (const [name, bytes] of files) {
    await writeFile(join(folder, name), bytes);
    assert.deepEqual(await recordsOf(join(folder, name)), expected, name);
  }
});

test('a gzip file that is cut off or damaged anywhere is refused by name', async () => {
  const lines = hotpotqaQuestions(30)
    .map((one) => JSON.stringify(one))
    .join('\n');
  const packed = gzipSync(lines);
  const file = join(await temporaryFolder(), 'a.jsonl.gz');
  for (const length of [2, 9, 10, 200, packed.length >> 1, packed.length - 8, packed.length - 1]) {
    await writeFile(file, packed.subarray(0, length));
    const message = await refusal(file, 'hotpotqa');
    assert.match(
      message.slice(file.length),
      /^: truncated or damaged gzip file \(unexpected end of file\) behind byte \d+ of its content$/,
    );
  }
  const damaged = Buffer.from(packed);
  damaged[packed.length - 6] = (damaged[packed.length - 6] as number) ^ 1;
  await writeFile(file, damaged);
  assert.match(await refusal(file), /: truncated or damaged gzip file \(incorrect data check\) behind byte \d+ of its content$/);
});

test('behind a gzip archive only zeros are passed over: what follows them would be lost', async () => {
  const [first, second] = [0, 1].map((at) => gzipSync(`${JSON.stringify(hotpotqaQuestions(2)[at])}\n`)) as [Buffer, Buffer];
  const file = join(await temporaryFolder(), 'a.jsonl.gz');
  await writeFile(file, Buffer.concat([first, Buffer.alloc(100)]));
  assert.equal((await recordsOf(file)).length, 1);
  await writeFile(file, Buffer.concat([first, Buffer.alloc(100), second]));
  assert.equal(
    await refusal(file),
    `${file}: the gzip archive ends at byte ${first.length}, and something else begins at byte ${first.length + 100}: it is not read past zeros`,
  );
});

test('the folder of a download is read without its lock file, and not before the download is whole', async () => {
  const folder = await temporaryFolder();
  await writeFile(join(folder, 'dev.json'), JSON.stringify(hotpotqaQuestions(2)));
  await writeFile(join(folder, 'download.lock.json'), '{"format_version":1,"files":[]}');
  assert.equal((await recordsOf(folder)).length, 2);
  await writeFile(join(folder, 'train.json.part'), '[');
  await writeFile(join(folder, 'train.json.part.json'), '{}');
  assert.equal(await refusal(folder), `${folder}: the download of train.json is unfinished; the same command goes on`);
});

test('a folder or pattern of several splits, or with a shard missing, is refused', async () => {
  const folder = await temporaryFolder();
  const questions = hotpotqaQuestions(3);
  const add = (name: string): Promise<void> => writeFile(join(folder, name), JSON.stringify([questions.pop()]));
  await add('train-00000-of-00002.json');
  assert.equal(await refusal(folder), `${folder}: shard 00001 of train-*-of-00002.json is missing; a comma list reads only what is there`);
  await add('train-00001-of-00002.json');
  assert.equal((await recordsOf(folder)).length, 2);
  await add('validation.json');
  assert.equal(
    await refusal(folder),
    `${folder}: holds several sets of files (train-*-of-00002.json, validation.json), expected one; name one by a pattern, or several by a comma list`,
  );
  assert.equal((await recordsOf(join(folder, 'train-?????-of-*'))).length, 2);
  assert.equal((await recordsOf(`${join(folder, 'train-*')},${join(folder, 'validation.json')}`)).length, 3);
  assert.equal(await refusal(join(folder, 'test-*')), `${join(folder, 'test-*')}: no file matches this pattern`);
  assert.equal(await refusal(`${folder}/train-*,${folder}/gone.json`), `${folder}/gone.json: no such file`);
});

async function refusal(path: string, dataset?: 'hotpotqa'): Promise<string> {
  try {
    await collect((await openRecords(path, { dataset })).records);
  } catch (error) {
    assert.equal((error as Error).name, 'InputError', String(error));
    return (error as Error).message;
  }
  assert.fail(`${path} was read`);
}

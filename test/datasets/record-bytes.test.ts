import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { rawRecords } from '../../datasets/record-bytes.js';
import { temporaryFile, temporaryFolder } from '../support/files.js';

async function texts(file: string, options: Parameters<typeof rawRecords>[1] = {}): Promise<(string | null)[]> {
  const all: (string | null)[] = [];
  for await (const { bytes } of rawRecords(file, options)) all.push(bytes?.toString('utf8') ?? null);
  return all;
}

const record = fc.record({ id: fc.string(), text: fc.array(fc.string({ unit: 'grapheme' })), deep: fc.jsonValue() });
const space = fc.constantFrom('', ' ', '\n', '\r\n\t ');

test('cuts an array into the records that JSON.parse finds, whatever the chunk size and the white space', async () => {
  const folder = await temporaryFolder();
  const file = join(folder, 'array.json');
  await fc.assert(
    fc.asyncProperty(
      fc.array(record, { maxLength: 5 }),
      space,
      space,
      fc.integer({ min: 1, max: 40 }),
      async (records, a, b, chunkBytes) => {
        await writeFile(file, `${a}[${b}${records.map((one) => JSON.stringify(one)).join(`${a},${b}`)}${a}]${b}`);
        const got = (await texts(file, { chunkBytes })).map((one) => JSON.parse(one as string) as unknown);
        assert.deepEqual(got, JSON.parse(JSON.stringify(records)));
      },
    ),
    { numRuns: 200, seed: 13 },
  );
});

test('cuts JSON lines into the records that JSON.parse finds, whatever the chunk size', async () => {
  const folder = await temporaryFolder();
  const file = join(folder, 'lines.jsonl');
  const end = fc.constantFrom('\n', '\r\n', '\n\n  \n');
  await fc.assert(
    fc.asyncProperty(
      fc.array(record, { minLength: 1, maxLength: 5 }),
      end,
      fc.integer({ min: 1, max: 40 }),
      async (records, eol, chunkBytes) => {
        await writeFile(file, records.map((one) => JSON.stringify(one)).join(eol));
        const got = (await texts(file, { chunkBytes })).map((one) => JSON.parse(one as string) as unknown);
        assert.deepEqual(got, JSON.parse(JSON.stringify(records)));
      },
    ),
    { numRuns: 200, seed: 13 },
  );
});

test('an array element that is no object is an element all the same', async () => {
  const file = await temporaryFile('a.json', '[1, null,"a, ]", [2, [3]] , true]');
  assert.deepEqual(await texts(file), ['1', 'null', '"a, ]"', '[2, [3]]', 'true']);
});

test('a byte-order mark is passed over, in arrays and in lines', async () => {
  assert.deepEqual(await texts(await temporaryFile('a.json', '\uFEFF[{}]\n')), ['{}']);
  assert.deepEqual(await texts(await temporaryFile('a.jsonl', '\uFEFF{}\n{"a":1}')), ['{}', '{"a":1}']);
});

test('counts lines from one, blank ones included, and rows without them', async () => {
  const file = await temporaryFile('a.jsonl', '\n{"a":1}\n\n  \n{"a":2}\n');
  const places: unknown[] = [];
  for await (const { row, line } of rawRecords(file)) places.push({ row, line });
  assert.deepEqual(places, [
    { row: 0, line: 2 },
    { row: 1, line: 5 },
  ]);
});

for (const chunkBytes of [7, 1024]) {
  test(`a record that is too long is named and costs no other record, read ${chunkBytes} bytes at a time`, async () => {
    const long = `{"a": "${'\\"x]'.repeat(40)}"}`;
    for (const [name, content] of [
      ['a.json', `[{"b": 1}, ${long}, {"c": 2}]`],
      ['a.jsonl', `{"b": 1}\n${long}\n{"c": 2}\n`],
    ] as const) {
      const file = await temporaryFile(name, content);
      assert.deepEqual(await texts(file, { chunkBytes, maxRecordBytes: 100 }), ['{"b": 1}', null, '{"c": 2}'], name);
    }
  });
}

const broken: [string, string | Uint8Array, string][] = [
  ['an empty file', '', 'the file is empty, expected a JSON array or JSON lines'],
  ['white space alone', ' \n\n\t', 'the file is empty, expected a JSON array or JSON lines'],
  ['UTF-16', Uint8Array.of(0xff, 0xfe, 0x5b, 0), 'got UTF-16 text, expected a JSON array or JSON lines in UTF-8'],
  ['an array cut off inside a record', '[{"a": 1}, {"a": "b', 'row 1: truncated: the file ends inside the record that begins at byte 11'],
  ['an array cut off between records', '[{"a": 1}, ', 'row 1: truncated: the file ends where a record was expected, at byte 11'],
  ['an array without its end', '[{"a": 1}\n', 'row 1: truncated: the file ends where "]" was expected, at byte 10'],
  ['text behind the array', '[{"a": 1}] x', 'row 1: got "x" behind the end of the array at byte 11'],
  ['two records without a comma', '[{"a": 1} {"a": 2}]', 'row 1: got "{", expected "," or "]" at byte 10'],
  ['a comma without a record', '[{"a": 1},]', 'row 1: got "]", expected a record at byte 10'],
  [
    'brackets that do not fit',
    '[{"a": [1}, {"a": 2}]',
    'row 0: got a closing bracket that does not fit the open one in the record that begins at byte 1',
  ],
];
for (const [name, content, message] of broken) {
  test(`refuses ${name} and names the place`, async () => {
    const file = await temporaryFile('a.json', content);
    // Another kind of file is told by its first four bytes.
    for (const chunkBytes of typeof content === 'string' ? [1, 1024] : [1024]) {
      await assert.rejects(texts(file, { chunkBytes }), {
        name: 'InputError',
        message: message.startsWith('row') ? `${file}, ${message}` : `${file}: ${message}`,
      });
    }
  });
}

test('refuses a file that is not there', async () => {
  await assert.rejects(texts('/nowhere/a.json'), { name: 'InputError', message: '/nowhere/a.json: no such file' });
});

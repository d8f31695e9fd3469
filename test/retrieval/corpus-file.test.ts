import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import type { Passage } from '../../src/core/corpus.js';
import { collect } from '../../src/core/tables.js';
import { type BadPassage, corpusPassages } from '../../src/retrieval/index.js';
import { temporaryFile } from '../support/files.js';

async function read(content: string | Uint8Array, maxLineBytes?: number): Promise<{ passages: Passage[]; bad: BadPassage[] }> {
  const bad: BadPassage[] = [];
  const file = await temporaryFile('corpus', content);
  return { passages: await collect(corpusPassages(file, { onBad: (one) => bad.push(one), maxLineBytes })), bad };
}

test('JSON lines: contents with the title in the first line, or title and text in fields', async () => {
  const lines = [
    { id: 'a', contents: '"Tarn (river)"\nThe Tarn.\nIt rises.' },
    { id: 7, title: 'Elland', text: 'A town.' },
    { id: 'c', contents: 'Elland\nA town.', title: 'Elland' },
    { id: 'd', contents: 'No title stands here.', title: '"Hidden"' },
    { id: 'e', contents: 'Only a line.' },
  ];
  const { passages, bad } = await read(lines.map((one) => JSON.stringify(one)).join('\r\n'));
  assert.deepEqual(bad, []);
  assert.deepEqual(passages, [
    { id: 'a', title: 'Tarn (river)', text: 'The Tarn.\nIt rises.' },
    { id: '7', title: 'Elland', text: 'A town.' },
    { id: 'c', title: 'Elland', text: 'A town.' },
    { id: 'd', title: 'Hidden', text: 'No title stands here.' },
    { id: 'e', title: '', text: 'Only a line.' },
  ]);
});

test('TSV of the Wikipedia dumps, with and without its head, packed or not', async () => {
  const rows = ['1\t"Aaron ( or ; ""Ahärôn"") is a prophet."\tAaron', '2\tPlain text.\t"The ""X"" film"'];
  const expected = [
    { id: '1', title: 'Aaron', text: 'Aaron ( or ; "Ahärôn") is a prophet.' },
    { id: '2', title: 'The "X" film', text: 'Plain text.' },
  ];
  const content = `id\ttext\ttitle\n${rows.join('\n')}\n`;
  assert.deepEqual((await read(content)).passages, expected);
  assert.deepEqual((await read(gzipSync(content))).passages, expected);
  assert.deepEqual((await read(`${rows.join('\n')}\n`)).passages, expected);
  assert.deepEqual((await read('title\tid\ttext\nT\t9\tx\n')).passages, [{ id: '9', title: 'T', text: 'x' }]);
});

test('P20: lines that are no passages are passed over by name, a line of any length without keeping it', async () => {
  const long = JSON.stringify({ id: 'long', text: 'x'.repeat(3_000_000) });
  const lines = [
    Buffer.from(`{"id":"a","text":"one"}\n{"id":"b"\n{"text":"no id"}\n{"id":"c"}\n{"id":"d","text":" "}\n${long}\n`),
    Buffer.from([0x7b, 0xff, 0x7d, 10]),
  ];
  const { passages, bad } = await read(Buffer.concat([...lines, Buffer.from('\n{"id":"z","text":"last"}')]), 1_000_000);
  assert.deepEqual(
    passages.map(({ id }) => id),
    ['a', 'z'],
  );
  assert.deepEqual(
    bad.map(({ line, reason, detail }) => [line, reason, detail]),
    [
      [2, 'bad_json', 'got "{\\"id\\":\\"b\\"", expected one JSON object'],
      [3, 'bad_field', 'field id: Invalid input'],
      [4, 'bad_field', 'got neither contents nor text'],
      [5, 'empty', 'the passage has no text'],
      [6, 'too_long', `got ${long.length} bytes, expected at most 1000000`],
      [7, 'bad_utf8', 'the bytes are not UTF-8'],
    ],
  );
});

test('a file without a passage, and a torn archive, are refused', async () => {
  await assert.rejects(read('words only\n'), /line 1: not one passage in the file; the first line: got 1 cells between tabs, expected 3$/);
  await assert.rejects(read(''), /: not one passage in the file$/);
  const packed = gzipSync(`{"id":"a","text":"${'abc '.repeat(5000)}"}\n`);
  await assert.rejects(read(packed.subarray(0, packed.length - 20)), /truncated or damaged gzip file/);
});

test('a first line that cannot be read does not say what the others are', async () => {
  const { passages, bad } = await read(
    Buffer.concat([Buffer.from([0xff, 10]), Buffer.from('{"id":"a","text":"one"}\n{"id":"b","text":"two"}\n')]),
  );
  assert.deepEqual(
    passages.map(({ id, text }) => [id, text]),
    [
      ['a', 'one'],
      ['b', 'two'],
    ],
  );
  assert.deepEqual(bad, [{ line: 1, reason: 'bad_utf8', detail: 'the bytes are not UTF-8' }]);
});

import assert from 'node:assert/strict';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { readSafetensors } from '../../src/core/safetensors.js';

const dir = await mkdtemp(join(tmpdir(), 'hopgate-'));

async function fileOf(header: unknown, data: Uint8Array, headerBytes?: bigint): Promise<string> {
  const text = Buffer.from(typeof header === 'string' ? header : JSON.stringify(header));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(headerBytes ?? BigInt(text.length));
  const file = join(dir, 'one.safetensors');
  await writeFile(file, Buffer.concat([length, text, data]));
  return file;
}

test('reads halves as the numbers that they stand for', async () => {
  // IEEE 754 binary16: 1, -2, the largest finite, the smallest subnormal, 1/3 rounded, infinity, minus zero.
  const halves = Uint16Array.from([0x3c00, 0xc000, 0x7bff, 0x0001, 0x3555, 0x7c00, 0x8000]);
  const file = await fileOf(
    { __metadata__: { format: 'pt' }, a: { dtype: 'F16', shape: [7], data_offsets: [0, 14] } },
    new Uint8Array(halves.buffer),
  );
  const tensors = await readSafetensors(file);
  assert.deepEqual(tensors.names, ['a']);
  assert.deepEqual(tensors.shape('a'), [7]);
  assert.deepEqual([...tensors.floats('a')], [1, -2, 65504, 2 ** -24, 0.333251953125, Infinity, -0]);
});

test('reads 32-bit floats, wherever they start', async () => {
  const values = Float32Array.from([1.5, -0.25]);
  const file = await fileOf(
    { b: { dtype: 'U8', shape: [1], data_offsets: [0, 1] }, a: { dtype: 'F32', shape: [1, 2], data_offsets: [1, 9] } },
    Buffer.concat([Buffer.of(7), new Uint8Array(values.buffer)]),
  );
  const tensors = await readSafetensors(file);
  assert.deepEqual(tensors.floats('a'), values);
  assert.throws(() => tensors.floats('b'), { name: 'InputError', message: `${file}, field b: got U8, expected F16 or F32` });
  assert.throws(() => tensors.floats('c'), { name: 'InputError', message: `${file}: no tensor "c"` });
});

const entry = (offsets: unknown, more: object = {}): unknown => ({ a: { dtype: 'F32', shape: [2], data_offsets: offsets, ...more } });

const damaged: [name: string, header: unknown, bytes: number, headerBytes: bigint | undefined, message: string][] = [
  ['a header longer than the file', '{}', 0, 99n, 'the header is said to have 99 bytes, the file has 2 after that number'],
  ['a torn header', '{"a":', 0, undefined, 'the header is not JSON (Unexpected end of JSON input)'],
  ['a header that is a list', '[]', 0, undefined, 'header: Invalid input: expected record, received array'],
  [
    'an unknown number type',
    entry([0, 8], { dtype: 'F8' }),
    8,
    undefined,
    'field a.dtype: header: Invalid option: expected one of "BOOL"|"U8"|"I8"|"I16"|"U16"|"F16"|"BF16"|"I32"|"U32"|"F32"|"F64"|"I64"|"U64"',
  ],
  [
    'offsets that do not fit the shape',
    entry([0, 4]),
    8,
    undefined,
    'field a.data_offsets: got [0,4], expected 8 bytes for F32 of shape [2]',
  ],
  ['a hole', entry([4, 12]), 12, undefined, 'field a.data_offsets: got [4,12], expected to start at 0, where the tensor before it ends'],
  ['missing bytes', entry([0, 8]), 7, undefined, 'the tensors take 8 bytes, the file has 7 after its header'],
  ['bytes too many', entry([0, 8]), 9, undefined, 'the tensors take 8 bytes, the file has 9 after its header'],
];

for (const [name, header, bytes, headerBytes, message] of damaged) {
  test(`refuses ${name}`, async () => {
    const file = await fileOf(header, new Uint8Array(bytes), headerBytes);
    await assert.rejects(readSafetensors(file), {
      name: 'InputError',
      message: `${file}${message.startsWith('field') ? ', ' : ': '}${message}`,
    });
  });
}

test('refuses a file of five bytes and one that is not there', async () => {
  const file = join(dir, 'five');
  await writeFile(file, 'abcde');
  await assert.rejects(readSafetensors(file), {
    name: 'InputError',
    message: `${file}: got 5 bytes, expected a safetensors file of at least 8`,
  });
  const nowhere = join(dir, 'nowhere');
  await assert.rejects(readSafetensors(nowhere), { name: 'InputError', message: `${nowhere}: no such file` });
});

import assert from 'node:assert/strict';
import { create } from '@bufbuild/protobuf';
import { readFile, rm, stat, symlink, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { StringStringEntryProtoSchema, type ModelProto, type TensorProto } from 'onnx-buf';
import { hashFile } from '../../src/core/hash.js';
import { refusedImport, wholeExport } from '../support/refused-import.js';
import { changeExport, changeGraph, listFiles } from '../support/tiny-export.js';

const GRAPH = 'onnx/fp32/model.onnx';
const DATA = 'onnx/fp32/model.onnx.data';
/** Of the small tokenizer: 4 control tokens, 256 bytes, 16 merges. */
const TOKENS = 276;

let made: string;
before(async () => {
  made = await wholeExport();
});

test('one byte of a weight file changed, a file cut short, missing, or not listed is refused by name', async () => {
  const { sha256 } = await hashFile(join(made, DATA));
  const { size } = await stat(join(made, DATA));
  await refusedImport(
    async (folder) => {
      const bytes = await readFile(join(folder, DATA));
      bytes[1000] = (bytes[1000] as number) ^ 1;
      await writeFile(join(folder, DATA), bytes);
    },
    async (folder) =>
      `FOLDER/${DATA}: got sha256 ${(await hashFile(join(folder, DATA))).sha256}, expected ${sha256} as in export.json: the file was changed or damaged`,
  );
  await refusedImport(
    (folder) => truncate(join(folder, DATA), size - 1),
    `FOLDER/${DATA}: got ${size - 1} bytes, expected ${size} as in export.json`,
  );
  await refusedImport((folder) => rm(join(folder, DATA)), `FOLDER/${DATA}: listed in export.json, but missing`);
  await refusedImport(
    (folder) => writeFile(join(folder, 'onnx/fp32/other.data'), 'x'),
    'FOLDER/onnx/fp32/other.data: not listed in export.json: it was not made with this export; take it out, or export again',
  );
  await refusedImport(async (folder) => {
    await rm(join(folder, 'model-card.md'));
    await listFiles(folder);
  }, 'FOLDER/export.json, field files: does not list model-card.md, which an export has');
  await refusedImport(
    (folder) => rm(join(folder, 'export.json')),
    'FOLDER/export.json: no export.json: not a finished export of the trainer',
  );
});

test('a link is refused, and a list that leads out of the folder', async () => {
  await refusedImport(async (folder) => {
    await rm(join(folder, DATA));
    await symlink(join(made, DATA), join(folder, DATA));
  }, `FOLDER/${DATA}: is a symbolic link, which may point anywhere: an export holds plain files only`);
  await refusedImport(async (folder) => {
    await rm(join(folder, 'onnx/fp32'), { recursive: true });
    await symlink(join(made, 'onnx/fp32'), join(folder, 'onnx/fp32'));
  }, 'FOLDER/onnx/fp32: is a symbolic link, which may point anywhere: an export holds plain files only');
  for (const path of ['../model.onnx.data', '/etc/passwd', 'onnx/../../x'])
    await refusedImport(
      (folder) => changeExport(folder, ({ files }) => ({ files: files.map((one) => (one.path === DATA ? { ...one, path } : one)) })),
      'FOLDER/export.json, field files.7.path: expected a relative path without ".."',
    );
});

test('a pickle is refused by its ending and by its content', async () => {
  const why = ': loading a pickle runs what is in it, and an export has no use for one (weights are .safetensors and .onnx)';
  // python3 -c "import pickle; print(pickle.dumps({'a': 1}, protocol=4).hex())", and with protocol=2
  const pickles = ['8004950a000000000000007d948c0161944b01732e', '80027d710058010000006171014b01732e'];
  const cases: [name: string, bytes: Buffer, message: string][] = [
    ['adapter/adapter_model.bin', Buffer.from('anything'), 'has the ending .bin, which pickles have'],
    ['adapter/weights.dat', Buffer.from('PK\u0003\u0004rest'), 'is a zip archive, as PyTorch pickles weights'],
    ['adapter/weights.dat', Buffer.from('80028a0a6cfc9c46f9206aa850192e80024d', 'hex'), "begins as PyTorch's old pickles do"],
    ...pickles.map((one): [string, Buffer, string] => ['tokenizer/extra.json', Buffer.from(one, 'hex'), 'is a pickle']),
  ];
  for (const [name, bytes, message] of cases)
    await refusedImport(async (folder) => {
      await writeFile(join(folder, name), bytes);
      await listFiles(folder);
    }, `FOLDER/${name}: ${message}${why}`);
});

test('P56: external data that is missing, unlisted, outside the folder, or shorter than its tensor is refused by the name of the tensor', async () => {
  const place =
    (location: string) =>
    (folder: string): Promise<void> =>
      changeGraph(folder, 'fp32', (model) => setEntry(embeddingOf(model), 'location', location));
  for (const location of ['../model.onnx.data', '/etc/passwd', 'sub/model.onnx.data', '.hidden', ''])
    await refusedImport(
      place(location),
      `FOLDER/${GRAPH}, field embedding: its external data points to ${JSON.stringify(location)}, expected a plain file name beside the graph`,
    );
  await refusedImport(
    place('other.data'),
    `FOLDER/${GRAPH}, field embedding: its external data other.data is not listed in export.json; it has ${DATA}`,
  );
  const { size } = await stat(join(made, DATA));
  await refusedImport(
    (folder) => changeGraph(folder, 'fp32', (model) => setEntry(embeddingOf(model), 'offset', String(size))),
    `FOLDER/${GRAPH}, field embedding: its external data is bytes ${size} to ${size + TOKENS * 32 * 4} of model.onnx.data, which has ${size}`,
  );
  await refusedImport(
    (folder) => changeGraph(folder, 'fp32', (model) => setEntry(embeddingOf(model), 'length', '128')),
    `FOLDER/${GRAPH}, field embedding: its external data has 128 bytes, expected ${TOKENS * 32 * 4} for float of shape [${TOKENS},32]`,
  );
  await refusedImport(async (folder) => {
    await rm(join(folder, DATA));
    await listFiles(folder);
  }, `FOLDER/export.json, field files: does not list ${DATA}, which an export has`);
});

function embeddingOf(model: ModelProto): TensorProto {
  const found = model.graph?.initializer.find((one) => one.name === 'embedding');
  assert.ok(found);
  return found;
}

function setEntry(tensor: TensorProto, key: string, value: string): void {
  tensor.externalData = tensor.externalData.filter((one) => one.key !== key);
  tensor.externalData.push(create(StringStringEntryProtoSchema, { key, value }));
}

import assert from 'node:assert/strict';
import { cp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { inputFiles } from '../../datasets/input-files.js';
import { readPairRows } from '../../distill/index.js';
import { temporaryFolder } from '../support/files.js';
import { labelFolder, twoWikiFile } from '../support/label-folder.js';

let root: string;

before(async () => {
  root = await temporaryFolder();
});

test('the same label rows twice are refused with both names, by whatever path or copy', async () => {
  const { folder } = await labelFolder(await twoWikiFile(3));
  const copy = join(root, 'copy');
  await cp(folder, copy, { recursive: true });
  for (const again of [folder, `${folder}/`, copy])
    await assert.rejects(readPairRows([folder, again]), {
      name: 'InputError',
      message: `${again}: has the same content as ${folder}, which is given too: it would count twice`,
    });
});

test('the same dataset file twice in a comma list is refused with both names; another of its size is not', async () => {
  const [one, copy, other] = [join(root, 'one.json'), join(root, 'copy.json'), join(root, 'other.json')];
  for (const [file, text] of [
    [one, '[1]'],
    [copy, '[1]'],
    [other, '[2]'],
  ] as const)
    await writeFile(file, text);
  for (const again of [one, copy])
    await assert.rejects(inputFiles(`${one},${again}`), {
      name: 'InputError',
      message: `${again}: has the same content as ${one}, which is given too: it would count twice`,
    });
  assert.deepEqual(await inputFiles(`${one},${other}`), { files: [one, other] });
});

import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { type ImportOptions, importVerifier } from '../../train/index.js';
import { temporaryFolder } from './files.js';
import { copyOf, tinyExport } from './tiny-export.js';

let made: Promise<string> | undefined;

/** The export that the tests of a file damage copies of. */
export function wholeExport(): Promise<string> {
  made ??= tinyExport();
  return made;
}

/** Damages a copy, and checks the whole message and that nothing is left among the models; the folder is written FOLDER in it. */
export async function refusedImport(
  damage: (folder: string) => Promise<unknown>,
  message: string | ((folder: string) => Promise<string>),
  options: Partial<ImportOptions> = {},
): Promise<void> {
  const folder = await copyOf(await wholeExport());
  await damage(folder);
  const modelDir = await temporaryFolder();
  const expected = (typeof message === 'string' ? message : await message(folder)).replaceAll('FOLDER', folder);
  await assert.rejects(importVerifier(folder, { seed: 13, modelDir, variants: ['fp32'], ...options }), (error: Error) => {
    assert.equal(error.message, expected);
    return error.name === 'InputError';
  });
  assert.deepEqual(await readdir(modelDir), []);
}

import { join } from 'node:path';
import { makeBuiltinData } from '../../datasets/builtin/index.js';
import { type LabelOptions, buildLabels, openRecords } from '../../datasets/index.js';
import type { Manifest } from '../../src/core/manifest.js';
import { temporaryFile, temporaryFolder } from './files.js';

/** Making the data takes longer than anything that tests do with it. */
let builtin: ReturnType<typeof makeBuiltinData> | undefined;

/** A file with the first questions of the built-in 2Wiki-shaped data, which have triples. */
export function twoWikiFile(questions: number): Promise<string> {
  const { records } = (builtin ??= makeBuiltinData({ seed: 13 }))['2wiki'];
  return temporaryFile('two-wiki.json', JSON.stringify(records.slice(0, questions)));
}

/** A folder of label rows made from a dataset file. */
export async function labelFolder(file: string, options: Partial<LabelOptions> = {}): Promise<{ folder: string; manifest: Manifest }> {
  const folder = join(await temporaryFolder(), 'labels');
  const { manifest } = await buildLabels(await openRecords(file), { ...options, out: folder });
  return { folder, manifest };
}

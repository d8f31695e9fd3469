import { mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeBuiltinData } from './make.js';

export interface BuiltinPaths {
  /** The dataset's file in its official format. */
  data: string;
  /** JSON lines `{question_id, dataset, source, followups}` for the scripted agent. */
  followups: string;
}

/**
 * Writes the built-in data into a folder, which is made where it is missing: `hotpotqa.json`, `2wiki.json` (one JSON array each),
 * `musique.jsonl`, and `followups_<dataset>.jsonl`. Each file is written under another name and renamed, so a file with its final name
 * is whole. Byte-identical for equal seeds.
 */
export async function writeBuiltinData(
  dir: string,
  options: { /** An integer; default 13. */ seed?: number } = {},
): Promise<Record<'hotpotqa' | '2wiki' | 'musique', BuiltinPaths>> {
  const data = makeBuiltinData(options);
  await mkdir(dir, { recursive: true });
  const write = async (name: string, text: string): Promise<string> => {
    const path = join(dir, name);
    await writeFile(`${path}.part`, text);
    await rename(`${path}.part`, path);
    return path;
  };
  const files = (name: string, text: string, followups: readonly unknown[]): Promise<[string, string]> =>
    Promise.all([write(name, text), write(`followups_${name.replace(/\.\w+$/u, '')}.jsonl`, jsonLines(followups))]);
  const paths = ([path, followups]: [string, string]): BuiltinPaths => ({ data: path, followups });
  return {
    hotpotqa: paths(await files('hotpotqa.json', jsonArray(data.hotpotqa.records), data.hotpotqa.followups)),
    '2wiki': paths(await files('2wiki.json', jsonArray(data['2wiki'].records), data['2wiki'].followups)),
    musique: paths(await files('musique.jsonl', jsonLines(data.musique.records), data.musique.followups)),
  };
}

/** One JSON array with a record a line. */
function jsonArray(rows: readonly unknown[]): string {
  return `[${rows.map((row) => JSON.stringify(row)).join(',\n')}]\n`;
}

function jsonLines(rows: readonly unknown[]): string {
  return rows.map((row) => `${JSON.stringify(row)}\n`).join('');
}

import { mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeBuiltinData } from './make.js';

export interface BuiltinPaths {
  /** The dataset's file in its official format. */
  data: string;
  /** The first half of its records in a file of its own, for training, and the other half, at least 60 questions, for what comes after. */
  train: string;
  test: string;
  /** JSON lines `{question_id, dataset, source, followups}` for the scripted agent. */
  followups: string;
}

/**
 * Writes the built-in data into a folder, which is made where it is missing: `hotpotqa.json`, `2wiki.json` (one JSON array each),
 * `musique.jsonl`, their two halves (`hotpotqa_train.json`, `hotpotqa_test.json`, …), and `followups_<dataset>.jsonl`. Each file is written under another name and renamed, so a file with its final name
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
  const files = async (
    name: keyof typeof data,
    { records, followups }: { records: readonly unknown[]; followups: readonly unknown[] },
  ): Promise<BuiltinPaths> => {
    const [text, ending] = name === 'musique' ? [jsonLines, 'jsonl'] : [jsonArray, 'json'];
    const half = Math.floor(records.length / 2);
    return {
      data: await write(`${name}.${ending}`, text(records)),
      train: await write(`${name}_train.${ending}`, text(records.slice(0, half))),
      test: await write(`${name}_test.${ending}`, text(records.slice(half))),
      followups: await write(`followups_${name}.jsonl`, jsonLines(followups)),
    };
  };
  return {
    hotpotqa: await files('hotpotqa', data.hotpotqa),
    '2wiki': await files('2wiki', data['2wiki']),
    musique: await files('musique', data.musique),
  };
}

/** One JSON array with a record a line. */
function jsonArray(rows: readonly unknown[]): string {
  return `[${rows.map((row) => JSON.stringify(row)).join(',\n')}]\n`;
}

function jsonLines(rows: readonly unknown[]): string {
  return rows.map((row) => `${JSON.stringify(row)}\n`).join('');
}

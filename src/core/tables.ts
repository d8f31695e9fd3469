import { readArrow } from './arrow.js';
import type { Columns, Row } from './columns.js';
import { InputError } from './errors.js';
import { readJsonl } from './jsonl.js';
import { type Manifest, checkedFile } from './manifest.js';

/** Reads the table `name` of a finished folder, in whichever of the two formats it was written, after checking its sha256. */
export async function* readTable<C extends Columns>(folder: string, manifest: Manifest, name: string, columns: C): AsyncGenerator<Row<C>> {
  const entry = manifest.outputs.find((one) => one.name === `${name}.arrow` || one.name === `${name}.jsonl`);
  if (!entry)
    throw new InputError(`no table ${JSON.stringify(name)} in this folder of kind ${JSON.stringify(manifest.kind)}`, { file: folder });
  const file = await checkedFile(folder, manifest, entry.name);
  yield* entry.name.endsWith('.arrow') ? readArrow(file, columns) : readJsonl(file, columns);
}

export async function collect<T>(rows: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const row of rows) all.push(row);
  return all;
}

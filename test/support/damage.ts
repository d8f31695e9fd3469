import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { temporaryFolder } from './files.js';

/** A copy of a folder in which the lowest bit of one byte of a file is flipped: its middle one. */
export async function damagedCopy(folder: string, name: string): Promise<{ folder: string; file: string }> {
  const copy = join(await temporaryFolder(), 'copy');
  await cp(folder, copy, { recursive: true });
  await flipByte(join(copy, name));
  return { folder: copy, file: join(copy, name) };
}

export async function flipByte(file: string): Promise<void> {
  const bytes = await readFile(file);
  const middle = bytes.length >> 1;
  bytes[middle] = (bytes[middle] as number) ^ 1;
  await writeFile(file, bytes);
}

/** A copy of a folder whose manifest says something else in its details. */
export async function changedManifest<Details>(
  folder: string,
  schema: { parse(value: unknown): Details },
  change: (details: Details) => void,
): Promise<string> {
  const copy = join(await temporaryFolder(), 'copy');
  await cp(folder, copy, { recursive: true });
  const file = join(copy, 'manifest.json');
  const manifest = JSON.parse(await readFile(file, 'utf8')) as { details: unknown };
  const details = schema.parse(manifest.details);
  change(details);
  await writeFile(file, JSON.stringify({ ...manifest, details }));
  return copy;
}

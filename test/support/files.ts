import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A new empty folder. */
export function temporaryFolder(): Promise<string> {
  return mkdtemp(join(tmpdir(), 'hopgate-'));
}

/** A file with this content in a new folder. */
export async function temporaryFile(name: string, content: string | Uint8Array): Promise<string> {
  const file = join(await temporaryFolder(), name);
  await writeFile(file, content);
  return file;
}

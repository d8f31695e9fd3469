import { stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { InputError, fromSystem, shown } from '../core/errors.js';
import { canonicalJson, hashFile, sha256 } from '../core/hash.js';

/**
 * The sha256 of a GGUF model: of its file, or of its parts' in order where it was split (NAME-00001-of-00003.gguf), the first of which is given.
 *
 * @throws InputError for another part than the first, and for one that is missing
 */
export async function ggufSha256(path: string): Promise<string> {
  const parts = ggufParts(path);
  for (const part of parts) {
    await stat(part).catch((error: unknown) => {
      throw fromSystem(error, part);
    });
  }
  const hashes: string[] = [];
  for (const part of parts) hashes.push((await hashFile(part)).sha256);
  return hashes.length === 1 ? (hashes[0] as string) : sha256(canonicalJson(hashes));
}

function ggufParts(path: string): string[] {
  const named = /^(.*-)(\d{5})-of-(\d{5})\.gguf$/is.exec(path);
  if (!named) return [path];
  const [, before, part, of] = named as unknown as [string, string, string, string];
  if (part !== '00001')
    throw new InputError(`is part ${Number(part)} of a model, expected its first, ${shown(basename(`${before}00001-of-${of}.gguf`))}`, {
      file: path,
    });
  const end = path.slice(before.length + part.length);
  return Array.from({ length: Number(of) }, (_, at) => `${before}${String(at + 1).padStart(5, '0')}${end}`);
}

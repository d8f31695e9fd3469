import { readdir, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { InputError } from '../src/core/errors.js';
import { hashFile } from '../src/core/hash.js';
import { MANIFEST_NAME, UNFINISHED_NAME } from '../src/core/manifest.js';
import { LOCK_NAME } from '../src/core/pinned-files.js';
import { refuseRepeats } from '../src/core/repeats.js';

/** What a path on the command line names: an output folder of this product, or dataset files in the order in which they are read. */
export type NamedInput = { folder: string } | { files: string[] };

/**
 * Resolves a path: a file; a folder of this product; a folder that holds the files of one split; a pattern with `*` or `?` in its last
 * part; or a comma list of any of these but output folders. Files of a folder or a pattern are read in the order of their names, have to
 * belong to one split (`train-00000-of-00002.parquet`, …) and to be all of its shards: half a split or two splits read as one would go
 * unnoticed. A comma list is taken as it is written, but for a file that stands in it twice. Throws InputError that names what is missing or ambiguous.
 */
export async function inputFiles(path: string): Promise<NamedInput> {
  const found = await stat(path).catch(() => undefined);
  if (found?.isDirectory()) {
    const names = await readdir(path);
    const data = names.filter((name) => DATA_FILE.test(name) && name !== LOCK_NAME).toSorted();
    if (names.includes(MANIFEST_NAME) || names.includes(UNFINISHED_NAME)) return { folder: path };
    const begun = names.find((name) => name.endsWith('.part'));
    if (begun !== undefined)
      throw new InputError(`the download of ${begun.slice(0, -'.part'.length)} is unfinished; the same command goes on`, { file: path });
    if (data.length === 0) return { folder: path };
    checkOneSplit(path, data);
    return { files: data.map((name) => join(path, name)) };
  }
  if (found) return { files: [path] };
  if (path.includes(',')) {
    const files: string[] = [];
    for (const part of path.split(',')) {
      const named = await inputFiles(part);
      if ('folder' in named)
        throw new InputError('an output folder cannot stand in a list; expected dataset files', { file: named.folder });
      files.push(...named.files);
    }
    await refuseSameFiles(files);
    return { files };
  }
  if (/[*?]/.test(basename(path))) return { files: await matching(path) };
  return { files: [path] };
}

const DATA_FILE = /^[^.].*(?<!\.part)\.(parquet|jsonl?(\.gz)?)$/;
const SHARD = /^(.*)-(\d{5})-of-(\d{5})(\..*)$/;

async function matching(pattern: string): Promise<string[]> {
  const folder = dirname(pattern);
  const like = new RegExp(
    `^${basename(pattern)
      .replace(/[\\^$+.()|[\]{}]/g, '\\$&')
      .replaceAll('*', '.*')
      .replaceAll('?', '.')}$`,
  );
  const names = await readdir(folder).catch(() => [] as string[]);
  const files = names.filter((name) => like.test(name) && !name.startsWith('.')).toSorted();
  if (files.length === 0) throw new InputError('no file matches this pattern', { file: pattern });
  checkOneSplit(pattern, files);
  return files.map((name) => join(folder, name));
}

/** Only files of one size are read for it. */
async function refuseSameFiles(files: readonly string[]): Promise<void> {
  const sizes = await Promise.all(
    files.map((file) =>
      stat(file).then(
        (found) => found.size,
        () => null,
      ),
    ),
  );
  const alike = files.filter((_, at) => sizes[at] !== null && sizes.filter((size) => size === sizes[at]).length > 1);
  const hashed: { file: string; sha256: string }[] = [];
  for (const file of alike) hashed.push({ file, ...(await hashFile(file)) });
  refuseRepeats(hashed);
}

function checkOneSplit(path: string, names: readonly string[]): void {
  const splits = new Map<string, Set<number>>();
  for (const name of names) {
    const [, split, number, of, ending] = SHARD.exec(name) ?? [];
    const key = split === undefined ? name : `${split}-*-of-${of as string}${ending as string}`;
    splits.set(key, (splits.get(key) ?? new Set()).add(Number(number)));
  }
  if (splits.size > 1)
    throw new InputError(
      `holds several sets of files (${[...splits.keys()].join(', ')}), expected one; name one by a pattern, or several by a comma list`,
      { file: path },
    );
  for (const [key, there] of splits) {
    const of = Number(/-of-(\d{5})\./.exec(key)?.[1] ?? 0);
    for (let shard = 0; shard < of; shard++)
      if (!there.has(shard))
        throw new InputError(`shard ${String(shard).padStart(5, '0')} of ${key} is missing; a comma list reads only what is there`, {
          file: path,
        });
  }
}

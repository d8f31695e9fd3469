import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { parsedJson } from './parse.js';
import { type DownloadOptions, download, dropDownload, keepDownload } from './download.js';
import { InputError } from './errors.js';
import { hashFile } from './hash.js';
import { writeFileAtomic } from './output-folder.js';

/** Stands beside fetched files and says what the first fetch got; every later one is compared with it. */
export const LOCK_NAME = 'download.lock.json';

const sha256Field = z.string().regex(/^[0-9a-f]{64}$/, 'expected 64 hex digits');

/** A name inside the folder: no absolute path, no way out of it. */
export const fileName = z.string().regex(/^(?!\.)[\w.-]+(\/(?!\.)[\w.-]+)*$/, 'expected a relative path without ".."');

/** What a registry says of a file's content; null for what this project has not computed itself. */
export const pinFields = { sha256: sha256Field.nullable(), bytes: z.int().nonnegative().nullable() };

const lockEntry = z.strictObject({
  name: fileName,
  /** As in the registry, with the revision filled in. */
  address: z.string(),
  /** Commit or version that was fetched; null where neither host nor registry names one. */
  revision: z.string().nullable(),
  sha256: sha256Field,
  bytes: z.int().nonnegative(),
});
export type LockEntry = z.infer<typeof lockEntry>;
const lockSchema = z.strictObject({ format_version: z.literal(1), files: z.array(lockEntry) });

/** A commit of a git host, as its answers name it; a branch or a tag may move. */
const COMMIT = /^[0-9a-f]{40}$/;

export interface PinnedFile {
  name: string;
  /** `{revision}` in it is replaced by the locked revision, else by `revision`, else by the commit that the first answer names, else by `branch`. */
  address: string;
  sha256: string | null;
  bytes: number | null;
  revision: string | null;
}

export interface FetchOptions extends DownloadOptions {
  branch?: string | undefined;
  /** Fetch again what is there; it still has to be what the lock file says. */
  force?: boolean | undefined;
}

export interface FetchedFile extends LockEntry {
  /** `fetched`, or `kept`: it was there already, as the lock file says. */
  state: 'fetched' | 'kept';
  /** The registry had no sha256: the first fetch decides what the file is. */
  first: boolean;
}

/**
 * Brings files into a folder and records sha256 and size of each in the lock file there. What is there already is hashed again and not
 * fetched. Throws InputError when a file is not what registry or lock file say, here or at the host.
 */
export async function fetchFiles(folder: string, files: readonly PinnedFile[], options: FetchOptions = {}): Promise<FetchedFile[]> {
  const lock = await readLock(folder);
  const fetched: FetchedFile[] = [];
  let commit: string | null = null;
  for (const file of files) {
    const locked = lock.find((one) => one.name === file.name);
    const path = join(folder, file.name);
    // What this project has computed itself goes before what a first fetch got.
    const pin = { sha256: file.sha256 ?? locked?.sha256 ?? null, bytes: file.bytes ?? locked?.bytes ?? null };
    const pinnedBy = file.sha256 === null && locked ? join(folder, LOCK_NAME) : 'the registry';
    if (!options.force && (await exists(path))) {
      if (!locked) throw new InputError(`is there already, and no ${LOCK_NAME} says where it is from; --force replaces it`, { file: path });
      await checkFile(path, { sha256: pin.sha256 ?? locked.sha256, bytes: pin.bytes ?? locked.bytes }, pinnedBy);
      commit ??= locked.revision;
      fetched.push({ ...locked, state: 'kept', first: false });
      continue;
    }
    const asked = locked?.revision ?? file.revision ?? commit ?? options.branch ?? '';
    const address = file.address.replace('{revision}', asked);
    const { part, revision } = await download(address, path, options);
    if (revision !== null && COMMIT.test(asked) && revision !== asked) {
      await dropDownload(path);
      throw new InputError(`${address}: the host served commit ${revision}, expected ${asked}: files of two commits are not mixed`);
    }
    const got = await hashFile(part);
    if (got.bytes === 0) {
      await dropDownload(path);
      throw new InputError(`${address}: got an empty file`);
    }
    if ((pin.sha256 ?? got.sha256) !== got.sha256 || (pin.bytes ?? got.bytes) !== got.bytes) {
      await dropDownload(path);
      const hint = locked ? ` (delete ${join(folder, LOCK_NAME)} to take what the host has now)` : '';
      throw new InputError(
        `${address}: got sha256 ${got.sha256}, ${got.bytes} bytes; expected ${pin.sha256 ?? got.sha256}, ${pin.bytes ?? got.bytes} bytes as in ${pinnedBy}${hint}`,
      );
    }
    const named = locked?.revision ?? revision ?? file.revision;
    commit ??= named;
    const entry: LockEntry = { name: file.name, address: file.address.replace('{revision}', named ?? asked), revision: named, ...got };
    if (!locked) {
      lock.push(entry);
      // Before the file is in its place: a kill in between leaves a whole part, which the next run compares and moves.
      await writeLock(folder, lock);
    }
    await keepDownload(path);
    fetched.push({ ...entry, state: 'fetched', first: !locked && file.sha256 === null });
  }
  return fetched;
}

/** Entries of a folder's lock file; empty where there is none. */
export async function readLock(folder: string): Promise<LockEntry[]> {
  const file = join(folder, LOCK_NAME);
  const content = await readFile(file, 'utf8').catch(() => undefined);
  if (content === undefined) return [];
  return parsedJson(lockSchema, content, { file }).files;
}

/** Hashes a file again. Throws InputError when it is not what `expected` says. */
export async function checkFile(path: string, expected: { sha256: string; bytes: number }, where: string): Promise<void> {
  const got = await hashFile(path).catch(() => undefined);
  if (!got) throw new InputError(`missing, but listed in ${where}`, { file: path });
  if (got.bytes !== expected.bytes)
    throw new InputError(`got ${got.bytes} bytes, expected ${expected.bytes} as in ${where}`, { file: path });
  if (got.sha256 !== expected.sha256)
    throw new InputError(`got sha256 ${got.sha256}, expected ${expected.sha256} as in ${where}: the file was changed or damaged`, {
      file: path,
    });
}

async function writeLock(folder: string, entries: readonly LockEntry[]): Promise<void> {
  const files = entries.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  await writeFileAtomic(join(folder, LOCK_NAME), `${JSON.stringify({ format_version: 1, files }, null, 2)}\n`);
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

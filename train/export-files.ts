import { createReadStream } from 'node:fs';
import { appendFile, mkdir, readFile, rename, rm, stat, truncate } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { InputError, fromSystem, shown } from '../src/core/errors.js';
import { hashFile } from '../src/core/hash.js';
import { writeFileAtomic } from '../src/core/output-folder.js';
import { type VerifierExport, readVerifierExport } from '../src/core/verifier-export.js';
import type { FetchOptions } from './launch.js';

/** Bytes of an export's file from `offset` on. */
export interface FileRange {
  path: string;
  offset: number;
  bytes: number;
}

/** Where an export lies. */
export interface ExportSource {
  /** export.json as it is there. */
  manifest(): Promise<string>;
  /** The ranges' bytes in order, in pieces of any size. */
  read(ranges: readonly FileRange[], signal?: AbortSignal): AsyncIterable<{ path: string; bytes: Uint8Array }>;
}

const UNFINISHED = '.unfinished';
const MANIFEST = 'export.json';

/**
 * Brings an export into a folder. What an interrupted attempt has brought is kept, file by file and byte by byte; each file is renamed into
 * place once its sha256 is the one in export.json, which comes last. What the source sends is taken for the asked files and bytes alone: a
 * job's log may hold anything. Throws InputError that names the file that differs, or what was not asked for.
 */
export async function fetchExport(source: ExportSource, out: string, options: FetchOptions = {}): Promise<VerifierExport> {
  const work = join(out, UNFINISHED);
  const manifest = await source.manifest();
  if ((await readFile(join(work, MANIFEST), 'utf8').catch(() => manifest)) !== manifest) await rm(work, { recursive: true, force: true });
  await writeFileAtomic(join(work, MANIFEST), manifest);
  const parsed = await readVerifierExport(work);
  refuseNames(parsed, work);
  const ranges: FileRange[] = [];
  let here = 0;
  for (const file of parsed.files) {
    if ((await whyDifferent(join(out, file.path), file)) === undefined) {
      here += file.bytes;
      continue;
    }
    const part = join(work, file.path);
    await mkdir(dirname(part), { recursive: true });
    await appendFile(part, '');
    const { size } = await stat(part);
    if (size > file.bytes) await truncate(part);
    const offset = size > file.bytes ? 0 : size;
    here += offset;
    if (offset < file.bytes) ranges.push({ path: file.path, offset, bytes: file.bytes - offset });
    else await keep(file, part, join(out, file.path));
  }
  const total = parsed.files.reduce((sum, { bytes }) => sum + bytes, 0);
  const missing = new Map(ranges.map((range) => [range.path, range.bytes]));
  options.onProgress?.(here, total);
  for await (const { path, bytes } of source.read(ranges, options.signal)) {
    options.signal?.throwIfAborted();
    const file = parsed.files.find((one) => one.path === path);
    const before = missing.get(path);
    if (file === undefined || before === undefined)
      throw new InputError(`the source sent ${shown(path)}, which was not asked for; nothing of it is written`, { file: out });
    const left = before - bytes.length;
    if (left < 0)
      throw new InputError(`the source sent ${-left} bytes more than export.json lists; none of the last piece is written`, { file: path });
    if (bytes.length === 0) continue;
    const part = join(work, path);
    await appendFile(part, bytes);
    here += bytes.length;
    options.onProgress?.(here, total);
    missing.set(path, left);
    if (left === 0) await keep(file, part, join(out, path));
  }
  const short = [...missing].find(([, left]) => left > 0);
  if (short) throw new InputError(`ended ${short[1]} bytes early; the same command goes on`, { file: short[0] });
  await rename(join(work, MANIFEST), join(out, MANIFEST));
  await rm(work, { recursive: true, force: true });
  return parsed;
}

/** Reads a finished export and compares each of its files with export.json. Throws InputError that names the first that differs. */
export async function checkExport(folder: string, { onProgress, signal }: FetchOptions = {}): Promise<VerifierExport> {
  const parsed = await readVerifierExport(folder);
  const total = parsed.files.reduce((sum, { bytes }) => sum + bytes, 0);
  let done = 0;
  for (const file of parsed.files) {
    signal?.throwIfAborted();
    const wrong = await whyDifferent(join(folder, file.path), file);
    if (wrong !== undefined) throw new InputError(wrong, { file: join(folder, file.path) });
    onProgress?.((done += file.bytes), total);
  }
  return parsed;
}

/** An export in a folder that this machine sees too. */
export function folderSource(folder: string): ExportSource {
  return {
    manifest: async () => {
      const file = join(folder, MANIFEST);
      return readFile(file, 'utf8').catch((error: unknown) => {
        throw fromSystem(error, file);
      });
    },
    read: async function* (ranges) {
      for (const { path, offset } of ranges) {
        for await (const chunk of createReadStream(join(folder, path), { start: offset, highWaterMark: 1 << 22 })) {
          yield { path, bytes: chunk as Buffer };
        }
      }
    },
  };
}

/** Removes a finished export by its own list, so that nothing else in the folder is touched. */
export async function removeExport(folder: string): Promise<void> {
  const { files } = await readVerifierExport(folder);
  await rm(join(folder, MANIFEST));
  for (const { path } of files) await rm(join(folder, path), { force: true });
}

export async function holdsExport(folder: string): Promise<boolean> {
  return stat(join(folder, MANIFEST)).then(
    () => true,
    () => false,
  );
}

type Listed = VerifierExport['files'][number];

/** Each file is brought once, and under its own name: a second one, or export.json itself, would be written over what is there. */
function refuseNames({ files }: VerifierExport, work: string): void {
  const seen = new Set<string>([MANIFEST]);
  for (const { path } of files) {
    if (seen.has(path))
      throw new InputError(`lists ${path} ${path === MANIFEST ? 'itself' : 'twice'}`, { file: join(work, MANIFEST), field: 'files' });
    seen.add(path);
  }
}

async function keep(file: Listed, part: string, target: string): Promise<void> {
  const wrong = await whyDifferent(part, file);
  if (wrong !== undefined) {
    await rm(part, { force: true });
    throw new InputError(wrong, { file: file.path });
  }
  await mkdir(dirname(target), { recursive: true });
  await rename(part, target);
}

async function whyDifferent(path: string, { bytes, sha256 }: Listed): Promise<string | undefined> {
  const size = await stat(path).then(
    (found) => (found.isFile() ? found.size : -1),
    () => -1,
  );
  if (size < 0) return 'listed in export.json, but missing';
  if (size !== bytes) return `got ${size} bytes, expected ${bytes} as in export.json`;
  const got = (await hashFile(path)).sha256;
  return got === sha256 ? undefined : `got sha256 ${got}, expected ${sha256} as in export.json: the file was changed or damaged`;
}

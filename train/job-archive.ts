import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Zippable, zipSync } from 'fflate';
import type { JobFolder } from './job-files.js';

/** What every entry is dated: the earliest day that the format has, since a job's bytes hold no time. In local time, as zip files do. */
const EPOCH = new Date(1980, 0, 1);

/**
 * A job's files as one zip archive without a folder around them. Equal jobs give equal bytes on every machine and Node version: the packing
 * is fflate's own, the order is that of the names, and neither dates nor permissions are kept (`bash run.sh` needs none).
 */
export async function packJob({ dir, files }: JobFolder): Promise<Uint8Array> {
  const entries: Zippable = {};
  for (const name of files) entries[name] = await readFile(join(dir, name));
  return zipSync(entries, { mtime: EPOCH, level: 6 });
}

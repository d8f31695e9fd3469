import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { InputError } from '../../src/core/errors.js';
import {
  type FetchOptions,
  type FetchedFile,
  LOCK_NAME,
  type LockEntry,
  checkFile,
  fetchFiles,
  readLock,
} from '../../src/core/pinned-files.js';
import { ENCODER_NAMES, type EncoderName, type KnownEncoder } from '../encoders/known-encoders.js';

/**
 * Fetches a known encoder's files into `modelDir/NAME`, where `openEncoder` finds them. Goes on where an interrupted pull stopped; all
 * files are of one commit, the one that the first answer names. Throws InputError as `fetchFiles` does.
 */
export async function pullModel(
  name: EncoderName,
  known: KnownEncoder,
  options: FetchOptions & { modelDir: string },
): Promise<FetchedFile[]> {
  const files = known.files.map((file) => ({ ...file, address: `${known.address}${file.name}`, revision: known.revision }));
  return fetchFiles(join(options.modelDir, name), files, { ...options, branch: known.branch });
}

export interface ModelState {
  name: EncoderName;
  folder: string;
  /** Absent also where files were put by hand: no lock file says anything of them. */
  state: 'absent' | 'unfinished' | 'pulled';
  files: LockEntry[];
}

/** What the lock files of a model folder say, and whether their files are there; nothing is hashed or contacted. */
export async function pulledModels(modelDir: string, registry: { [name in EncoderName]: KnownEncoder }): Promise<ModelState[]> {
  const states: ModelState[] = [];
  for (const name of ENCODER_NAMES) {
    const folder = join(modelDir, name);
    const files = await readLock(folder);
    const there = await Promise.all(registry[name].files.map((file) => isThere(join(folder, file.name))));
    const whole = registry[name].files.every((file, index) => there[index] && files.some((one) => one.name === file.name));
    states.push({ name, folder, state: files.length === 0 ? 'absent' : whole ? 'pulled' : 'unfinished', files });
  }
  return states;
}

/**
 * Hashes a pulled model's files again. Throws InputError for the first one that is not what the pull got, and for an unfinished pull. A folder
 * without a lock file was filled by hand, and there is nothing to compare it with.
 */
export async function checkPulled(name: string, folder: string, known: KnownEncoder): Promise<void> {
  const lock = await readLock(folder);
  if (lock.length === 0) return;
  for (const entry of lock) await checkFile(join(folder, entry.name), entry, join(folder, LOCK_NAME));
  const missing = known.files.find((file) => !lock.some((one) => one.name === file.name));
  if (missing) throw new InputError(`the pull is unfinished (no ${missing.name}); hopgate models pull ${name} goes on`, { file: folder });
}

async function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isFile(),
    () => false,
  );
}

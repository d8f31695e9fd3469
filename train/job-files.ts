import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { InputError } from '../src/core/errors.js';
import { hashFile } from '../src/core/hash.js';
import { MANIFEST_NAME, checkedFile, readManifest } from '../src/core/manifest.js';
import { preflight, refuseFaults } from './preflight.js';

/** A planned job, whole and unchanged since `verifier plan` wrote it. */
export interface JobFolder {
  dir: string;
  /** Of manifest.json, which holds the sha256 of every other file. */
  sha256: string;
  /** Names of the job's files in sorted order, manifest.json among them; what a run left in the folder is not. */
  files: string[];
}

/** Reads a job folder and compares every file with its manifest. Throws InputError that names the first that is missing or differs. */
export async function checkedJob(dir: string): Promise<JobFolder> {
  const manifest = await readManifest(dir, 'verifier-job');
  for (const { name } of manifest.outputs) await checkedFile(dir, manifest, name);
  const files = [...manifest.outputs.map(({ name }) => name), MANIFEST_NAME].toSorted();
  if (!files.includes('run.sh')) throw new InputError('not listed in the manifest', { file: join(dir, 'run.sh') });
  // Python would import a stray module of the trainer's folder before the one that was checked.
  const stray = (await readdir(join(dir, 'trainer'), { recursive: true }).catch(() => [] as string[])).find(
    (name) => name.endsWith('.py') && !files.includes(`trainer/${name}`),
  );
  if (stray !== undefined)
    throw new InputError('not listed in the manifest, and the trainer would import it', { file: join(dir, 'trainer', stray) });
  return { dir, sha256: (await hashFile(join(dir, MANIFEST_NAME))).sha256, files };
}

/** A job that may be launched: unchanged, and without a fault that the preflight finds. Throws InputError that names the first. */
export async function launchableJob(dir: string): Promise<JobFolder> {
  const job = await checkedJob(dir);
  refuseFaults(await preflight(dir), dir);
  return job;
}

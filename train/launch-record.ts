import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { InputError } from '../src/core/errors.js';
import { writeFileAtomic } from '../src/core/output-folder.js';

/** Stands in the job folder from before the first launch on, so that whoever comes after a killed driver finds the job. */
export const RECORD_NAME = '.launch.json';

const launchRecord = z.strictObject({
  format: z.literal(1),
  launcher: z.enum(['local', 'ray']),
  /** Of the last attempt. */
  id: z.string().regex(/^[\w-]+$/),
  /** Of the folder that the attempts write to, one after the other. */
  run: z.string().regex(/^[\w-]+$/),
  /** The manifest of the job as it was launched. */
  job_sha256: z.string().regex(/^[0-9a-f]{64}$/),
  address: z.nullable(z.string()),
  storage: z.nullable(z.string()),
  /** Absolute folder that a local job writes its export to. */
  out: z.string(),
});
export type LaunchRecord = z.infer<typeof launchRecord>;

/** Undefined where nothing was launched from this folder. */
export async function readLaunchRecord(job: string): Promise<LaunchRecord | undefined> {
  const file = join(job, RECORD_NAME);
  const content = await readFile(file, 'utf8').catch(() => undefined);
  if (content === undefined) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(content);
  } catch {
    value = undefined;
  }
  const parsed = launchRecord.safeParse(value);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  throw new InputError(`${issue?.message ?? 'invalid'}; --attach ID follows a job whose id is known, --force starts another`, {
    file,
    field: issue?.path.join('.'),
  });
}

export async function writeLaunchRecord(job: string, record: LaunchRecord): Promise<void> {
  await writeFileAtomic(join(job, RECORD_NAME), `${JSON.stringify(record, null, 2)}\n`);
}

/** An id that no other launch has: two people may launch one job on one cluster. Not part of any result. */
export function newJobId(jobSha256: string): string {
  return `hopgate-${jobSha256.slice(0, 12)}-${randomBytes(4).toString('hex')}`;
}

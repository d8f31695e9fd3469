import { join } from 'node:path';
import { InputError, shown } from '../src/core/errors.js';
import { hashFile, sha256 } from '../src/core/hash.js';
import { checkedFile, readManifest } from '../src/core/manifest.js';
import type { DevScores, GoldenScores, VerifierExport } from '../src/core/verifier-export.js';
import { type VerifierPlan, readJobRows, readVerifierPlan } from '../src/core/verifier-job.js';
import { EXPORT_NAME } from './import-files.js';

/** Reads a job's plan, unchanged since it was planned. Throws InputError where the folder is no job or a file that is compared differs. */
export async function readPlan(job: string): Promise<VerifierPlan> {
  const manifest = await readManifest(job, 'verifier-job');
  for (const name of ['plan.json', 'train.jsonl', 'golden.jsonl', 'dev.jsonl']) await checkedFile(job, manifest, name);
  return readVerifierPlan(job);
}

/**
 * Checks that an export is that of the job: what its prompts were made with, the very golden and dev rows, in their order, and the plan and
 * training rows. A trainer does not choose what it is judged by. The settings are compared apart (`checkSettings`). Throws InputError for the
 * first difference.
 */
export async function checkJob(
  folder: string,
  { job, plan }: { job: string; plan: VerifierPlan },
  { made, golden, dev }: { made: VerifierExport; golden: readonly GoldenScores[]; dev: readonly DevScores[] },
): Promise<void> {
  for (const field of ['base', 'template_sha256', 'prompt_sha256', 'tokenizer_sha256'] as const) {
    if (made[field] !== plan[field])
      throw new InputError(`got ${shown(made[field])}, expected ${shown(plan[field])} as in the plan`, {
        file: join(folder, EXPORT_NAME),
        field,
      });
  }
  await sameRows(job, 'golden', { file: join(folder, 'golden.jsonl'), got: golden });
  await sameRows(job, 'dev', { file: join(folder, 'dev-scores.jsonl'), got: dev });
  for (const [field, expected] of [
    ['train_rows', plan.counts.train],
    ['steps', plan.settings.max_steps],
  ] as const) {
    if (made.metrics[field] !== expected)
      throw new InputError(`got ${made.metrics[field]}, expected ${expected} as in the plan`, {
        file: join(folder, EXPORT_NAME),
        field: `metrics.${field}`,
      });
  }
  const expected = await trainingSha256(job);
  if (made.training_sha256 !== expected)
    throw new InputError(
      `got ${made.training_sha256}, expected ${expected}, of the job's plan.json and train.jsonl: trained with another plan or on other rows`,
      { file: join(folder, EXPORT_NAME), field: 'training_sha256' },
    );
}

/** What the trainer calls a job's identity: sha256 of the hex sha256 of plan.json and of train.jsonl, with a line feed between them. */
export async function trainingSha256(job: string): Promise<string> {
  const marks = await Promise.all(['plan.json', 'train.jsonl'].map(async (name) => (await hashFile(join(job, name))).sha256));
  return sha256(marks.join('\n'));
}

async function sameRows(
  job: string,
  name: 'golden' | 'dev',
  { file, got }: { file: string; got: readonly Pick<DevScores, 'row' | 'label' | 'prompt_ids'>[] },
): Promise<void> {
  let count = 0;
  for await (const { row: planned } of readJobRows(job, name)) {
    const own = got[count];
    count++;
    if (own === undefined) continue;
    const place = { file, line: count };
    if (own.row !== planned.row || own.label !== planned.label)
      throw new InputError(
        `got row ${shown(own.row)} (${own.label}), expected ${shown(planned.row)} (${planned.label}) as in the job`,
        place,
      );
    const prompt = planned.ids.slice(0, planned.loss[0]);
    if (own.prompt_ids.join() !== prompt.join())
      throw new InputError(`differs from the prompt of the job's row`, { ...place, field: 'prompt_ids' });
  }
  if (got.length !== count) throw new InputError(`got ${got.length} rows, expected ${count} as in the job`, { file });
}

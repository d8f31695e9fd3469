import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { InputError, shown } from '../src/core/errors.js';
import { readLines } from '../src/core/jsonl.js';
import { type TrainingSettings, trainingSettings } from '../src/core/verifier-export.js';
import type { PlannedGolden } from './import-prompts.js';

const plan = z.looseObject({ settings: trainingSettings });
const golden = z.looseObject({
  row: z.string(),
  label: z.string(),
  ids: z.array(z.int().nonnegative()),
  loss: z.tuple([z.int().nonnegative(), z.int().nonnegative()]),
});

/** Reads what an import compares of a job folder. Throws InputError that names file, line and field. */
export async function readPlannedJob(job: string): Promise<{ settings: TrainingSettings; golden: PlannedGolden[] }> {
  const file = join(job, 'plan.json');
  const content = await readFile(file, 'utf8').catch(() => {
    throw new InputError('no plan.json: not a job folder of verifier plan', { file: job });
  });
  const rows: PlannedGolden[] = [];
  const goldenFile = join(job, 'golden.jsonl');
  for await (const { line, text } of readLines(goldenFile)) rows.push(parse(golden, text, { file: goldenFile, line }));
  return { settings: parse(plan, content, { file }).settings, golden: rows };
}

function parse<T>(schema: z.ZodType<T>, text: string, place: { file: string; line?: number }): T {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new InputError(`got ${shown(text, 60)}, expected a JSON object`, place);
  }
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  throw new InputError(issue?.message ?? 'invalid', { ...place, field: issue?.path.join('.') });
}

import { z } from 'zod';
import { InputError } from '../../src/core/errors.js';
import { type Manifest, readManifest } from '../../src/core/manifest.js';
import { readTable } from '../../src/core/tables.js';
import { type DecidedQuestion, type Verdict, decidedColumns, verdictColumns } from '../../src/core/verdicts.js';
import type { Scan } from './verdict.js';

/** The `details` of a folder of kind `verdicts`. */
export const verdictsDetails = z.strictObject({
  /** The name under which the verdicts are kept and stand in the rows. */
  name: z.string(),
  /** The decider's identity; a threshold belongs to it. */
  decider: z.json(),
  dataset: z.string(),
  /** Source of the claims that the decider read; null when it reads none. */
  claims: z.nullable(z.string()),
  scan: z.strictObject({
    threshold: z.strictObject({ pAtLeast: z.number(), marginAbove: z.number() }),
    allPairs: z.boolean(),
  }),
  /** Whether the decider, called after every loop, hardly rules at all; only where that is asked (`nli`). */
  trivial: z.boolean().optional(),
});
export type VerdictsDetails = z.infer<typeof verdictsDetails>;

export interface StoredVerdicts {
  manifest: Manifest;
  details: VerdictsDetails;
  scan: Scan;
  /** Every decided question with its rows, in the order of the run; a question without a scored pair has none. */
  questions: () => AsyncGenerator<{ question: DecidedQuestion; rows: Verdict[] }>;
}

/** Opens a finished folder of verdicts. Throws InputError when it is none, or when its rows do not follow its questions. */
export async function openVerdicts(folder: string): Promise<StoredVerdicts> {
  const manifest = await readManifest(folder, 'verdicts');
  const parsed = verdictsDetails.safeParse(manifest.details);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    throw new InputError(issue?.message ?? 'invalid', { file: folder, field: ['details', ...(issue?.path ?? [])].join('.') });
  }
  return { manifest, details: parsed.data, scan: parsed.data.scan, questions: () => decided(folder, manifest) };
}

async function* decided(folder: string, manifest: Manifest): AsyncGenerator<{ question: DecidedQuestion; rows: Verdict[] }> {
  const verdicts = readTable(folder, manifest, 'verdicts', verdictColumns);
  try {
    let next = await verdicts.next();
    for await (const question of readTable(folder, manifest, 'questions', decidedColumns)) {
      const rows: Verdict[] = [];
      while (!next.done && next.value.row === question.row && next.value.question_id === question.question_id) {
        rows.push(next.value);
        next = await verdicts.next();
      }
      yield { question, rows };
    }
    if (!next.done)
      throw new InputError('a verdict of a question that is not in the questions table, or not in its order', {
        file: folder,
        row: next.value.row,
        questionId: next.value.question_id,
      });
  } finally {
    await verdicts.return(undefined);
  }
}

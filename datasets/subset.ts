import { writeFileAtomic } from '../src/core/output-folder.js';
import { canonicalJson, sha256 } from '../src/core/hash.js';
import { readJsonLines } from '../src/core/jsonl.js';
import type { HopRecord } from '../src/core/records.js';
import { normaliseTitle } from '../src/core/text.js';
import { z } from 'zod';

/**
 * A subset manifest: JSON lines `{question_id, row, sha256}` that pin the records of a shared subset, since such subsets have been passed
 * around with changed gold answers (known-faults P13).
 */
const entrySchema = z.strictObject({ question_id: z.string(), row: z.int().nonnegative(), sha256: z.string().regex(/^[0-9a-f]{64}$/) });
export type SubsetEntry = z.infer<typeof entrySchema>;

/** sha256 of what makes a record's gold: question, answer, aliases, supporting facts (titles normalised) and decomposition. */
export function recordHash(record: HopRecord): string {
  const { question, answer, aliases } = record;
  const supporting = record.supporting.map(({ title, sentence }) => [normaliseTitle(title), sentence]);
  const decomposition = record.decomposition.map((step) => [step.question, step.answer, step.page]);
  return sha256(canonicalJson([question, answer, aliases, supporting, decomposition]));
}

export function subsetEntry(record: HopRecord): SubsetEntry {
  return { question_id: record.question_id, row: record.row, sha256: recordHash(record) };
}

export async function writeSubset(file: string, entries: readonly SubsetEntry[]): Promise<void> {
  await writeFileAtomic(file, entries.map((entry) => `${JSON.stringify(entry)}\n`).join(''));
}

/** How records differ from a subset manifest. */
export interface SubsetCheck {
  /** Undefined when the record is as in the manifest. */
  record(record: HopRecord): 'subset_changed' | 'subset_extra' | undefined;
  /** Ids of the manifest that were not met. */
  missing(): string[];
}

/** Reads a subset manifest. Throws InputError that names line and field. */
export async function openSubset(file: string): Promise<SubsetCheck> {
  const hashes = new Map<string, string[]>();
  for await (const { value } of readJsonLines(file, entrySchema)) {
    const known = hashes.get(value.question_id);
    if (known) known.push(value.sha256);
    else hashes.set(value.question_id, [value.sha256]);
  }
  return {
    record: (record) => {
      const known = hashes.get(record.question_id);
      if (!known || known.length === 0) return 'subset_extra';
      const at = known.indexOf(recordHash(record));
      known.splice(Math.max(at, 0), 1);
      return at < 0 ? 'subset_changed' : undefined;
    },
    missing: () => [...hashes].flatMap(([id, left]) => left.map(() => id)),
  };
}

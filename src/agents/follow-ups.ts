import { z } from 'zod';
import { InputError } from '../core/errors.js';
import { readJsonLines } from '../core/jsonl.js';

const entrySchema = z.object({
  question_id: z.string().min(1),
  followups: z.array(z.string().refine((text) => text.trim() !== '', 'got an empty query, expected text')),
  /** Who wrote them. */
  source: z.string().optional(),
});

export interface FollowUps {
  byQuestion: ReadonlyMap<string, readonly string[]>;
  /** The different `source` values of the file, sorted: `gold-decomposition` makes a trajectory that knows gold labels. */
  sources: string[];
}

/**
 * Reads follow-up queries, one JSON line a question: `{question_id, followups[], source?}`; other fields are passed over. Repeated lines
 * for one question have to agree.
 *
 * @throws InputError that names the line for a malformed or contradicting one
 */
export async function readFollowUps(path: string): Promise<FollowUps> {
  const byQuestion = new Map<string, readonly string[]>();
  const sources = new Set<string>();
  for await (const { line, value } of readJsonLines(path, entrySchema)) {
    const { question_id: id, followups, source } = value;
    const known = byQuestion.get(id);
    if (known && JSON.stringify(known) !== JSON.stringify(followups)) {
      throw new InputError('other follow-ups than on an earlier line for the same question', { file: path, line, questionId: id });
    }
    byQuestion.set(id, followups);
    if (source !== undefined) sources.add(source);
  }
  if (byQuestion.size === 0) throw new InputError('no follow-ups in this file', { file: path });
  return { byQuestion, sources: [...sources].toSorted() };
}

import { z } from 'zod';
import { InputError, shown } from '../core/errors.js';
import { readLines } from '../core/jsonl.js';

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
  for await (const { line, text } of readLines(path)) {
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      throw new InputError(`got ${shown(text, 60)}, expected one JSON object`, { file: path, line });
    }
    const parsed = entrySchema.safeParse(value);
    if (!parsed.success) {
      const issue = parsed.error.issues[0];
      throw new InputError(issue?.message ?? 'invalid', { file: path, line, field: issue?.path.join('.') });
    }
    const { question_id: id, followups, source } = parsed.data;
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

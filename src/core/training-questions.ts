import { z } from 'zod';
import { sha256 } from './hash.js';
import { readJsonLines } from './jsonl.js';
import { type Manifest, checkedFile } from './manifest.js';
import { normaliseSentence } from './text.js';

/** Beside a trained model: what it has seen of questions, so that none of them passes for a held-out one. */
export const TRAINING_QUESTIONS = 'training-questions.jsonl';

/** What a question did for a model: it was trained on, or held out to choose the epoch whose weights are kept. */
export type QuestionUse = 'training' | 'epoch';

/** What a question did for a model; null for one that it has not seen. Questions are compared as sentences are (method.md §3). */
export type LearntFrom = (question: string) => QuestionUse | null;

const lineSchema = z.strictObject({ sha256: z.string().regex(/^[0-9a-f]{64}$/), use: z.enum(['training', 'epoch']) });
type Line = z.infer<typeof lineSchema>;

/** The lines of the file, sorted by digest; a question on both sides was trained on. No text of a question is kept. */
export function trainingQuestionLines(training: Iterable<string>, epoch: Iterable<string>): Line[] {
  const uses = new Map<string, QuestionUse>();
  for (const question of epoch) uses.set(digestOf(question), 'epoch');
  for (const question of training) uses.set(digestOf(question), 'training');
  return [...uses].map(([digest, use]) => ({ sha256: digest, use })).toSorted((a, b) => (a.sha256 < b.sha256 ? -1 : 1));
}

export function learntFrom(lines: Iterable<Line>): LearntFrom {
  const uses = new Map<string, QuestionUse>();
  for (const { sha256: digest, use } of lines) uses.set(digest, use);
  return (question) => uses.get(digestOf(question)) ?? null;
}

/** Reads the file of a model's folder. Throws InputError where it is missing, changed or no such file. */
export async function readTrainingQuestions(folder: string, manifest: Manifest): Promise<LearntFrom> {
  const file = await checkedFile(folder, manifest, TRAINING_QUESTIONS);
  const lines: Line[] = [];
  for await (const { value } of readJsonLines(file, lineSchema)) lines.push(value);
  return learntFrom(lines);
}

/** How many of some questions a model was trained on, and how many chose its epoch. */
export type LearntCounts = { [use in QuestionUse]: number };

export function countLearnt(uses: Iterable<QuestionUse | null | undefined>): LearntCounts {
  const counts: LearntCounts = { training: 0, epoch: 0 };
  for (const use of uses) if (use) counts[use]++;
  return counts;
}

function digestOf(question: string): string {
  return sha256(normaliseSentence(question));
}

import { z } from 'zod';
import { answerColumns } from '../core/agent-answers.js';
import { InputError } from '../core/errors.js';
import { evidenceLines } from '../core/evidence-lines.js';
import { type Extraction, extractionColumns } from '../core/extractions.js';
import type { Json, Manifest } from '../core/manifest.js';
import type { OutputFolder, TableFormat } from '../core/output-folder.js';
import type { OnProgress } from '../core/progress.js';
import { type QuestionKey, questionKey } from '../core/question-key.js';
import { questionWork } from '../core/question-work.js';
import { type HopRecord, recordColumns } from '../core/records.js';
import { type RunQuestion, readRunQuestions } from '../core/run-questions.js';
import { readTable } from '../core/tables.js';
import { type LanguageModel, LanguageModelError, addUsage, metered, noUsage } from '../llm/index.js';
import { EXTRACTION_TOKENS, answerOf, estimateTokens, fittedExtraction } from '../prompts/index.js';
import { scoreAnswer } from './answer-scores.js';

export interface ExtractRunOptions {
  run: string;
  manifest: Manifest;
  /** The name that stands in the rows. */
  name: string;
  model: LanguageModel;
  /** Tokens of the prompt at most; what is too long loses the end of its evidence. Default 4,000. */
  maxInputTokens?: number | undefined;
  /** Questions worked on at once. Default 1. */
  concurrency?: number | undefined;
  format: TableFormat;
  onProgress?: OnProgress | undefined;
  onFailed?: ((failure: QuestionKey & { message: string }) => void) | undefined;
  signal?: AbortSignal | undefined;
}

/**
 * Has the standard extractor (method.md §9) answer every question after every loop from what was retrieved up to it, and writes the table
 * `extractions`. Loops with the same evidence cost one call. Finished questions stand in a journal, so that an interrupted run goes on behind
 * them and ends with the same bytes. Returns the manifest's counts.
 *
 * @throws InputError where the run has no records; FailedQuestionsError where the model failed for single questions
 */
export async function extractRun(out: OutputFolder, options: ExtractRunOptions): Promise<{ [name: string]: Json }> {
  const { run, manifest, name, model, maxInputTokens, concurrency, format, onProgress, onFailed, signal } = options;
  const journal = await out.journal('answers.journal', (value) => journalEntry.parse(value));
  const native = await nativeAnswers(run, manifest);
  const sums = { questions: 0, loops: 0, calls: 0, without_answer: 0, empty_answers: 0, cut_replies: 0, cut_prompts: 0, longest_prompt: 0 };
  const usage = noUsage();
  const last = scoreSums();
  const own = scoreSums();

  async function* rows(): AsyncGenerator<Extraction> {
    const work = async ({ record, trajectory }: RunQuestion, stop: AbortSignal): Promise<JournalEntry> => {
      if (record === null) throw new InputError('has no records, which hold the questions and their answers', { file: run });
      const { question_id, row, loops } = trajectory;
      return { row, question_id, ...(await answersOf(record.question, loops, { model, maxInputTokens, signal: stop })) };
    };
    const failed = (error: unknown): boolean => error instanceof LanguageModelError;
    const questions = readRunQuestions(run, manifest);
    const working = questionWork(questions, {
      journal,
      keyOf: ({ trajectory }) => trajectory,
      work,
      concurrency,
      failed,
      onFailed,
      signal,
    });
    for await (const { question, entry } of working) {
      const record = question.record as HopRecord;
      const { question_id, row } = entry;
      const gold = goldAnswers(record);
      const made = entry.answers.map((answer, at): Extraction => ({
        question_id,
        row,
        loop: at + 1,
        extractor: name,
        answer,
        ...(gold === null ? { em: null, f1: null } : scoreAnswer(answer, gold)),
      }));
      sums.questions++;
      sums.loops += made.length;
      sums.calls += entry.usage.calls;
      sums.empty_answers += entry.answers.filter((answer) => answer === '').length;
      sums.cut_replies += entry.cut_replies;
      sums.cut_prompts += entry.cut;
      sums.longest_prompt = Math.max(sums.longest_prompt, entry.longest);
      addUsage(usage, entry.usage);
      if (gold === null) sums.without_answer++;
      else last.add(scoreAnswer(entry.answers.at(-1) as string, gold));
      onProgress?.(sums.questions, null);
      yield* made;
    }
  }

  await out.table('extractions', extractionColumns, rows(), format);
  if (sums.questions === 0) throw new InputError('no question in the run', { file: run });
  // A question that ended before its first loop has an answer too.
  if (native)
    for await (const record of readTable(run, manifest, 'records', recordColumns)) {
      const gold = goldAnswers(record);
      if (gold !== null && native.has(questionKey(record))) own.add(scoreAnswer(native.get(questionKey(record)) ?? '', gold));
    }
  return { ...sums, at_last_loop: last.mean(), native: native && own.mean(), usage: { ...usage } };
}

/** One question's answers, by loop; the usage is that of its own calls. */
async function answersOf(
  question: string,
  loops: RunQuestion['trajectory']['loops'],
  { model, maxInputTokens, signal }: { model: LanguageModel; maxInputTokens: number | undefined; signal: AbortSignal },
): Promise<Omit<JournalEntry, 'row' | 'question_id'>> {
  const meter = metered(model);
  const known = new Map<string, string>();
  const answers: string[] = [];
  let [cut, cutReplies, longest] = [0, 0, 0];
  for (let loop = 1; loop <= loops.length; loop++) {
    const evidence = evidenceLines(loops.slice(0, loop));
    const fitted = await fittedExtraction(question, evidence, { limit: maxInputTokens, count: model.countTokens ?? estimateTokens });
    const { system, user } = fitted.contents;
    if (fitted.cut) cut++;
    let answer = known.get(user);
    if (answer === undefined) {
      const messages = [
        { role: 'system', content: system },
        { role: 'user', content: user },
      ] as const;
      const reply = await meter.model.chat({ messages, maxTokens: EXTRACTION_TOKENS }, { signal });
      answer = answerOf(reply.text);
      if (reply.finish === 'length') cutReplies++;
      longest = Math.max(longest, reply.usage.promptTokens);
      known.set(user, answer);
    }
    answers.push(answer);
  }
  return { answers, cut, cut_replies: cutReplies, longest, usage: meter.usage() };
}

/** The answers that count as right; null where the record has none. */
export function goldAnswers({ answer, aliases }: Pick<HopRecord, 'answer' | 'aliases'>): string[] | null {
  return answer === null ? null : [answer, ...aliases];
}

/** The agent's own answers, by question; null where the run has none. An agent without an answer said nothing. */
export async function nativeAnswers(run: string, manifest: Manifest): Promise<Map<string, string | null> | null> {
  if (!manifest.outputs.some((one) => /^answers\.(arrow|jsonl)$/.test(one.name))) return null;
  const answers = new Map<string, string | null>();
  for await (const row of readTable(run, manifest, 'answers', answerColumns)) answers.set(questionKey(row), row.answer);
  return answers;
}

function scoreSums(): { add(score: { em: number; f1: number }): void; mean(): { questions: number; em: number; f1: number } | null } {
  let [questions, em, f1] = [0, 0, 0];
  return {
    add: (score) => {
      questions++;
      em += score.em;
      f1 += score.f1;
    },
    mean: () => (questions === 0 ? null : { questions, em: em / questions, f1: f1 / questions }),
  };
}

type JournalEntry = z.infer<typeof journalEntry>;
const journalEntry = z.strictObject({
  row: z.int(),
  question_id: z.string(),
  answers: z.array(z.string()),
  /** Loops whose evidence was cut, and the largest prompt in tokens as the model counts them. */
  cut: z.int(),
  /** Calls whose reply was cut off at its limit. */
  cut_replies: z.int(),
  longest: z.int(),
  usage: z.strictObject({ calls: z.int(), prompt_tokens: z.int(), completion_tokens: z.int() }),
});

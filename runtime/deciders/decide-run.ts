import { z } from 'zod';
import type { Claim } from '../../src/core/claims.js';
import { InputError } from '../../src/core/errors.js';
import type { OutputFolder, TableFormat } from '../../src/core/output-folder.js';
import type { OnProgress } from '../../src/core/progress.js';
import { questionWork } from '../../src/core/question-work.js';
import type { RunQuestion } from '../../src/core/run-questions.js';
import type { Trajectory } from '../../src/core/trajectories.js';
import { type DecidedQuestion, type Verdict, decidedColumns, verdictColumns } from '../../src/core/verdicts.js';
import { LanguageModelError, type Usage, addUsage, noUsage } from '../../src/llm/index.js';
import type { Decider } from './decider.js';
import { questionVerdict } from './verdict.js';

export interface DecideRunOptions {
  /** The name that stands in the rows. */
  name: string;
  format: TableFormat;
  /** Questions of the run, for progress. */
  total: number;
  /** The claims of a question in order, for a decider that reads them. */
  claimsOf?: ((question: { question_id: string; row: number }) => readonly Claim[]) | undefined;
  /** Questions decided at once. Default 1. */
  concurrency?: number | undefined;
  /** Called for each question that failed on its own, as when its language model's call did. */
  onFailed?: ((failure: { question_id: string; row: number; message: string }) => void) | undefined;
  onProgress?: OnProgress | undefined;
  signal?: AbortSignal | undefined;
}

export interface DecidedCounts {
  questions: number;
  loops: number;
  /** Rows of the verdicts table that are claim–sentence pairs. */
  pairs: number;
  claims: number;
  /** First fires of `all_match` under the decider's own threshold, by loop. */
  fires: { [loop: string]: number };
  never_fires: number;
  /** Questions with no claim, never covered, by reason. */
  without_claims: { [reason: string]: number };
  /** Questions without verdicts, by reason. */
  excluded: { [reason: string]: number };
  /** What the decider read, where it counts it: tokens, passes, requests. */
  read?: { [name: string]: number };
  /** What its language model took, cached replies counted like others. */
  usage?: Pick<Usage, keyof Usage>;
  /** Loops at which the decider fires, called after every loop. */
  firing_loops: number;
}

/**
 * Decides every question of a run after every loop and writes the tables `verdicts` and `questions`. Finished questions stand in a
 * journal, so that an interrupted run goes on behind the last of them and ends with the same bytes.
 *
 * @throws InputError when not one question could be decided, and whatever the decider throws
 */
export async function decideRun(
  out: OutputFolder,
  questions: AsyncIterable<RunQuestion>,
  decider: Decider,
  options: DecideRunOptions,
): Promise<DecidedCounts> {
  const { name, format, total, claimsOf, concurrency, onFailed, onProgress, signal } = options;
  const journal = await out.journal('verdicts.journal', (value) => journalEntry.parse(value));
  const counts: DecidedCounts = {
    questions: 0,
    loops: 0,
    pairs: 0,
    claims: 0,
    fires: {},
    never_fires: 0,
    without_claims: {},
    excluded: {},
    firing_loops: 0,
  };
  const decided: DecidedQuestion[] = [];

  async function* rows(): AsyncGenerator<Verdict> {
    const work = async ({ record, trajectory }: RunQuestion, stop: AbortSignal): Promise<JournalEntry> => ({
      row: trajectory.row,
      question_id: trajectory.question_id,
      ...(await decider.decide({
        record,
        trajectory,
        claims: decider.readsClaims ? (claimsOf?.(trajectory) ?? []) : null,
        signal: stop,
      })),
    });
    const keyOf = ({ trajectory }: RunQuestion): Trajectory => trajectory;
    const failed = (error: unknown): boolean => error instanceof LanguageModelError;
    let done = 0;
    for await (const { question, entry } of questionWork(questions, { journal, keyOf, work, concurrency, failed, onFailed, signal })) {
      const { trajectory } = question;
      onProgress?.(++done, total);
      if ('excluded' in entry) {
        counts.excluded[entry.excluded] = (counts.excluded[entry.excluded] ?? 0) + 1;
        continue;
      }
      const decidedQuestion = {
        question_id: trajectory.question_id,
        row: trajectory.row,
        loops: trajectory.loops.length,
        claims: entry.claims,
      };
      const verdicts = entry.verdicts.map((one) =>
        Object.assign({ question_id: trajectory.question_id, row: trajectory.row, decider: name }, one),
      );
      count(decidedQuestion, verdicts, entry.noClaims);
      decided.push(decidedQuestion);
      for (const [counted, value] of Object.entries(entry.counts ?? {})) {
        counts.read ??= {};
        counts.read[counted] = (counts.read[counted] ?? 0) + value;
      }
      if (entry.usage) addUsage((counts.usage ??= noUsage()), entry.usage);
      yield* verdicts;
    }
  }

  function count(question: DecidedQuestion, verdicts: readonly Verdict[], noClaims: string | undefined): void {
    counts.questions++;
    counts.loops += question.loops;
    counts.claims += question.claims ?? 0;
    if (question.claims !== null) counts.pairs += verdicts.length;
    if (question.claims === 0) {
      const reason = noClaims ?? 'no_claims';
      counts.without_claims[reason] = (counts.without_claims[reason] ?? 0) + 1;
    }
    const { firstFire, firesByLoop } = questionVerdict(question, verdicts, decider.scan);
    counts.firing_loops += firesByLoop.filter(Boolean).length;
    if (firstFire === null) counts.never_fires++;
    else counts.fires[firstFire] = (counts.fires[firstFire] ?? 0) + 1;
  }

  await out.table('verdicts', verdictColumns, rows(), format);
  if (decided.length === 0) throw new InputError('no question of the run could be decided');
  await out.table('questions', decidedColumns, decided, format);
  return counts;
}

type JournalEntry = z.infer<typeof journalEntry>;
const journalEntry = z.union([
  z.strictObject({ row: z.int(), question_id: z.string(), excluded: z.string() }),
  z.strictObject({
    row: z.int(),
    question_id: z.string(),
    claims: z.nullable(z.int().nonnegative()),
    noClaims: z.string().optional(),
    counts: z.record(z.string(), z.number()).optional(),
    usage: z.strictObject({ calls: z.int(), prompt_tokens: z.int(), completion_tokens: z.int() }).optional(),
    verdicts: z.array(
      z.strictObject({
        loop: z.int(),
        claim: z.nullable(z.int()),
        page: z.nullable(z.int()),
        sentence: z.nullable(z.int()),
        lp_match: z.nullable(z.number()),
        lp_partial: z.nullable(z.number()),
        lp_null: z.nullable(z.number()),
        p: z.nullable(z.number()),
      }),
    ),
  }),
]);

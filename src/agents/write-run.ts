import { z } from 'zod';
import { answerColumns } from '../core/agent-answers.js';
import { InputError } from '../core/errors.js';
import type { OutputFolder, TableFormat } from '../core/output-folder.js';
import { questionWork } from '../core/question-work.js';
import { type HopRecord, recordColumns } from '../core/records.js';
import { idTally } from '../core/repeated-ids.js';
import { type GoldOutcome, type RetrievedPages, onRetrievedPages } from '../core/retrieved-pages.js';
import { type Loop, STOP_REASONS, trajectoryColumns } from '../core/trajectories.js';
import { foundSentences, loopsOfRecords } from '../core/written-loops.js';
import { LanguageModelError, type Usage, addUsage, noUsage } from '../llm/index.js';
import { type Bm25Options, type Retriever, RetrieverError, bm25Index, sentencePool } from '../retrieval/index.js';
import { type Agent, type AgentEnd, type LoopOptions, searchQuestion } from './agent.js';

/** What one question is searched in. `pages` where its documents come from an open corpus: what was retrieved takes the place of its own pages. */
export interface QuestionSource {
  retriever: Retriever;
  pages?: RetrievedPages | undefined;
}

export interface WriteRunOptions extends LoopOptions {
  bm25?: Bm25Options | undefined;
  /** An open corpus (method.md §9, setting B), asked for each question. Default: BM25 over the question's own pool. */
  corpus?: (() => QuestionSource) | undefined;
  format: TableFormat;
  /** Questions worked on at once. Default 1. */
  concurrency?: number | undefined;
  /** Called for each question that failed on its own, as when its language model's call did. */
  onFailed?: ((failure: { question_id: string; row: number; message: string }) => void) | undefined;
}

export interface RunCounts {
  questions: number;
  loops: number;
  /** Retrieved sentences of all loops. */
  sentences: number;
  /** How trajectories ended; questions without a loop have none. */
  stopped_by: { [reason: string]: number };
  /** Questions without a sentence to search in (their file has no contexts), left out. */
  without_pool: number;
  /** Questions that ended before their first loop, which have no trajectory; left out where there are none. */
  without_loop?: number;
  /** Questions with an id that stood before; left out where there are none. */
  repeated_ids?: number;
  /** Questions whose agent answers, and gave no answer or an empty one; left out where there are none. */
  without_answer?: number;
  /** What the agent's language model took, cached replies counted like others; only for agents that have one. */
  usage?: Pick<Usage, keyof Usage>;
  /** Over an open corpus: what became of the gold labels on the retrieved pages. */
  gold?: { [outcome in GoldOutcome]?: number };
  /** What the agent counts by itself. */
  agent?: { [name: string]: number };
}

/**
 * Runs an agent over a question's own pool, or an open corpus, for every record and writes the tables `records` and `trajectories`, and `answers` where the agent answers. Rows stand in the
 * order of the records, whatever order questions end in. Finished questions stand in a journal, so that an interrupted run goes on with the
 * others and ends with the same bytes.
 *
 * @param agentFor the question's agent; null leaves the question out
 * @throws InputError when no question has a pool; what `agentFor` leaves out is for the caller to count. FailedQuestionsError when questions
 *   failed on their own: the others are kept
 */
export async function writeRun(
  out: OutputFolder,
  records: AsyncIterable<HopRecord>,
  agentFor: (record: HopRecord) => Agent | null,
  options: WriteRunOptions,
): Promise<RunCounts> {
  const { bm25, corpus, format, concurrency, onFailed, signal, ...loopOptions } = options;
  const journal = await out.journal('loops.journal', (value) => journalEntry.parse(value));
  const finished: JournalEntry[] = [];
  const counts: RunCounts = { questions: 0, loops: 0, sentences: 0, stopped_by: {}, without_pool: 0 };

  interface Asked {
    record: HopRecord;
    agent: Agent;
    source: QuestionSource;
  }
  async function* asked(): AsyncGenerator<Asked> {
    for await (const record of records) {
      const agent = agentFor(record);
      if (!agent) continue;
      const source = corpus?.() ?? ownPool(record, bm25);
      if (source) yield { record, agent, source };
      else counts.without_pool++;
    }
  }
  async function* ran(): AsyncGenerator<HopRecord> {
    const work = async ({ record, agent, source: { retriever, pages } }: Asked, stop: AbortSignal): Promise<JournalEntry> => {
      const { loops, end } = await searchQuestion(agent, { record, retriever, signal: stop, ...loopOptions });
      return { ...compact(record, loops, end), ...(pages && { pages: pages.pages }) };
    };
    const failed = (error: unknown): boolean => error instanceof LanguageModelError || error instanceof RetrieverError;
    for await (const { question, entry } of questionWork(asked(), {
      journal,
      keyOf: ({ record }) => record,
      work,
      concurrency,
      failed,
      onFailed,
      signal,
    })) {
      const { pages, ...rest } = entry;
      finished.push(rest);
      counts.questions++;
      if (!pages) {
        yield question.record;
        continue;
      }
      const { record, gold } = onRetrievedPages(question.record, pages);
      counts.gold = { ...counts.gold, [gold]: (counts.gold?.[gold] ?? 0) + 1 };
      yield record;
    }
  }

  async function* loops(): AsyncGenerator<Loop> {
    for await (const loop of loopsOfRecords(out.temporary(`records.${format}`), format, finished)) {
      counts.loops++;
      counts.sentences += loop.sentences.length;
      yield loop;
    }
  }

  await out.table('records', recordColumns, ran(), format);
  if (counts.questions === 0 && counts.without_pool > 0)
    throw new InputError(
      `none of the ${counts.without_pool} questions comes with pages to search in; --retriever with a corpus searches outside them`,
    );
  await out.table('trajectories', trajectoryColumns, loops(), format);
  if (finished.some(({ answered }) => answered !== undefined)) {
    const answers = finished.map(({ question_id, row, answered }) => ({
      question_id,
      row,
      ...(answered ?? { answer: null, transcript: '' }),
    }));
    await out.table('answers', answerColumns, answers, format);
  }
  const ids = idTally();
  for (const entry of finished) {
    count(counts, entry);
    ids.add(entry.question_id);
  }
  const repeated = ids.repeated();
  if (repeated > 0) counts.repeated_ids = repeated;
  return counts;
}

function count(counts: RunCounts, entry: JournalEntry): void {
  if (entry.loops.length === 0) counts.without_loop = (counts.without_loop ?? 0) + 1;
  else counts.stopped_by[entry.stop_reason] = (counts.stopped_by[entry.stop_reason] ?? 0) + 1;
  if (entry.answered && (entry.answered.answer ?? '') === '') counts.without_answer = (counts.without_answer ?? 0) + 1;
  if (entry.usage) addUsage((counts.usage ??= noUsage()), entry.usage);
  for (const [name, value] of Object.entries(entry.counts ?? {})) {
    counts.agent ??= {};
    counts.agent[name] = (counts.agent[name] ?? 0) + value;
  }
}

function ownPool(record: HopRecord, bm25: Bm25Options | undefined): QuestionSource | null {
  const pool = sentencePool(record);
  if (pool.length === 0) return null;
  let index: Retriever | undefined;
  // Indexed at the first search: a question of an earlier, interrupted run is not searched again.
  return { retriever: { identity: null, search: (query, options) => (index ??= bm25Index(pool, bm25)).search(query, options) } };
}

const journalEntry = z.strictObject({
  row: z.int(),
  question_id: z.string(),
  stop_reason: z.enum(STOP_REASONS),
  loops: z.array(
    z.strictObject({
      query: z.string(),
      sub_answer: z.nullable(z.string()),
      /** Page, sentence, score. */
      found: z.array(z.tuple([z.int(), z.int(), z.number()])),
    }),
  ),
  answered: z.strictObject({ answer: z.nullable(z.string()), transcript: z.string() }).optional(),
  usage: z.strictObject({ calls: z.int(), prompt_tokens: z.int(), completion_tokens: z.int() }).optional(),
  counts: z.record(z.string(), z.number()).optional(),
  /** Retrieved pages, where they are not the record's own. */
  pages: z.array(z.strictObject({ title: z.string(), sentences: z.array(z.string()) })).optional(),
});
type JournalEntry = z.infer<typeof journalEntry>;

function compact(
  record: Pick<HopRecord, 'row' | 'question_id'>,
  loops: readonly Loop[],
  { stop_reason, answered, usage, counts }: AgentEnd,
): JournalEntry {
  return {
    row: record.row,
    question_id: record.question_id,
    stop_reason,
    loops: loops.map(({ query, sub_answer, sentences }) => ({
      query,
      sub_answer,
      found: foundSentences(sentences),
    })),
    ...(answered && { answered }),
    ...(usage && { usage }),
    ...(counts && { counts }),
  };
}

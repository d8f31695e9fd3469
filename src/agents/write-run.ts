import { z } from 'zod';
import { readArrow } from '../core/arrow.js';
import { InputError } from '../core/errors.js';
import { readJsonl } from '../core/jsonl.js';
import type { OutputFolder, TableFormat } from '../core/output-folder.js';
import { questionWork } from '../core/question-work.js';
import { type HopRecord, recordColumns } from '../core/records.js';
import { type GoldOutcome, type RetrievedPages, onRetrievedPages } from '../core/retrieved-pages.js';
import { type Loop, STOP_REASONS, trajectoryColumns } from '../core/trajectories.js';
import { type Bm25Options, type Retriever, bm25Index, sentencePool } from '../retrieval/index.js';
import { type Agent, type LoopOptions, searchLoops } from './agent.js';

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
}

export interface RunCounts {
  questions: number;
  loops: number;
  /** Retrieved sentences of all loops. */
  sentences: number;
  /** How trajectories ended. */
  stopped_by: { [reason: string]: number };
  /** Questions without a sentence to search in (their file has no contexts), left out. */
  without_pool: number;
  /** Over an open corpus: what became of the gold labels on the retrieved pages. */
  gold?: { [outcome in GoldOutcome]?: number };
}

/**
 * Runs an agent over a question's own pool, or an open corpus, for every record in order, and writes the tables `records` and `trajectories`. Finished
 * questions stand in a journal, so that an interrupted run goes on behind the last of them and ends with the same bytes.
 *
 * @param agentFor the question's agent; null leaves the question out
 * @throws InputError when no question has a pool; what `agentFor` leaves out is for the caller to count
 */
export async function writeRun(
  out: OutputFolder,
  records: AsyncIterable<HopRecord>,
  agentFor: (record: HopRecord) => Agent | null,
  options: WriteRunOptions,
): Promise<RunCounts> {
  const { bm25, corpus, format, signal, ...loopOptions } = options;
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
    const work = async ({ record, agent, source: { retriever, pages } }: Asked): Promise<JournalEntry> => {
      const loops: Loop[] = [];
      for await (const loop of searchLoops(agent, { record, retriever, signal, ...loopOptions })) loops.push(loop);
      return { ...compact(record, loops), ...(pages && { pages: pages.pages }) };
    };
    for await (const { question, entry } of questionWork(asked(), { journal, keyOf: ({ record }) => record, work, signal })) {
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
    const path = out.temporary(`records.${format}`);
    let at = 0;
    // Texts are taken from the table just written: neither the journal nor memory has to hold them for every question.
    for await (const record of format === 'arrow' ? readArrow(path, recordColumns) : readJsonl(path, recordColumns)) {
      for (const loop of full(record, finished[at++] as JournalEntry)) {
        counts.loops++;
        counts.sentences += loop.sentences.length;
        if (loop.stop_reason !== null) counts.stopped_by[loop.stop_reason] = (counts.stopped_by[loop.stop_reason] ?? 0) + 1;
        yield loop;
      }
    }
  }

  await out.table('records', recordColumns, ran(), format);
  if (counts.questions === 0 && counts.without_pool > 0)
    throw new InputError(
      `none of the ${counts.without_pool} questions comes with pages to search in; --retriever with a corpus searches outside them`,
    );
  await out.table('trajectories', trajectoryColumns, loops(), format);
  return counts;
}

function ownPool(record: HopRecord, bm25: Bm25Options | undefined): QuestionSource | null {
  const pool = sentencePool(record);
  return pool.length > 0 ? { retriever: bm25Index(pool, bm25) } : null;
}

const journalEntry = z.strictObject({
  row: z.int(),
  question_id: z.string(),
  loops: z.array(
    z.strictObject({
      query: z.string(),
      sub_answer: z.nullable(z.string()),
      stop_reason: z.nullable(z.enum(STOP_REASONS)),
      /** Page, sentence, score. */
      found: z.array(z.tuple([z.int(), z.int(), z.number()])),
    }),
  ),
  /** Retrieved pages, where they are not the record's own. */
  pages: z.array(z.strictObject({ title: z.string(), sentences: z.array(z.string()) })).optional(),
});
type JournalEntry = z.infer<typeof journalEntry>;

function compact(record: HopRecord, loops: readonly Loop[]): JournalEntry {
  return {
    row: record.row,
    question_id: record.question_id,
    loops: loops.map(({ query, sub_answer, stop_reason, sentences }) => ({
      query,
      sub_answer,
      stop_reason,
      found: sentences.map(({ page, sentence, score }) => [page, sentence, score]),
    })),
  };
}

function full(record: HopRecord, entry: JournalEntry): Loop[] {
  return entry.loops.map(({ query, sub_answer, stop_reason, found }, at) => ({
    question_id: record.question_id,
    row: record.row,
    loop: at + 1,
    query,
    sub_answer,
    sentences: found.map(([page, sentence, score]) => {
      const { title, sentences } = record.pages[page] as HopRecord['pages'][number];
      return { page, sentence, title, text: sentences[sentence] as string, score };
    }),
    stop_reason,
  }));
}

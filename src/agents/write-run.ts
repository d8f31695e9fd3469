import { z } from 'zod';
import { readArrow } from '../core/arrow.js';
import { InputError } from '../core/errors.js';
import { readJsonl } from '../core/jsonl.js';
import type { OutputFolder, TableFormat } from '../core/output-folder.js';
import { questionWork } from '../core/question-work.js';
import { type HopRecord, recordColumns } from '../core/records.js';
import { type Loop, STOP_REASONS, trajectoryColumns } from '../core/trajectories.js';
import { type Bm25Options, type PoolSentence, bm25Index, sentencePool } from '../retrieval/index.js';
import { type Agent, type LoopOptions, searchLoops } from './agent.js';

export interface WriteRunOptions extends LoopOptions {
  bm25?: Bm25Options | undefined;
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
}

/**
 * Runs an agent over a question's own pool, for every record in order, and writes the tables `records` and `trajectories`. Finished
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
  const { bm25, format, signal, ...loopOptions } = options;
  const journal = await out.journal('loops.journal', (value) => journalEntry.parse(value));
  const finished: JournalEntry[] = [];
  const counts: RunCounts = { questions: 0, loops: 0, sentences: 0, stopped_by: {}, without_pool: 0 };

  interface Asked {
    record: HopRecord;
    agent: Agent;
    pool: PoolSentence[];
  }
  async function* asked(): AsyncGenerator<Asked> {
    for await (const record of records) {
      const agent = agentFor(record);
      if (!agent) continue;
      const pool = sentencePool(record);
      if (pool.length > 0) yield { record, agent, pool };
      else counts.without_pool++;
    }
  }
  async function* ran(): AsyncGenerator<HopRecord> {
    const work = async ({ record, agent, pool }: Asked): Promise<JournalEntry> => {
      const loops: Loop[] = [];
      for await (const loop of searchLoops(agent, { record, retriever: bm25Index(pool, bm25), signal, ...loopOptions })) loops.push(loop);
      return compact(record, loops);
    };
    for await (const { question, entry } of questionWork(asked(), { journal, keyOf: ({ record }) => record, work, signal })) {
      finished.push(entry);
      counts.questions++;
      yield question.record;
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
      `none of the ${counts.without_pool} questions comes with pages to search in; trajectories made elsewhere are needed for such a dataset`,
    );
  await out.table('trajectories', trajectoryColumns, loops(), format);
  return counts;
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

import { readArrow } from './arrow.js';
import { readJsonl } from './jsonl.js';
import type { TableFormat } from './output-folder.js';
import { type HopRecord, recordColumns } from './records.js';
import type { Loop, RetrievedSentence, StopReason } from './trajectories.js';

/** A loop without texts of sentences, which stand in its question's record. */
export interface CompactLoop {
  query: string;
  sub_answer: string | null;
  found: [page: number, sentence: number, score: number][];
}

/** All loops of one question, and why they ended. */
export interface CompactLoops {
  loops: CompactLoop[];
  stop_reason: StopReason;
}

/** Where the sentences stand and how they scored. */
export function foundSentences(sentences: readonly RetrievedSentence[]): CompactLoop['found'] {
  return sentences.map(({ page, sentence, score }) => [page, sentence, score]);
}

/**
 * The rows of `trajectories`, their texts taken from the table of records just written at `path`: neither a journal nor memory has to hold them for
 * every question. `finished` stands in the records' order, an entry each.
 */
export async function* loopsOfRecords(path: string, format: TableFormat, finished: readonly CompactLoops[]): AsyncGenerator<Loop> {
  let at = 0;
  for await (const record of format === 'arrow' ? readArrow(path, recordColumns) : readJsonl(path, recordColumns))
    yield* fullLoops(record, finished[at++] as CompactLoops);
}

function fullLoops({ question_id, row, pages }: HopRecord, { loops, stop_reason }: CompactLoops): Loop[] {
  return loops.map(({ query, sub_answer, found }, at) => ({
    question_id,
    row,
    loop: at + 1,
    query,
    sub_answer,
    sentences: found.map(([page, sentence, score]) => {
      const { title, sentences } = pages[page] as HopRecord['pages'][number];
      return { page, sentence, title, text: sentences[sentence] as string, score };
    }),
    stop_reason: at === loops.length - 1 ? stop_reason : null,
  }));
}

import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { InputError, shown } from '../core/errors.js';
import { sha256 } from '../core/hash.js';
import { readLines } from '../core/jsonl.js';

const lineSchema = z.object({ question_id: z.string().min(1), dataset: z.string().optional() });

export interface TrainList {
  sha256: string;
  inTraining: (dataset: string, questionId: string) => boolean;
  /** Listed questions that are in none of these datasets, in the order of the list. */
  unmatched: (datasets: readonly { dataset: string; questions: readonly { id: string }[] }[]) => string[];
}

/** Reads a training split: JSON lines `{"question_id": "…"}`, with `dataset` where ids of two datasets coincide. Other fields are ignored. */
export async function readTrainList(path: string): Promise<TrainList> {
  const anywhere = new Set<string>();
  const byDataset = new Set<string>();
  let content: Buffer;
  try {
    content = await readFile(path);
  } catch {
    throw new InputError('no such file', { file: path });
  }
  for await (const { line, text } of readLines(path)) {
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      throw new InputError(`got ${shown(text, 60)}, expected one JSON object`, { file: path, line });
    }
    const parsed = lineSchema.safeParse(value);
    if (!parsed.success) {
      throw new InputError(`got ${shown(value)}, expected {"question_id": "…", "dataset": "…" (optional)}`, { file: path, line });
    }
    const { question_id, dataset } = parsed.data;
    if (dataset === undefined) anywhere.add(question_id);
    else byDataset.add(JSON.stringify([dataset, question_id]));
  }
  return {
    sha256: sha256(content),
    inTraining: (dataset, id) => anywhere.has(id) || byDataset.has(JSON.stringify([dataset, id])),
    unmatched: (datasets) => {
      const ids = new Set(datasets.flatMap(({ questions }) => questions.map((one) => one.id)));
      const placed = new Set(datasets.flatMap(({ dataset, questions }) => questions.map((one) => JSON.stringify([dataset, one.id]))));
      return [...[...anywhere].filter((id) => !ids.has(id)), ...[...byDataset].filter((one) => !placed.has(one))];
    },
  };
}

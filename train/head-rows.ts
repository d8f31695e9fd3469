import { z } from 'zod';
import { InputError } from '../src/core/errors.js';
import { readJsonLines } from '../src/core/jsonl.js';
import { random } from '../src/core/random.js';
import { type ChatEncoder, type HeadTask, headContents, headEvidence, headText } from '../src/prompts/index.js';
import type { PlannedRows } from './job-rows.js';

/** A line of rows for a two-way head; the fields of the prompt, or its text. */
const headRow = z
  .strictObject({
    row: z.string().min(1).optional(),
    text: z.string().min(1).optional(),
    question: z.string().min(1).optional(),
    evidence: z.union([z.string(), z.array(z.string())]).optional(),
    loop: z.int().positive().optional(),
    sub_question: z.string().optional(),
    answer: z.string().optional(),
    /** 1: stop. */
    label: z.union([z.literal(0), z.literal(1)]),
    split: z.enum(['train', 'dev']).optional(),
  })
  .refine((row) => row.text === undefined || row.evidence === undefined, 'expected either text, or question and evidence');
type HeadRow = z.infer<typeof headRow>;

export interface HeadRowOptions {
  maxLength: number;
  /** Share of the questions that go to dev where the rows name no split. */
  devShare: number;
  seed: number;
}

/** What a head's prompt cannot do without, where its text is not given as it stands. */
const NEEDED = { stoprag: ['question', 'evidence', 'loop'], simrag: ['question', 'evidence', 'sub_question', 'answer'] } as const;

/** Reads and encodes the rows of a two-way head. Throws InputError that names the line. */
export async function readHeadRows(file: string, task: HeadTask, chat: ChatEncoder, options: HeadRowOptions): Promise<PlannedRows> {
  const lines: { line: number; row: HeadRow }[] = [];
  for await (const { line, value: row } of readJsonLines(file, headRow)) lines.push({ line, row });
  const splits = splitsOf(lines, file, options);
  const planned: PlannedRows = { train: [], dev: [] };
  for (const [at, { line, row }] of lines.entries()) {
    const missing = row.text === undefined ? NEEDED[task].find((field) => row[field] === undefined) : undefined;
    if (missing !== undefined)
      throw new InputError(`missing; ${task} reads ${NEEDED[task].join(', ')}, or text`, { file, line, field: missing });
    const name = row.row ?? `line-${line}`;
    const fields = { ...row, question: row.question ?? '', evidence: [row.evidence ?? []].flat() };
    const whole = row.text ?? headEvidence(fields);
    const contents = (kept: string): ReturnType<typeof headText> =>
      row.text === undefined ? headContents(task, fields, kept) : headText(task, kept);
    try {
      const { ids, cut } = chat.encodeWithin(whole, contents, options.maxLength);
      planned[splits[at] as 'train' | 'dev'].push({ row: name, label: row.label, form: task, ids, loss: [ids.length, ids.length], cut });
    } catch (error) {
      if (error instanceof InputError) throw new InputError(error.message, { file, line });
      throw error;
    }
  }
  return planned;
}

/** Rows of one question are of one split: the given one, or drawn by the seed. */
function splitsOf(lines: readonly { line: number; row: HeadRow }[], file: string, { devShare, seed }: HeadRowOptions): ('train' | 'dev')[] {
  const named = lines.find(({ row }) => row.split !== undefined);
  const unnamed = lines.find(({ row }) => row.split === undefined);
  if (named !== undefined && unnamed !== undefined)
    throw new InputError(`has no split, while line ${named.line} has one; expected it in all lines or in none`, {
      file,
      line: unnamed.line,
    });
  if (named !== undefined) return lines.map(({ row }) => row.split as 'train' | 'dev');
  const groups = [...new Set(lines.map(({ row }) => row.question ?? row.text ?? ''))];
  const dev = new Set(random(seed, 'head-dev').sample(groups, Math.round(devShare * groups.length)));
  return lines.map(({ row }) => (dev.has(row.question ?? row.text ?? '') ? 'dev' : 'train'));
}

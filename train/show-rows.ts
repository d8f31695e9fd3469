import type { JobRow } from '../src/core/verifier-job.js';
import { readJobRows } from '../src/core/verifier-job.js';
import type { ChatEncoder } from '../src/prompts/index.js';

/** One token of a row as it is shown. */
export interface ShownToken {
  id: number;
  /** U+FFFD where a token is part of a character. */
  text: string;
  /** Whether it is learned. */
  loss: boolean;
}

export interface ShownRow {
  row: string;
  label: string | number;
  form: string;
  tokens: ShownToken[];
}

/** The first rows of a job's training file, token by token. */
export async function shownRows(job: string, count: number, chat: ChatEncoder): Promise<ShownRow[]> {
  const rows: ShownRow[] = [];
  if (count === 0) return rows;
  for await (const { row } of readJobRows(job, 'train')) {
    rows.push(shownRow(row, chat));
    if (rows.length === count) break;
  }
  return rows;
}

function shownRow({ row, label, form, ids, loss: [start, end] }: JobRow, { tokenizer }: ChatEncoder): ShownRow {
  return { row, label, form, tokens: ids.map((id, at) => ({ id, text: tokenizer.decode([id]), loss: at >= start && at < end })) };
}

/** A shown row as text: tokens parted by `|`, a new line behind each line break, learned tokens as `[[text = id]]`. */
export function rowText({ row, label, form, tokens }: ShownRow): string {
  const learned = tokens.filter(({ loss }) => loss).length;
  const head = `${row}  ${form}  ${label}  ${tokens.length} tokens, ${learned} learned`;
  const body = tokens
    .map(({ id, text, loss }) => {
      const written = text.replaceAll('\n', '⏎');
      return `${loss ? `[[${written} = ${id}]]` : written}${text.includes('\n') ? '\n' : '|'}`;
    })
    .join('');
  return `${head}\n${body.replace(/\|$/, '').replace(/^/gm, '  ')}`;
}

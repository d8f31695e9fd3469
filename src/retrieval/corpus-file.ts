import { createReadStream } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { type Transform, pipeline } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { z } from 'zod';
import type { Passage } from '../core/corpus.js';
import { InputError, shown } from '../core/errors.js';
import type { OnProgress } from '../core/progress.js';

/** A line that is no passage. */
export interface BadPassage {
  line: number;
  reason: 'bad_json' | 'bad_field' | 'bad_utf8' | 'too_long' | 'empty';
  detail: string;
}

export interface CorpusOptions {
  /** Called for each line that is left out. */
  onBad?: ((bad: BadPassage) => void) | undefined;
  /** Bytes read, and the size of the file. */
  onProgress?: OnProgress | undefined;
  signal?: AbortSignal | undefined;
  /** Longest line in bytes; longer ones are passed over. Default 16 MiB. */
  maxLineBytes?: number | undefined;
}

const MAX_LINE_BYTES = 16 * 1024 * 1024;

/**
 * The passages of a corpus file in order, gzipped or not: JSON lines `{id, contents}` (title in the first line, as pyserini, FlashRAG and
 * Search-R1 have it) or `{id, title, text}`, or tab-separated `id text title` (DPR's psgs_w100.tsv; a first line of column names may order
 * them otherwise; a text in quotes has its quotes doubled). No more than a line is in memory.
 *
 * @throws InputError for a missing, empty or damaged file, and one without a single passage
 */
export async function* corpusPassages(file: string, options: CorpusOptions = {}): AsyncGenerator<Passage> {
  const { onBad } = options;
  let parse: ((text: string, line: number) => Passage | BadPassage | null) | undefined;
  let found = 0;
  let first: BadPassage | undefined;
  for await (const { line, text, bad } of corpusLines(file, options)) {
    const trimmed = text?.trim() ?? '';
    if (!bad && trimmed === '') continue;
    // A line that could not be read says nothing of the others.
    if (!bad) parse ??= trimmed.startsWith('{') ? jsonPassage : tsvPassages();
    const passage = bad ?? parse?.(text as string, line) ?? null;
    if (passage === null) continue;
    if ('reason' in passage) {
      first ??= passage;
      onBad?.(passage);
    } else {
      found++;
      yield passage;
    }
  }
  if (found > 0) return;
  if (first) throw new InputError(`not one passage in the file; the first line: ${first.detail}`, { file, line: first.line });
  throw new InputError('not one passage in the file', { file });
}

const jsonLine = z.object({
  id: z.union([z.string(), z.number()]),
  contents: z.string().nullish(),
  text: z.string().nullish(),
  title: z.string().nullish(),
});

function jsonPassage(text: string, line: number): Passage | BadPassage {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { line, reason: 'bad_json', detail: `got ${shown(text, 60)}, expected one JSON object` };
  }
  const parsed = jsonLine.safeParse(value);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    return { line, reason: 'bad_field', detail: `field ${issue?.path.join('.')}: ${issue?.message}` };
  }
  const { id, contents, text: content, title } = parsed.data;
  const whole = contents ?? content;
  if (whole === undefined || whole === null) return { line, reason: 'bad_field', detail: 'got neither contents nor text' };
  const passage = {
    id: String(id),
    ...(contents === undefined || contents === null ? { title: title ?? '', text: whole } : titled(contents, title)),
  };
  return checked(passage, line);
}

/** The title is the first line of `contents`; where it has a field of its own, only a first line that repeats it is taken off. */
export function titled(contents: string, title: string | null | undefined): { title: string; text: string } {
  const end = contents.indexOf('\n');
  const first = unquoted((end < 0 ? contents : contents.slice(0, end)).trim());
  if (title !== null && title !== undefined && first !== unquoted(title)) return { title: unquoted(title), text: contents };
  return end < 0 ? { title: '', text: contents } : { title: first, text: contents.slice(end + 1) };
}

function unquoted(text: string): string {
  return text.length >= 2 && text.startsWith('"') && text.endsWith('"') ? text.slice(1, -1) : text;
}

function tsvPassages(): (text: string, line: number) => Passage | BadPassage | null {
  let order = { id: 0, text: 1, title: 2 };
  let before = true;
  return (text, line) => {
    const cells = text.replace(/\r$/, '').split('\t');
    const head = before ? cells.map((cell) => cell.trim().toLowerCase()) : [];
    before = false;
    if (head.includes('id') && head.includes('text')) {
      order = { id: head.indexOf('id'), text: head.indexOf('text'), title: head.indexOf('title') };
      return null;
    }
    const wanted = Math.max(...Object.values(order)) + 1;
    const [id, content] = [cells[order.id], cells[order.text]];
    if (id === undefined || content === undefined || cells.length < wanted)
      return { line, reason: 'bad_field', detail: `got ${cells.length} cells between tabs, expected ${wanted}` };
    return checked({ id, title: csvText(cells[order.title] ?? ''), text: csvText(content) }, line);
  };
}

function csvText(cell: string): string {
  return cell.length >= 2 && cell.startsWith('"') && cell.endsWith('"') ? cell.slice(1, -1).replaceAll('""', '"') : cell;
}

function checked({ id, title, text }: Passage, line: number): Passage | BadPassage {
  if (text.trim() === '') return { line, reason: 'empty', detail: 'the passage has no text' };
  return { id, title: title.trim().toWellFormed(), text: text.trim().toWellFormed() };
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

async function* corpusLines(
  file: string,
  { onProgress, signal, maxLineBytes = MAX_LINE_BYTES }: CorpusOptions,
): AsyncGenerator<{ line: number; text?: string; bad?: BadPassage }> {
  let line = 0;
  let parts: Buffer[] = [];
  let bytes = 0;
  const whole = (): { line: number; text?: string; bad?: BadPassage } => {
    line++;
    const [kept, size] = [parts, bytes];
    [parts, bytes] = [[], 0];
    if (size > maxLineBytes)
      return { line, bad: { line, reason: 'too_long', detail: `got ${size} bytes, expected at most ${maxLineBytes}` } };
    try {
      return { line, text: utf8.decode(kept.length === 1 ? kept[0] : Buffer.concat(kept)) };
    } catch {
      return { line, bad: { line, reason: 'bad_utf8', detail: 'the bytes are not UTF-8' } };
    }
  };
  const add = (part: Buffer): void => {
    bytes += part.length;
    // Of a line that is too long nothing has to be kept.
    if (bytes > maxLineBytes) parts = [];
    else if (part.length > 0) parts.push(part);
  };
  for await (const chunk of chunksOf(file, onProgress)) {
    signal?.throwIfAborted();
    let from = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, from)) {
      add(chunk.subarray(from, end));
      from = end + 1;
      yield whole();
    }
    add(Buffer.from(chunk.subarray(from)));
  }
  if (bytes > 0) yield whole();
}

async function* chunksOf(file: string, onProgress: OnProgress | undefined): AsyncGenerator<Buffer> {
  const found = await stat(file).catch(() => undefined);
  if (!found?.isFile()) throw new InputError(found ? 'not a file' : 'no such file', { file });
  const packed = await isGzip(file);
  const source = createReadStream(file, { highWaterMark: 1024 * 1024 });
  const stream = packed ? (pipeline(source, createGunzip({ chunkSize: 1024 * 1024 }), () => undefined) as Transform) : source;
  try {
    for await (const chunk of stream) {
      yield chunk as Buffer;
      onProgress?.(source.bytesRead, found.size);
    }
  } catch (error) {
    if (packed && (error as NodeJS.ErrnoException).code?.startsWith('Z_'))
      throw new InputError(`truncated or damaged gzip file (${(error as Error).message})`, { file });
    throw error;
  } finally {
    stream.destroy();
    source.destroy();
  }
}

async function isGzip(file: string): Promise<boolean> {
  const handle = await open(file, 'r');
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(2), 0, 2, 0);
    return bytesRead === 2 && buffer[0] === 0x1f && buffer[1] === 0x8b;
  } finally {
    await handle.close();
  }
}

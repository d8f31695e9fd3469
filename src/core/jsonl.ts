import { type FileHandle, open, writeFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import type { z } from 'zod';
import { type Columns, type Row, rowParser } from './columns.js';
import { InputError, fromSystem } from './errors.js';
import { parsedLine } from './parse.js';

/**
 * The lines of a UTF-8 text file with their one-based numbers; blank lines are passed over. Throws InputError that names the file when it
 * is missing, a folder, or cannot be read.
 */
export async function* readLines(path: string): AsyncGenerator<{ line: number; text: string }> {
  const input = (await openFile(path)).createReadStream();
  try {
    let line = 0;
    for await (const text of createInterface({ input, crlfDelay: Infinity })) {
      line++;
      const clean = line === 1 ? text.replace(/^\uFEFF/, '') : text;
      if (clean.trim() !== '') yield { line, text: clean };
    }
  } catch (error) {
    throw fromSystem(error, path);
  } finally {
    input.destroy();
  }
}

async function openFile(path: string): Promise<FileHandle> {
  const handle = await open(path).catch((error: unknown) => {
    throw fromSystem(error, path);
  });
  if (!(await handle.stat()).isDirectory()) return handle;
  await handle.close();
  throw new InputError('is a folder, expected a file', { file: path });
}

/** Reads JSON lines that have exactly these columns. Throws InputError that names line and field. */
export async function* readJsonl<C extends Columns>(path: string, columns: C): AsyncGenerator<Row<C>> {
  const parser = rowParser(columns);
  for await (const { value } of readJsonLines(path, parser)) yield value;
}

/** Reads JSON lines of one form, with their numbers. Throws InputError that names line and field. */
export async function* readJsonLines<Schema extends z.ZodType>(
  path: string,
  schema: Schema,
): AsyncGenerator<{ line: number; value: z.infer<Schema> }> {
  for await (const { line, text } of readLines(path)) yield { line, value: parsedLine(schema, text, { file: path, line }) };
}

export async function writeJsonl(path: string, rows: Iterable<unknown> | AsyncIterable<unknown>): Promise<number> {
  let count = 0;
  async function* lines(): AsyncGenerator<string> {
    let chunk = '';
    for await (const row of rows) {
      count++;
      chunk += `${JSON.stringify(row, (_key, value: unknown) => (value instanceof Float32Array ? Array.from(value) : value))}\n`;
      if (chunk.length > 65_536) {
        yield chunk;
        chunk = '';
      }
    }
    yield chunk;
  }
  await writeFile(path, lines());
  return count;
}

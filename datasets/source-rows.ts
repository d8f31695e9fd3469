import { open } from 'node:fs/promises';
import { shown } from '../src/core/errors.js';
import { NOT_UTF8, parquetRows } from './parquet-rows.js';
import { BadRecord } from './readers/fields.js';
import { MAX_RECORD_BYTES, type RawOptions, type RawRecord, fileSize, rawRecords } from './record-bytes.js';

/** One record of a dataset file before a reader has looked at its fields. */
export interface SourceRow {
  /** The file it stands in. */
  file: string;
  /** Zero-based position among the records of all files, bad ones counted. */
  row: number;
  /** One-based line in its file; undefined in a JSON array and in Parquet. */
  line: number | undefined;
  /**
   * The record as a plain value, and how many of its texts held half of a surrogate pair. That is no text: written as UTF-8 it turns into
   * U+FFFD, in JSON it stays; so it is made U+FFFD here, once. Throws BadRecord when the record cannot be decoded. Only valid until the
   * next row is asked for.
   */
  read(): { value: unknown; halves: number };
}

/**
 * The records of one dataset file or of its shards in turn: JSON arrays and JSON lines, gzipped or not, and Parquet, told apart by their
 * first bytes. Rows are numbered through all files. Throws InputError, which names the file, where one cannot be cut into records.
 */
export async function* sourceRows(files: readonly string[], options: RawOptions = {}): AsyncGenerator<SourceRow> {
  const sizes: number[] = [];
  for (const file of files) sizes.push(await fileSize(file));
  const total = sizes.reduce((sum, size) => sum + size, 0);
  let before = 0;
  let row = 0;
  for (const [at, file] of files.entries()) {
    const size = sizes[at] as number;
    const offset = before;
    const onProgress = (done: number): void => options.onProgress?.(offset + done, total);
    if (await isParquet(file)) {
      const values = parquetRows(file, { firstRow: row, onRead: (share) => onProgress(Math.round(share * size)), signal: options.signal });
      for await (const value of values) yield { file, row: row++, line: undefined, read: () => ({ value: whole(value), halves: 0 }) };
    } else {
      const { maxRecordBytes = MAX_RECORD_BYTES } = options;
      for await (const raw of rawRecords(file, { ...options, onProgress, firstRow: row })) {
        row = raw.row + 1;
        yield { file, row: raw.row, line: raw.line, read: () => parsed(raw, maxRecordBytes) };
      }
    }
    before += size;
  }
}

/** By its first bytes; a file that is named Parquet has to be it, whatever is left of it. */
async function isParquet(file: string): Promise<boolean> {
  const handle = await open(file, 'r');
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(4), 0, 4, 0);
    return file.endsWith('.parquet') || (bytesRead === 4 && buffer.toString('latin1') === 'PAR1');
  } finally {
    await handle.close();
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function parsed({ bytes, size, unended }: RawRecord, maxRecordBytes: number): ReturnType<SourceRow['read']> {
  if (bytes === null) throw new BadRecord('too_long', `got ${size} bytes, expected at most ${maxRecordBytes}`);
  let decoded: string;
  try {
    decoded = utf8.decode(bytes);
  } catch {
    throw new BadRecord('bad_utf8', 'the bytes are not UTF-8');
  }
  let value: unknown;
  try {
    value = JSON.parse(decoded);
  } catch {
    throw new BadRecord(unended ? 'cut_off' : 'bad_json', `got ${shown(decoded, 60)}, expected one JSON object`);
  }
  const halves = { found: 0 };
  if (SURROGATE_ESCAPE.test(decoded)) value = wellFormed(value, halves);
  return { value, halves: halves.found };
}

const SURROGATE_ESCAPE = /\\u[dD][89a-fA-F]/;

function wellFormed(value: unknown, halves: { found: number }): unknown {
  if (typeof value === 'string') {
    if (value.isWellFormed()) return value;
    halves.found++;
    return value.toWellFormed();
  }
  if (Array.isArray(value)) return value.map((inner) => wellFormed(inner, halves));
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, wellFormed(inner, halves)]));
}

function whole(value: unknown, field = ''): unknown {
  if (value === NOT_UTF8) throw new BadRecord('bad_utf8', 'the bytes are not UTF-8', field);
  if (Array.isArray(value)) for (const [at, inner] of value.entries()) whole(inner, `${field}[${at}]`);
  else if (value !== null && typeof value === 'object')
    for (const [name, inner] of Object.entries(value)) whole(inner, field === '' ? name : `${field}.${name}`);
  return value;
}

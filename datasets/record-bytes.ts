import { createReadStream } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { type Transform, pipeline } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { InputError } from '../src/core/errors.js';
import type { OnProgress } from '../src/core/progress.js';

/**
 * The longest record that is kept in memory, in bytes. Records of the public files have 4 to 60 KB; a longer one is skipped while its
 * bytes pass by, so that memory stays bounded whatever the file holds.
 */
export const MAX_RECORD_BYTES = 16 * 1024 * 1024;

/** One element of a JSON array, or one line of a JSON-lines file, before it is decoded. */
export interface RawRecord {
  /** Zero-based position among the records of the file, bad ones counted. */
  row: number;
  /** One-based line number; undefined in a JSON array. */
  line: number | undefined;
  /** Length in bytes. */
  size: number;
  /** Null when the record is longer than `maxRecordBytes`. Only valid until the next record is asked for. */
  bytes: Buffer | null;
  /** The last line of the file and without its line end: it may have been cut off. */
  unended: boolean;
}

export interface RawOptions {
  /** See MAX_RECORD_BYTES, the default. */
  maxRecordBytes?: number | undefined;
  /** Called with the bytes read so far and the size of the file, once for every chunk. */
  onProgress?: OnProgress | undefined;
  signal?: AbortSignal | undefined;
  /** Bytes that are read at once; default 1 MiB. The records do not depend on it. */
  chunkBytes?: number | undefined;
  /** Number of the first record, where the file is not the first of several; default 0. */
  firstRow?: number | undefined;
}

const CHUNK_BYTES = 1024 * 1024;
const [QUOTE, BACKSLASH, COMMA, OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT, NEWLINE] = [
  0x22, 0x5c, 0x2c, 0x5b, 0x5d, 0x7b, 0x7d, 0x0a,
] as const;

/**
 * The records of a JSON array or of a JSON-lines file, found by their borders in the bytes: nothing is decoded, and at no time is more in
 * memory than one chunk and one record. A byte-order mark, white space around everything and a missing last line end are fine. A file that
 * begins as gzip is unpacked on the way; byte offsets in messages are then those of its content.
 * Throws InputError for what cannot be cut into records: an empty file, another kind of file, an array that never ends, text behind it.
 */
export async function* rawRecords(file: string, options: RawOptions = {}): AsyncGenerator<RawRecord> {
  const size = await fileSize(file);
  const chunks = readChunks(file, size, options);
  try {
    const first = await firstChunk(file, chunks);
    yield* first.data[first.start] === OPEN_LIST ? arrayRecords(file, first, chunks, options) : lineRecords(first, chunks, options);
  } finally {
    await chunks.return(undefined);
  }
}

interface Chunk {
  data: Buffer;
  /** Offset of the chunk in the file. */
  offset: number;
}

/** Size of a file in bytes. Throws InputError where there is none. */
export async function fileSize(file: string): Promise<number> {
  const found = await stat(file).catch(() => undefined);
  if (!found) throw new InputError('no such file', { file });
  if (!found.isFile()) throw new InputError('not a file', { file });
  return found.size;
}

async function* readChunks(file: string, size: number, options: RawOptions): AsyncGenerator<Chunk, undefined> {
  const chunkBytes = options.chunkBytes ?? CHUNK_BYTES;
  const packed = await isGzip(file);
  let offset = 0;
  const source = createReadStream(file, { highWaterMark: chunkBytes });
  // The pipeline hands an error of the file on to the unpacked stream, from which it is thrown here.
  const unpacking = packed ? createGunzip({ chunkSize: chunkBytes }) : undefined;
  const stream = unpacking ? (pipeline(source, unpacking, () => undefined) as Transform) : source;
  try {
    for await (const data of stream) {
      options.signal?.throwIfAborted();
      yield { data: data as Buffer, offset };
      offset += (data as Buffer).length;
      options.onProgress?.(source.bytesRead, size);
    }
    // Zeros may pad an archive; unpacking ends at them, and what stands behind would be lost without a word.
    if (unpacking && unpacking.bytesWritten < size) await refuseAllButZeros(file, unpacking.bytesWritten);
  } catch (error) {
    if (packed && (error as NodeJS.ErrnoException).code?.startsWith('Z_'))
      throw new InputError(`truncated or damaged gzip file (${(error as Error).message}) behind byte ${offset} of its content`, { file });
    throw error;
  } finally {
    stream.destroy();
    source.destroy();
  }
}

async function refuseAllButZeros(file: string, from: number): Promise<void> {
  let offset = from;
  for await (const data of createReadStream(file, { start: from })) {
    const other = (data as Buffer).findIndex((byte) => byte !== 0);
    if (other >= 0)
      throw new InputError(
        `the gzip archive ends at byte ${from}, and something else begins at byte ${offset + other}: it is not read past zeros`,
        { file },
      );
    offset += (data as Buffer).length;
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

/** The first chunk that holds more than white space, and where its content starts (behind a byte-order mark). */
async function firstChunk(file: string, chunks: AsyncGenerator<Chunk>): Promise<Chunk & { start: number; lines: number }> {
  let lines = 0;
  for (;;) {
    const next = await chunks.next();
    if (next.done) throw new InputError('the file is empty, expected a JSON array or JSON lines', { file });
    const { data, offset } = next.value;
    let start = 0;
    if (offset === 0) {
      refuseOtherKinds(file, data);
      if (data[0] === 0xef && data[1] === 0xbb && data[2] === 0xbf) start = 3;
    }
    while (start < data.length && isSpace(data[start] as number)) if (data[start++] === NEWLINE) lines++;
    if (start < data.length) return { data, offset, start, lines };
  }
}

function refuseOtherKinds(file: string, data: Buffer): void {
  const begins = (...bytes: number[]): boolean => bytes.every((byte, at) => data[at] === byte);
  const kind = begins(0x1f, 0x8b)
    ? 'a gzip archive'
    : begins(0x50, 0x4b, 0x03, 0x04)
      ? 'a zip archive'
      : begins(0x50, 0x41, 0x52, 0x31)
        ? 'a Parquet file'
        : begins(0xff, 0xfe) || begins(0xfe, 0xff)
          ? 'UTF-16 text'
          : undefined;
  if (kind) throw new InputError(`got ${kind}, expected a JSON array or JSON lines in UTF-8`, { file });
}

async function* arrayRecords(
  file: string,
  first: Chunk & { start: number },
  chunks: AsyncGenerator<Chunk>,
  options: RawOptions,
): AsyncGenerator<RawRecord> {
  const limit = options.maxRecordBytes ?? MAX_RECORD_BYTES;
  const state: ValueState = { open: [], inString: false, escaped: false, scalar: false };
  let row = options.firstRow ?? 0;
  /** What may stand next outside a record. */
  let expects: 'record or ]' | 'record' | ', or ]' | 'nothing' = 'record or ]';
  let inRecord = false;
  let recordOffset = 0;
  /** Bytes of a record that began in an earlier chunk; null while an over-long one passes by. */
  let held: Buffer | null = null;
  const fail = (message: string, offset: number): never => {
    throw new InputError(`${message} at byte ${offset}`, { file, row });
  };

  let chunk: Chunk | undefined = first;
  let start = first.start + 1;
  while (chunk) {
    let data: Buffer = chunk.data;
    let base = chunk.offset;
    let i = start;
    if (held !== null) {
      i += held.length;
      base -= held.length;
      data = Buffer.concat([held, data]);
      held = null;
    }
    let from = inRecord && recordOffset >= base ? recordOffset - base : 0;
    while (i < data.length) {
      if (!inRecord) {
        const byte = data[i] as number;
        if (isSpace(byte)) {
          i++;
          continue;
        }
        if (expects === 'nothing') fail(`got ${shownByte(byte)} behind the end of the array`, base + i);
        if (byte === CLOSE_LIST && expects !== 'record') {
          expects = 'nothing';
          i++;
          continue;
        }
        if (expects === ', or ]') {
          if (byte !== COMMA) fail(`got ${shownByte(byte)}, expected "," or "]"`, base + i);
          expects = 'record';
          i++;
          continue;
        }
        if (byte === COMMA || byte === CLOSE_LIST) fail(`got ${shownByte(byte)}, expected a record`, base + i);
        inRecord = true;
        from = i;
        recordOffset = base + i;
        startValue(state, byte);
      }
      const end = endOfValue(data, i, state);
      if (end === WRONG_BRACKET) fail(`got a closing bracket that does not fit the open one in the record that begins`, recordOffset);
      if (end < 0) break;
      const size = base + end - recordOffset;
      const whole = recordOffset >= base && size <= limit;
      yield { row, line: undefined, size, bytes: whole ? data.subarray(from, end) : null, unended: false };
      inRecord = false;
      expects = ', or ]';
      row++;
      i = end;
    }
    // An over-long record's bytes are dropped: its start then lies before the data that is at hand.
    if (inRecord && recordOffset >= base && base + data.length - recordOffset <= limit) held = data.subarray(from);
    start = 0;
    chunk = await nextChunk(chunks);
  }
  if (expects === 'nothing') return;
  if (inRecord) fail('truncated: the file ends inside the record that begins', recordOffset);
  fail(`truncated: the file ends where ${expects === 'record' ? 'a record' : '"]"'} was expected,`, await fileSize(file));
}

/** How far a value has been read: its open brackets' closing bytes, and whether the position is inside a string or behind a backslash. */
interface ValueState {
  open: number[];
  inString: boolean;
  escaped: boolean;
  scalar: boolean;
}

const NOT_HERE = -1;
const WRONG_BRACKET = -2;

function startValue(state: ValueState, byte: number): void {
  state.open.length = 0;
  state.inString = false;
  state.escaped = false;
  state.scalar = byte !== OPEN_OBJECT && byte !== OPEN_LIST && byte !== QUOTE;
}

/** The position behind the value that `state` is in, NOT_HERE when the data ends before it, WRONG_BRACKET for `[}`. */
function endOfValue(data: Buffer, from: number, state: ValueState): number {
  const { open } = state;
  const n = data.length;
  let i = from;
  if (state.scalar) {
    for (; i < n; i++) {
      const byte = data[i] as number;
      if (byte === COMMA || byte === CLOSE_LIST || isSpace(byte)) return i;
    }
    return NOT_HERE;
  }
  if (state.escaped && i < n) {
    state.escaped = false;
    i++;
  }
  let inString = state.inString;
  while (i < n) {
    if (inString) {
      // A native search for the quote passes over a sentence faster than a loop over its bytes.
      const quote = data.indexOf(QUOTE, i);
      const end = quote < 0 ? n : quote;
      let backslashes = 0;
      while (end - backslashes > i && data[end - backslashes - 1] === BACKSLASH) backslashes++;
      const odd = backslashes % 2 === 1;
      if (quote < 0) {
        state.escaped = odd;
        break;
      }
      i = quote;
      if (odd) {
        i++;
        continue;
      }
      inString = false;
      i++;
      if (open.length === 0) return i;
      continue;
    }
    const byte = data[i++] as number;
    if (byte === QUOTE) inString = true;
    else if (byte === OPEN_OBJECT) open.push(CLOSE_OBJECT);
    else if (byte === OPEN_LIST) open.push(CLOSE_LIST);
    else if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) {
      if (open.pop() !== byte) return WRONG_BRACKET;
      if (open.length === 0) return i;
    }
  }
  state.inString = inString;
  return NOT_HERE;
}

async function* lineRecords(
  first: Chunk & { start: number; lines: number },
  chunks: AsyncGenerator<Chunk>,
  options: RawOptions,
): AsyncGenerator<RawRecord> {
  const limit = options.maxRecordBytes ?? MAX_RECORD_BYTES;
  let row = options.firstRow ?? 0;
  let line = first.lines + 1;
  let held: Buffer[] = [];
  let size = 0;
  const record = (unended: boolean): RawRecord | undefined => {
    const bytes = size > limit ? null : held.length === 1 ? (held[0] as Buffer) : Buffer.concat(held);
    const one = bytes && isBlank(bytes) ? undefined : { row: row++, line, size, bytes, unended };
    held = [];
    size = 0;
    line++;
    return one;
  };
  let chunk: Chunk | undefined = first;
  let start = first.start;
  while (chunk) {
    const { data }: Chunk = chunk;
    while (start < data.length) {
      const found = data.indexOf(NEWLINE, start);
      const end = found < 0 ? data.length : found;
      size += end - start;
      if (size <= limit) held.push(data.subarray(start, end));
      else held = [];
      if (found < 0) break;
      const one = record(false);
      if (one) yield one;
      start = end + 1;
    }
    start = 0;
    chunk = await nextChunk(chunks);
  }
  const last = size > 0 ? record(true) : undefined;
  if (last) yield last;
}

async function nextChunk(chunks: AsyncGenerator<Chunk>): Promise<Chunk | undefined> {
  const next = await chunks.next();
  return next.done ? undefined : next.value;
}

function isBlank(bytes: Buffer): boolean {
  for (const byte of bytes) if (!isSpace(byte)) return false;
  return true;
}

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === NEWLINE || byte === 0x0d || byte === 0x09;
}

function shownByte(byte: number): string {
  return byte > 0x20 && byte < 0x7f ? JSON.stringify(String.fromCharCode(byte)) : `byte 0x${byte.toString(16).padStart(2, '0')}`;
}

import { type FileHandle, open } from 'node:fs/promises';
import { type AsyncBuffer, type FileMetaData, type RowGroup, parquetMetadataAsync, parquetReadObjects } from 'hyparquet';
import { compressors } from 'hyparquet-compressors';
import { InputError } from '../src/core/errors.js';

/** Decoded size of the rows that are held at once, where the file's page index allows to read part of a row group. */
const PART_BYTES = 64 * 1024 * 1024;

/** Stands in a row for text that is not UTF-8. */
export const NOT_UTF8: unique symbol = Symbol('bytes that are not UTF-8');

/**
 * The rows of a Parquet file as plain values: objects, arrays, strings, numbers, booleans and null, so that a row is what the same record
 * would be in JSON. One row group is in memory at a time, or a part of one where it is large and the file has a page index.
 * Throws InputError for a file that is no whole Parquet file or whose pages cannot be read.
 */
export async function* parquetRows(
  file: string,
  options: { firstRow: number; onRead: (share: number) => void; signal?: AbortSignal | undefined },
): AsyncGenerator {
  const handle = await open(file, 'r');
  try {
    const buffer = await asyncBuffer(handle);
    let metadata: FileMetaData;
    try {
      metadata = await parquetMetadataAsync(buffer, { geoparquet: false });
    } catch (error) {
      throw new InputError(`not a whole Parquet file (${(error as Error).message})`, { file });
    }
    const total = Number(metadata.num_rows);
    let start = 0;
    for (const group of metadata.row_groups) {
      const rows = Number(group.num_rows);
      const step = Math.max(1, Math.ceil(rows / parts(group)));
      for (let from = start; from < start + rows; from += step) {
        options.signal?.throwIfAborted();
        const to = Math.min(from + step, start + rows);
        yield* await readRows(file, { buffer, metadata, from, to, firstRow: options.firstRow });
        options.onRead(to / total);
      }
      start += rows;
    }
  } finally {
    await handle.close();
  }
}

async function readRows(
  file: string,
  { buffer, metadata, from, to, firstRow }: { buffer: AsyncBuffer; metadata: FileMetaData; from: number; to: number; firstRow: number },
): Promise<unknown[]> {
  let rows: unknown[];
  try {
    rows = await parquetReadObjects({
      file: buffer,
      metadata,
      compressors,
      geoparquet: false,
      useOffsetIndex: true,
      rowStart: from,
      rowEnd: to,
      // JSON columns stay text: the readers of records parse them, and a bad one costs one record.
      parsers: { stringFromBytes: decoded, jsonFromBytes: decoded },
    });
  } catch (error) {
    throw new InputError(`damaged: rows ${firstRow + from} to ${firstRow + to - 1} cannot be read (${(error as Error).message})`, { file });
  }
  if (rows.length !== to - from) throw new InputError(`damaged: got ${rows.length} rows, expected ${to - from}`, { file });
  return rows.map(plain);
}

function parts(group: RowGroup): number {
  const indexed = group.columns.every((column) => column.offset_index_offset !== undefined);
  return indexed ? Math.ceil(Number(group.total_byte_size) / PART_BYTES) : 1;
}

async function asyncBuffer(handle: FileHandle): Promise<AsyncBuffer> {
  const { size } = await handle.stat();
  return {
    byteLength: size,
    slice: async (start, end = size) => {
      const bytes = new Uint8Array(Math.max(0, end - start));
      let at = 0;
      while (at < bytes.length) {
        const { bytesRead } = await handle.read(bytes, at, bytes.length - at, start + at);
        if (bytesRead === 0) throw new RangeError(`the file ends before byte ${start + bytes.length}`);
        at += bytesRead;
      }
      return bytes.buffer;
    },
  };
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function decoded(bytes: Uint8Array | undefined): unknown {
  if (bytes === undefined || bytes === null) return bytes;
  try {
    return utf8.decode(bytes);
  } catch {
    return NOT_UTF8;
  }
}

/** 64-bit integers become numbers (ids and indices are far below 2^53), typed arrays lists, missing values null. */
function plain(value: unknown): unknown {
  if (value === undefined || value === null) return null;
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
  if (typeof value !== 'object') return value;
  // A date without a time of day comes as the midnight that it begins with.
  if (value instanceof Date) return value.toISOString().replace('T00:00:00.000Z', '');
  if (Array.isArray(value)) return value.map(plain);
  if (ArrayBuffer.isView(value)) return Array.from(value as unknown as ArrayLike<unknown>, plain);
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, plain(inner)]));
}

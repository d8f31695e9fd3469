import * as arrow from 'apache-arrow';
import { createWriteStream } from 'node:fs';
import { type FileHandle, open, readFile } from 'node:fs/promises';
import { once } from 'node:events';
import { finished } from 'node:stream/promises';
import type { Column, Columns, Row } from './columns.js';
import { InputError } from './errors.js';

const BATCH_ROWS = 4096;

/** Writes rows to an Arrow IPC file, one record batch for every 4,096 rows, so that memory stays bounded. */
export async function writeArrow<C extends Columns>(
  path: string,
  columns: C,
  rows: Iterable<Row<C>> | AsyncIterable<Row<C>>,
): Promise<number> {
  const file = createWriteStream(path);
  const writer = new arrow.RecordBatchFileWriter();
  const disk: { drained?: Promise<unknown> | undefined } = {};
  const done = (async () => {
    for await (const bytes of writer) {
      if (file.write(bytes)) continue;
      disk.drained = once(file, 'drain');
      await disk.drained;
      disk.drained = undefined;
    }
    file.end();
  })();
  let count = 0;
  let schema: arrow.Schema | undefined;
  let batch: Row<C>[] = [];
  const flush = (): void => {
    schema ??= schemaOf(columns, batch[0]);
    writer.write(batchOf(columns, schema, batch));
    batch = [];
  };
  try {
    for await (const row of rows) {
      count++;
      if (batch.push(row) === BATCH_ROWS) {
        flush();
        // Lets the bytes out before the next batch is made: on a slow disk a whole table would queue up in memory otherwise.
        do {
          await disk.drained;
          await new Promise((resolve) => setImmediate(resolve));
        } while (disk.drained !== undefined);
      }
    }
    if (batch.length > 0 || schema === undefined) flush();
    writer.close();
    await done;
    await finished(file);
  } catch (error) {
    writer.close();
    file.destroy();
    throw error;
  }
  return count;
}

/** Reads an Arrow IPC file batch by batch. Throws InputError when it is not such a file or its columns are others. */
export async function* readArrow<C extends Columns>(path: string, columns: C): AsyncGenerator<Row<C>> {
  const handle = await open(path, 'r');
  try {
    const reader = await arrowReader(handle, path);
    checkSchema(path, columns, reader.schema);
    for await (const batch of reader) {
      const row = rowReader(columns, batch);
      for (let i = 0; i < batch.numRows; i++) yield row(i);
    }
  } finally {
    await handle.close().catch(() => undefined);
  }
}

/** A whole column of vectors as one contiguous array, without a JavaScript object a row: shape [rows × width], row-major. */
export async function readArrowVectors(path: string, columnName: string): Promise<{ width: number; values: Float32Array; rows: number }> {
  const table = arrow.tableFromIPC(await readFile(path));
  const column = table.getChild(columnName);
  if (column === null || !arrow.DataType.isFixedSizeList(column.type)) {
    throw new InputError(`no vector column ${JSON.stringify(columnName)}`, { file: path });
  }
  const width = column.type.listSize;
  const values = new Float32Array(table.numRows * width);
  let at = 0;
  for (const data of column.data) {
    const child = data.children[0] as arrow.Data<arrow.Float32>;
    const part = child.values.subarray(data.offset * width, (data.offset + data.length) * width);
    values.set(part, at);
    at += part.length;
  }
  return { width, values, rows: table.numRows };
}

/** Vectors of some consecutive rows: shape [rows × width], row-major. Only valid until the next block is asked for. */
export interface VectorBlock {
  values: Float32Array;
  rows: number;
  width: number;
}

/** A column of vectors batch by batch, so that no more than one batch is in memory, however long the file. Throws InputError. */
export async function* readVectorBlocks(path: string, columnName: string): AsyncGenerator<VectorBlock> {
  const handle = await open(path, 'r');
  try {
    const reader = await arrowReader(handle, path);
    for await (const batch of reader) {
      const column = batch.getChild(columnName);
      if (column === null || !arrow.DataType.isFixedSizeList(column.type))
        throw new InputError(`no vector column ${JSON.stringify(columnName)}`, { file: path });
      const width = column.type.listSize;
      const [data] = column.data as [arrow.Data];
      const { values } = data.children[0] as arrow.Data<arrow.Float32>;
      yield { values: values.subarray(data.offset * width, (data.offset + data.length) * width), rows: batch.numRows, width };
    }
  } finally {
    await handle.close().catch(() => undefined);
  }
}

/** Rows of an Arrow IPC file by their number, a batch at a time, for a file of which few rows are wanted. Owns the file until it is closed. */
export interface ArrowRows<C extends Columns> {
  readonly rows: number;
  row(at: number): Promise<Row<C>>;
  close(): Promise<void>;
}

/** Opens a file that `writeArrow` wrote for reading its rows in any order; the last few batches are kept. Throws InputError when it is no such file or its columns are others. */
export async function openArrowRows<C extends Columns>(path: string, columns: C): Promise<ArrowRows<C>> {
  const handle = await open(path, 'r');
  try {
    const reader = (await arrowReader(handle, path)) as arrow.AsyncRecordBatchFileReader;
    checkSchema(path, columns, reader.schema);
    const batches = reader.numRecordBatches;
    // `writeArrow` fills every batch but the last.
    const rows = (batches - 1) * BATCH_ROWS + ((await reader.readRecordBatch(batches - 1))?.numRows ?? 0);
    const kept = new Map<number, Promise<(index: number) => Row<C>>>();
    const load = async (batch: number): Promise<(index: number) => Row<C>> => {
      const loaded = (await reader.readRecordBatch(batch)) as arrow.RecordBatch;
      return rowReader(columns, loaded);
    };
    let last: Promise<unknown> = Promise.resolve();
    return {
      rows,
      row: async (at) => {
        if (!(Number.isInteger(at) && at >= 0 && at < rows)) throw new RangeError(`row: got ${at}, expected one of ${rows}`);
        const batch = Math.floor(at / BATCH_ROWS);
        let loaded = kept.get(batch);
        if (!loaded) {
          // One read at a time: the reader has one position in the file.
          const turn = last.then(() => load(batch));
          last = turn.catch(() => undefined);
          loaded = turn;
          kept.set(batch, loaded);
          const [oldest] = kept.keys();
          if (kept.size > KEPT_BATCHES && oldest !== undefined) kept.delete(oldest);
        }
        return (await loaded)(at - batch * BATCH_ROWS);
      },
      close: () => handle.close(),
    };
  } catch (error) {
    await handle.close().catch(() => undefined);
    throw error;
  }
}

const KEPT_BATCHES = 8;

async function arrowReader(handle: FileHandle, path: string): Promise<arrow.RecordBatchReader> {
  try {
    const reader = await arrow.RecordBatchReader.from(handle);
    await reader.open();
    return reader;
  } catch (error) {
    throw new InputError(`not an Arrow IPC file (${(error as Error).message})`, { file: path });
  }
}

function rowReader<C extends Columns>(columns: C, batch: arrow.RecordBatch): (index: number) => Row<C> {
  const readers = Object.entries(columns).map(
    ([name, column]) => [name, cellReader(column, batch.getChild(name) as arrow.Vector)] as const,
  );
  return (i) => {
    const row: Record<string, unknown> = {};
    for (const [name, cell] of readers) row[name] = cell(i);
    return row as Row<C>;
  };
}

function typeOf(column: Column, sample: unknown): arrow.DataType {
  switch (column.kind) {
    case 'text':
    case 'choice':
      return new arrow.Utf8();
    case 'int':
      return new arrow.Int32();
    case 'float':
      return new arrow.Float64();
    case 'bool':
      return new arrow.Bool();
    case 'list':
      return new arrow.List(new arrow.Field('item', typeOf(column.of, undefined), isNullable(column.of)));
    case 'struct':
      return new arrow.Struct(
        Object.entries(column.fields).map(([name, inner]) => new arrow.Field(name, typeOf(inner, undefined), isNullable(inner))),
      );
    case 'vector':
      return new arrow.FixedSizeList(
        sample instanceof Float32Array ? sample.length : 0,
        new arrow.Field('item', new arrow.Float32(), false),
      );
    case 'nullable':
      return typeOf(column.of, sample);
  }
}

function isNullable(column: Column): boolean {
  return column.kind === 'nullable';
}

function schemaOf<C extends Columns>(columns: C, first: Row<C> | undefined): arrow.Schema {
  return new arrow.Schema(
    Object.entries(columns).map(([name, column]) => new arrow.Field(name, typeOf(column, first?.[name]), isNullable(column))),
  );
}

function batchOf<C extends Columns>(columns: C, schema: arrow.Schema, rows: readonly Row<C>[]): arrow.RecordBatch {
  const children = Object.keys(columns).map((name, at) => {
    const type = (schema.fields[at] as arrow.Field).type;
    if (arrow.DataType.isFixedSizeList(type))
      return vectorData(
        type,
        rows.map((row) => row[name] as Float32Array),
      );
    const builder = arrow.makeBuilder({ type, nullValues: [null] });
    for (const row of rows) builder.append(row[name]);
    return builder.finish().flush();
  });
  const data = arrow.makeData({ type: new arrow.Struct(schema.fields), length: rows.length, nullCount: 0, children });
  return new arrow.RecordBatch(schema, data);
}

function vectorData(type: arrow.FixedSizeList, vectors: readonly Float32Array[]): arrow.Data {
  const width = type.listSize;
  const values = new Float32Array(vectors.length * width);
  for (const [at, one] of vectors.entries()) {
    if (one.length !== width) throw new RangeError(`vector of row ${at}: got ${one.length} numbers, expected ${width}`);
    values.set(one, at * width);
  }
  const child = arrow.makeData({ type: new arrow.Float32(), length: values.length, nullCount: 0, data: values });
  return arrow.makeData({ type, length: vectors.length, nullCount: 0, child });
}

function checkSchema(path: string, columns: Columns, schema: arrow.Schema): void {
  const got = schema.fields.map((field) => field.name).join(', ');
  const expected = Object.keys(columns).join(', ');
  if (got !== expected) throw new InputError(`got the columns ${got}, expected ${expected}`, { file: path });
  for (const [name, column] of Object.entries(columns)) {
    const field = schema.fields.find((one) => one.name === name) as arrow.Field;
    const want = column.kind === 'vector' ? 'FixedSizeList' : String(typeOf(column, undefined));
    const have = String(field.type);
    if (column.kind === 'vector' ? !have.startsWith(want) : have !== want) {
      throw new InputError(`got ${have}, expected ${want}`, { file: path, field: name });
    }
  }
}

/** A function from a row's index to its value as a plain JavaScript value; made once a batch, since looking up children is slow. */
function cellReader(column: Column, cells: arrow.Vector): (index: number) => unknown {
  switch (column.kind) {
    case 'nullable': {
      const inner = cellReader(column.of, cells);
      return (i) => (cells.isValid(i) ? inner(i) : null);
    }
    case 'list': {
      const data = cells.data[0] as arrow.Data<arrow.List>;
      const child = new arrow.Vector([data.children[0] as arrow.Data]);
      const inner = cellReader(column.of, child);
      const offsets = data.valueOffsets;
      return (i) => {
        const out: unknown[] = [];
        for (let k = offsets[i] as number; k < (offsets[i + 1] as number); k++) out.push(inner(k));
        return out;
      };
    }
    case 'struct': {
      const inner = Object.entries(column.fields).map(
        ([name, field]) => [name, cellReader(field, cells.getChild(name) as arrow.Vector)] as const,
      );
      return (i) => {
        const out: Record<string, unknown> = {};
        for (const [name, cell] of inner) out[name] = cell(i);
        return out;
      };
    }
    case 'vector': {
      const width = (cells.type as arrow.FixedSizeList).listSize;
      const [data] = cells.data as [arrow.Data];
      const values = (data.children[0] as arrow.Data<arrow.Float32>).values;
      return (i) => values.slice(i * width, (i + 1) * width);
    }
    default:
      return (i) => cells.get(i) as unknown;
  }
}

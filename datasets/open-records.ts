import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { InputError, shown } from '../src/core/errors.js';
import { canonicalJson, sha256 } from '../src/core/hash.js';
import { readManifest } from '../src/core/manifest.js';
import type { OnProgress } from '../src/core/progress.js';
import { DATASETS, type DatasetName, type HopRecord, recordColumns } from '../src/core/records.js';
import { DATASET_SENTENCES, SPLITTER } from '../src/core/sentences.js';
import { readTable } from '../src/core/tables.js';
import { detectDataset } from './detect.js';
import { type Quarantine, makeQuarantine } from './quarantine.js';
import { readBamboogle } from './readers/bamboogle.js';
import { BadRecord, type Reader, type ReadRecord } from './readers/fields.js';
import { hotpotqaReader } from './readers/hotpotqa.js';
import { readMusique } from './readers/musique.js';
import { readOwn } from './readers/own.js';
import { MAX_RECORD_BYTES, type RawRecord, rawRecords } from './record-bytes.js';

export const ID_SOURCES = ['field', 'row', 'hash'] as const;
export type IdSource = (typeof ID_SOURCES)[number];

export interface OpenOptions {
  /** Found from the first records when left out. */
  dataset?: DatasetName | undefined;
  /**
   * Where question ids come from: the record's own `_id`, `id` or `question_id` (default), its zero-based row, or a hash of its question
   * and page titles (the answer is not part of it, since ids reach what deciders read).
   */
  ids?: IdSource | undefined;
  /** Longest record that is kept, in bytes; default 16 MiB. Longer ones are quarantined as `too_long`. */
  maxRecordBytes?: number | undefined;
  /** Called with bytes read and size of the file; for folders with records read and null. */
  onProgress?: OnProgress | undefined;
  signal?: AbortSignal | undefined;
}

/** An input that has been recognised and can be read, any number of times. */
export interface OpenedRecords {
  /** Path as the user gave it. */
  file: string;
  /** The files that are read, for the manifest of what is made from them. */
  inputs: string[];
  dataset: DatasetName;
  ids: IdSource;
  /** What made the sentences: `dataset` where the file ships them (they are never split again), else the splitter's name and version. */
  splitter: string;
  /** Each iteration reads the file from its start and fills `quarantine` anew. */
  records: AsyncIterable<HopRecord>;
  /** Complete once an iteration has ended. */
  quarantine: Quarantine;
}

/**
 * Opens a dataset file (architecture.md §5 has the names), a records folder or a run folder. A record that cannot be used is quarantined
 * and the others go on. Throws InputError, here or while reading, when the file as a whole is no use: missing, empty, not JSON, cut off,
 * of no known dataset, without any id, without a single usable record.
 */
export async function openRecords(file: string, options: OpenOptions = {}): Promise<OpenedRecords> {
  const found = await stat(file).catch(() => undefined);
  if (found?.isDirectory()) return openFolder(file, options);
  const dataset = options.dataset ?? (await detectDataset(file));
  const quarantine = makeQuarantine();
  return {
    file,
    inputs: [file],
    dataset,
    ids: options.ids ?? 'field',
    splitter: dataset === 'musique' ? SPLITTER : DATASET_SENTENCES,
    records: { [Symbol.asyncIterator]: () => readFileRecords(file, dataset, options, quarantine) },
    quarantine,
  };
}

const readers: { [name in DatasetName]: Reader } = {
  hotpotqa: hotpotqaReader('hotpotqa'),
  '2wiki': hotpotqaReader('2wiki'),
  musique: readMusique,
  bamboogle: readBamboogle,
  jsonl: readOwn,
};

async function* readFileRecords(
  file: string,
  dataset: DatasetName,
  options: OpenOptions,
  quarantine: Quarantine,
): AsyncGenerator<HopRecord> {
  quarantine.clear();
  const read = recordReader(file, readers[dataset], options);
  const ownRows = new Set<number>();
  let usable = 0;
  for await (const raw of rawRecords(file, options)) {
    const place: { row: number; line: number | null; question_id: string | null } = {
      row: raw.row,
      line: raw.line ?? null,
      question_id: null,
    };
    let record: HopRecord;
    try {
      const { id, ownRow, repairs, ...rest } = read(raw);
      const row = ownRow ?? raw.row;
      place.question_id = id ?? null;
      if (rest.question.trim() === '') throw new BadRecord('no_question', 'the question is empty', 'question');
      if (id === undefined) throw new BadRecord('no_id', 'the record has no id');
      if (ownRow !== undefined) {
        if (ownRows.has(ownRow)) throw new BadRecord('repeated_row', `an earlier record has row ${ownRow} too`, 'row');
        ownRows.add(ownRow);
      }
      for (const repair of repairs) quarantine.repair({ ...place, ...repair });
      record = { question_id: id, row, ...rest };
    } catch (error) {
      if (!(error instanceof BadRecord)) throw error;
      quarantine.skip({ ...place, reason: error.reason, detail: error.message, ...(error.field !== undefined && { field: error.field }) });
      continue;
    }
    usable++;
    yield record;
  }
  if (usable === 0) throw nothingUsable(file, dataset, quarantine);
}

function recordReader(file: string, reader: Reader, options: OpenOptions): (raw: RawRecord) => ReadRecord {
  const { ids = 'field', maxRecordBytes = MAX_RECORD_BYTES } = options;
  if (!ID_SOURCES.includes(ids)) throw new InputError(`--ids: got ${shown(ids)}, expected one of ${ID_SOURCES.join(', ')}`, { file });
  const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  return ({ bytes, size, row, unended }) => {
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
    if (value === null || typeof value !== 'object' || Array.isArray(value))
      throw new BadRecord('bad_field', `got ${shown(value, 60)}, expected one JSON object`);
    // Half of a surrogate pair is no text: written as UTF-8 it turns into U+FFFD, in JSON it stays; so it is made U+FFFD here, once.
    const halves = SURROGATE_ESCAPE.test(decoded) ? { found: 0 } : undefined;
    const record = reader(halves ? wellFormed(value, halves) : value);
    if (halves && halves.found > 0)
      record.repairs.push({ reason: 'lone_surrogate', detail: 'half of a surrogate pair, read as U+FFFD', field: '' });
    if (ids === 'row') record.id = String(row);
    if (ids === 'hash') record.id = contentId(record);
    return record;
  };
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

/** 16 hex digits of sha256 over question and page titles; equal records have equal ids in any file. */
function contentId(record: Pick<HopRecord, 'question' | 'pages'>): string {
  return sha256(canonicalJson([record.question, record.pages.map((page) => page.title)])).slice(0, 16);
}

function nothingUsable(file: string, dataset: DatasetName, quarantine: Quarantine): InputError {
  const [first] = quarantine.entries;
  if (!first) return new InputError('no record in the file', { file });
  const counts = Object.entries(quarantine.skipped);
  if (counts.every(([reason]) => reason === 'no_id'))
    return new InputError('no record has an id; --ids row or --ids hash makes ids', { file });
  const total = counts.reduce((sum, [, n]) => sum + n, 0);
  const place = { file, row: first.row, line: first.line ?? undefined, field: first.field ?? undefined };
  const notJson = counts.every(([reason]) => reason === 'bad_json' || reason === 'cut_off' || reason === 'bad_utf8');
  const what = notJson ? 'neither a JSON array nor JSON lines' : `none of the ${total} records can be read as dataset ${dataset}`;
  return new InputError(`${what}; the first: ${first.detail}`, place);
}

async function openFolder(folder: string, options: OpenOptions): Promise<OpenedRecords> {
  const manifest = await readManifest(folder, ['records', 'trajectories']);
  const entry = manifest.outputs.find((one) => one.name === 'records.arrow' || one.name === 'records.jsonl');
  if (!entry) throw new InputError('no table "records" in this folder', { file: folder });
  const named = manifest.details.dataset;
  const dataset = DATASETS.find((one) => one === named);
  if (!dataset)
    throw new InputError(`got ${shown(named)}, expected one of ${DATASETS.join(', ')}`, {
      file: join(folder, 'manifest.json'),
      field: 'details.dataset',
    });
  if (options.dataset !== undefined && options.dataset !== dataset)
    throw new InputError(`--dataset: got ${options.dataset}, but the folder's records are of ${dataset}`, { file: folder });
  if (options.ids !== undefined && options.ids !== 'field')
    throw new InputError(`--ids: got ${options.ids}, but the records of a folder have their ids already`, { file: folder });
  const splitter = manifest.details.splitter;
  const quarantine = makeQuarantine();
  async function* read(): AsyncGenerator<HopRecord> {
    quarantine.clear();
    let done = 0;
    for await (const record of readTable(folder, manifest, 'records', recordColumns)) {
      options.signal?.throwIfAborted();
      if (++done % 1000 === 0) options.onProgress?.(done, null);
      yield record;
    }
    if (done === 0) throw new InputError('no record in the folder', { file: folder });
  }
  return {
    file: folder,
    inputs: [join(folder, entry.name)],
    dataset,
    ids: 'field',
    splitter: typeof splitter === 'string' ? splitter : dataset === 'musique' ? SPLITTER : DATASET_SENTENCES,
    records: { [Symbol.asyncIterator]: read },
    quarantine,
  };
}

import { stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { InputError, shown } from '../src/core/errors.js';
import { canonicalJson, sha256 } from '../src/core/hash.js';
import { readManifest } from '../src/core/manifest.js';
import { readLock } from '../src/core/pinned-files.js';
import type { OnProgress } from '../src/core/progress.js';
import { DATASETS, type DatasetName, type HopRecord, recordColumns } from '../src/core/records.js';
import { DATASET_SENTENCES, SPLITTER } from '../src/core/sentences.js';
import { readTable } from '../src/core/tables.js';
import { detectDataset } from './detect.js';
import { inputFiles } from './input-files.js';
import { type Quarantine, makeQuarantine } from './quarantine.js';
import { readBamboogle } from './readers/bamboogle.js';
import { BadRecord, type Reader, type ReadRecord } from './readers/fields.js';
import { hotpotqaReader } from './readers/hotpotqa.js';
import { readMusique } from './readers/musique.js';
import { readOwn } from './readers/own.js';
import { type SourceRow, sourceRows } from './source-rows.js';
import { openSubset } from './subset.js';

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
  /** The dataset's published version, written into what is made; by default what `data download` recorded beside the files, else null. */
  version?: string | undefined;
  /** A subset manifest (`data doctor --write-subset`) that the records have to match, all of them; a difference throws while reading. */
  subset?: string | undefined;
  /** Longest record that is kept, in bytes; default 16 MiB. Longer ones are quarantined as `too_long`. */
  maxRecordBytes?: number | undefined;
  /** Called with bytes read and size of all files; for folders with records read and null. */
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
  /** The dataset's published version, where it is known. */
  version: string | null;
  /** What made the sentences: `dataset` where the file ships them (they are never split again), else the splitter's name and version. */
  splitter: string;
  /** Each iteration reads the file from its start and fills `quarantine` anew. */
  records: AsyncIterable<HopRecord>;
  /** Complete once an iteration has ended. */
  quarantine: Quarantine;
}

/**
 * Opens a dataset file or its shards (`inputFiles` says how they are named; JSON, JSON lines, either of them gzipped, or Parquet), a records
 * folder or a run folder. A record that cannot be used is quarantined
 * and the others go on. Throws InputError, here or while reading, when the file as a whole is no use: missing, empty, not JSON, cut off,
 * of no known dataset, without any id, without a single usable record.
 */
export async function openRecords(file: string, options: OpenOptions = {}): Promise<OpenedRecords> {
  const opened = await openInput(file, options);
  const { subset } = options;
  if (subset === undefined) return opened;
  await openSubset(subset);
  return { ...opened, inputs: [...opened.inputs, subset], records: { [Symbol.asyncIterator]: () => matching(opened, subset) } };
}

async function openInput(file: string, options: OpenOptions): Promise<OpenedRecords> {
  const named = await inputFiles(file);
  if ('folder' in named) return openFolder(named.folder, options);
  const { files } = named;
  const dataset = options.dataset ?? (await detectDataset(files));
  const shards: Shard[] = [];
  // Our own records may name their row themselves; it then says nothing of the place in the file.
  const quarantine = makeQuarantine(files.length > 1 && dataset !== 'jsonl' ? (row) => shardOf(shards, row) : undefined);
  return {
    file,
    inputs: files,
    dataset,
    ids: options.ids ?? 'field',
    version: options.version ?? (await lockedVersion(files)),
    splitter: dataset === 'musique' ? SPLITTER : DATASET_SENTENCES,
    records: { [Symbol.asyncIterator]: () => readFileRecords({ name: file, files, shards, dataset }, options, quarantine) },
    quarantine,
  };
}

const DIFFERENCES = {
  subset_changed: 'question, answer or supports are not those of the subset manifest',
  subset_extra: 'is not in the subset manifest',
} as const;

/** The records as long as they are those of a subset manifest (known-faults P13). */
async function* matching({ file, records }: OpenedRecords, subset: string): AsyncGenerator<HopRecord> {
  const check = await openSubset(subset);
  for await (const record of records) {
    const difference = check.record(record);
    if (difference) throw new InputError(`${DIFFERENCES[difference]} ${subset}`, { file, row: record.row, questionId: record.question_id });
    yield record;
  }
  const [missing, ...more] = check.missing();
  if (missing !== undefined)
    throw new InputError(
      `has no record ${JSON.stringify(missing)}${more.length > 0 ? ` and ${more.length} others` : ''} of the subset manifest ${subset}`,
      { file },
    );
}

/** The version that the lock files of `data download` name, when they name one for all files. */
async function lockedVersion(files: readonly string[]): Promise<string | null> {
  const versions = new Set<string | null>();
  for (const file of files) {
    const entry = (await readLock(dirname(file))).find((one) => one.name === basename(file));
    versions.add(entry && entry.bytes === (await stat(file).catch(() => undefined))?.size ? entry.revision : null);
  }
  const [version] = versions;
  return versions.size === 1 ? (version ?? null) : null;
}

/** A file of several, and the number of its first record. */
interface Shard {
  file: string;
  firstRow: number;
}

function shardOf(shards: readonly Shard[], row: number): { file: string; file_row: number } | undefined {
  const shard = shards.findLast((one) => one.firstRow <= row);
  return shard && { file: basename(shard.file), file_row: row - shard.firstRow };
}

const readers: { [name in DatasetName]: Reader } = {
  hotpotqa: hotpotqaReader('hotpotqa'),
  '2wiki': hotpotqaReader('2wiki'),
  musique: readMusique,
  bamboogle: readBamboogle,
  jsonl: readOwn,
};

async function* readFileRecords(
  source: { name: string; files: readonly string[]; shards: Shard[]; dataset: DatasetName },
  options: OpenOptions,
  quarantine: Quarantine,
): AsyncGenerator<HopRecord> {
  const { name, files, shards, dataset } = source;
  quarantine.clear();
  shards.length = 0;
  const read = recordReader(name, readers[dataset], options);
  // A record without a row of its own has that of its place, which an earlier record may have claimed.
  const ownRows = new Set<number>();
  let usable = 0;
  let usableBefore = 0;
  const checkShard = (): void => {
    const { file, firstRow } = shards.at(-1) ?? { file: name, firstRow: 0 };
    if (usable === usableBefore) throw nothingUsable(file, dataset, quarantine, firstRow);
    usableBefore = usable;
  };
  for await (const raw of sourceRows(files, options)) {
    if (shards.at(-1)?.file !== raw.file) {
      if (shards.length > 0) checkShard();
      shards.push({ file: raw.file, firstRow: raw.row });
    }
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
      if (dataset === 'jsonl') {
        if (ownRows.has(row)) throw new BadRecord('repeated_row', `an earlier record has row ${row} too`, 'row');
        ownRows.add(row);
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
  checkShard();
}

function recordReader(file: string, reader: Reader, options: OpenOptions): (raw: SourceRow) => ReadRecord {
  const { ids = 'field' } = options;
  if (!ID_SOURCES.includes(ids)) throw new InputError(`--ids: got ${shown(ids)}, expected one of ${ID_SOURCES.join(', ')}`, { file });
  return (raw) => {
    const { value, halves } = raw.read();
    if (value === null || typeof value !== 'object' || Array.isArray(value))
      throw new BadRecord('bad_field', `got ${shown(value, 60)}, expected one JSON object`);
    const record = reader(value);
    if (halves > 0) record.repairs.push({ reason: 'lone_surrogate', detail: 'half of a surrogate pair, read as U+FFFD', field: '' });
    if (ids === 'row') record.id = String(raw.row);
    if (ids === 'hash') record.id = contentId(record);
    return record;
  };
}

/** 16 hex digits of sha256 over question and page titles; equal records have equal ids in any file. */
function contentId(record: Pick<HopRecord, 'question' | 'pages'>): string {
  return sha256(canonicalJson([record.question, record.pages.map((page) => page.title)])).slice(0, 16);
}

function nothingUsable(file: string, dataset: DatasetName, quarantine: Quarantine, firstRow: number): InputError {
  const skipped = quarantine.entries.filter((entry) => entry.action === 'skipped' && entry.row >= firstRow);
  const [first] = skipped;
  if (!first) return new InputError('no record in the file', { file });
  const reasons = new Set(skipped.map((entry) => entry.reason));
  if (reasons.size === 1 && reasons.has('no_id')) return new InputError('no record has an id; --ids row or --ids hash makes ids', { file });
  const place = { file, row: first.row, line: first.line ?? undefined, field: first.field ?? undefined };
  const notJson = [...reasons].every((reason) => reason === 'bad_json' || reason === 'cut_off' || reason === 'bad_utf8');
  const what = notJson ? 'neither a JSON array nor JSON lines' : `none of the ${skipped.length} records can be read as dataset ${dataset}`;
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
  const { splitter, dataset_version: version } = manifest.details;
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
    version: options.version ?? (typeof version === 'string' ? version : null),
    splitter: typeof splitter === 'string' ? splitter : dataset === 'musique' ? SPLITTER : DATASET_SENTENCES,
    records: { [Symbol.asyncIterator]: read },
    quarantine,
  };
}

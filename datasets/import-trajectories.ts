import { open } from 'node:fs/promises';
import { answerColumns, type AgentAnswer } from '../src/core/agent-answers.js';
import { InputError } from '../src/core/errors.js';
import { sha256 } from '../src/core/hash.js';
import { readJsonl } from '../src/core/jsonl.js';
import type { Manifest } from '../src/core/manifest.js';
import { type OutputFolder, type TableFormat, openOutputFolder } from '../src/core/output-folder.js';
import type { OnProgress } from '../src/core/progress.js';
import { type DatasetName, type HopRecord, recordColumns } from '../src/core/records.js';
import { idTally, repeatedIdsWarning } from '../src/core/repeated-ids.js';
import { type GoldOutcome, onRetrievedPages, retrievedPages } from '../src/core/retrieved-pages.js';
import { DATASET_SENTENCES, SPLITTER, splitSentences } from '../src/core/sentences.js';
import { foldSpace } from '../src/core/text.js';
import { type Loop, trajectoryColumns } from '../src/core/trajectories.js';
import { type CompactLoop, type CompactLoops, foundSentences, loopsOfRecords } from '../src/core/written-loops.js';
import { inputFiles } from './input-files.js';
import type { IdSource, OpenedRecords } from './open-records.js';
import { type Quarantine, makeQuarantine } from './quarantine.js';
import { BadRecord } from './readers/fields.js';
import { sourceRows } from './source-rows.js';
import { type QuestionLookup, questionLookup } from './trajectory-questions.js';
import { type ReadTrajectory, type TrajectoryFormat, trajectoryReader } from './trajectory-readers/index.js';

export interface ImportOptions {
  out: string;
  format: TrajectoryFormat;
  /** Field of the transcript. Default: the first known one that a record has. */
  textField?: string | undefined;
  /** Where questions, answers and supporting facts are taken from; trajectories of other questions are then left out. */
  questions?: OpenedRecords | undefined;
  /** Name of the dataset where there are no `questions`. Default `jsonl`. */
  dataset?: DatasetName | undefined;
  /** Default: the record's own id, and where it has none the hash of its question. */
  ids?: IdSource | undefined;
  /** Default `arrow`. */
  tables?: TableFormat | undefined;
  /** Nothing is drawn; the manifest names it. Default 13. */
  seed?: number | undefined;
  resume?: boolean | undefined;
  force?: boolean | undefined;
  signal?: AbortSignal | undefined;
  /** Bytes read, and the size of the file. */
  onProgress?: OnProgress | undefined;
}

/**
 * Makes a run folder (kind `trajectories`: tables `records`, `trajectories`, `answers`, and `quarantine.jsonl`) of trajectories that another
 * program made. The pages of a question are the documents that its trajectory retrieved, in the order first met, split by the product's
 * splitter unless the file ships sentences. Gold labels come from `questions` alone and are moved onto those pages as `onRetrievedPages` says.
 * An interrupted run is done again from its start: reading is its whole cost.
 *
 * @throws InputError when the file as a whole is no use: another format, no usable trajectory; nothing is left then
 */
export async function importTrajectories(file: string, options: ImportOptions): Promise<Manifest> {
  const { format, questions, tables = 'arrow', seed = 13, dataset = questions?.dataset ?? 'jsonl' } = options;
  const named = await inputFiles(file);
  if ('folder' in named) throw new InputError('is an output folder, expected a file of trajectories', { file });
  const out = await openOutputFolder({
    dir: options.out,
    kind: 'trajectories',
    command: 'trajectories import',
    options: { format, 'text-field': options.textField ?? null, dataset, ids: options.ids ?? null, tables },
    seed,
    inputs: [...named.files, ...(questions?.inputs ?? [])],
    resume: options.resume,
    force: options.force,
  });
  if (out.finished) return out.finished;
  try {
    return await write(out, named.files, { ...options, dataset, tables });
  } catch (error) {
    if (error instanceof InputError) await out.discard();
    throw error;
  }
}

interface Counts {
  questions: number;
  loops: number;
  /** As they were retrieved; one met again counts again. */
  documents: number;
  pages: number;
  sentences: number;
  without_search: number;
  stopped_by: { [reason: string]: number };
  gold: { [outcome in GoldOutcome]?: number };
  /** Questions with an id that stood before; left out where there are none. */
  repeated_ids?: number;
}

async function write(
  out: OutputFolder,
  files: readonly string[],
  options: ImportOptions & { dataset: DatasetName; tables: TableFormat },
): Promise<Manifest> {
  const { format, questions, dataset, tables } = options;
  const quarantine = makeQuarantine();
  const read = (): AsyncGenerator<Imported> => importedRows(files, quarantine, options);
  const lookup = questions && (await questionLookup(questions, namesOf(read())));
  const counts: Counts = { questions: 0, loops: 0, documents: 0, pages: 0, sentences: 0, without_search: 0, stopped_by: {}, gold: {} };
  const finished: CompactLoops[] = [];
  const ids = idTally();
  const answers = await open(out.temporary('answers.lines'), 'w');
  let splitter: string | undefined;

  async function* records(): AsyncGenerator<HopRecord> {
    quarantine.clear();
    for await (const { read: one, row, line } of read()) {
      const place = { row, line, question_id: one.id ?? null };
      try {
        const own = sentencesOf(one);
        if (own !== null && splitter !== undefined && own !== splitter) throw mixed(own);
        const { record, found, documents } = imported(one, { row, dataset, ids: options.ids, lookup, counts });
        splitter ??= own ?? undefined;
        place.question_id = record.question_id;
        for (const repair of one.repairs) quarantine.repair({ ...place, ...repair });
        finished.push(found);
        counts.questions++;
        ids.add(record.question_id);
        counts.documents += documents;
        counts.pages += record.pages.length;
        if (found.loops.length === 0) counts.without_search++;
        else counts.stopped_by[found.stop_reason] = (counts.stopped_by[found.stop_reason] ?? 0) + 1;
        const answer: AgentAnswer = { question_id: record.question_id, row, answer: one.answer, transcript: one.transcript };
        await answers.write(`${JSON.stringify(answer)}\n`);
        yield record;
      } catch (error) {
        skipOrThrow(error, quarantine, place);
      }
    }
  }

  async function* loops(): AsyncGenerator<Loop> {
    for await (const loop of loopsOfRecords(out.temporary(`records.${tables}`), tables, finished)) {
      counts.loops++;
      counts.sentences += loop.sentences.length;
      yield loop;
    }
  }

  try {
    await out.table('records', recordColumns, records(), tables);
  } finally {
    await answers.close();
  }
  if (counts.questions === 0) throw nothingUsable(files[0] as string, format, quarantine);
  await out.table('trajectories', trajectoryColumns, loops(), tables);
  await out.table('answers', answerColumns, readJsonl(out.temporary('answers.lines'), answerColumns), tables);
  await out.jsonl('quarantine.jsonl', quarantine.entries);
  const warnings: string[] = [];
  if (counts.loops === 0) warnings.push(`no trajectory has a search: there is no loop to decide on; is the file in the format ${format}?`);
  const repeated = ids.repeated();
  if (repeated > 0) {
    counts.repeated_ids = repeated;
    warnings.push(repeatedIdsWarning(repeated));
  }
  if (counts.gold.unresolved)
    warnings.push(
      `${counts.gold.unresolved} questions lose their gold labels: a retrieved page has a supporting title, but not the supporting sentence or paragraph`,
    );
  return out.finish({
    counts: { ...counts, repaired: { ...quarantine.repaired } },
    quarantined: { ...quarantine.skipped },
    warnings,
    details: {
      dataset,
      agent: { agent: 'imported', format },
      retriever: { retriever: 'imported' },
      splitter: splitter ?? SPLITTER,
      budget: null,
      top: null,
      dataset_version: questions?.version ?? null,
    },
  });
}

interface Imported {
  read: ReadTrajectory;
  row: number;
  line: number | null;
}

/** The readable trajectories of the files; the others go to the quarantine. */
async function* importedRows(
  files: readonly string[],
  quarantine: Quarantine,
  { format, textField, signal, onProgress }: ImportOptions,
): AsyncGenerator<Imported> {
  const reader = trajectoryReader(format, textField);
  let [recognised, others, searched, elsewhere] = [0, 0, 0, 0];
  let otherFormat: string | undefined;
  for await (const raw of sourceRows(files, { signal, onProgress })) {
    const place = { row: raw.row, line: raw.line ?? null, question_id: null };
    let read: ReadTrajectory;
    try {
      const { value, halves } = raw.read();
      if (value === null || typeof value !== 'object' || Array.isArray(value))
        throw new BadRecord('bad_field', 'got no JSON object, expected one');
      read = reader(value);
      if (halves > 0) read.repairs.push({ reason: 'lone_surrogate', detail: 'half of a surrogate pair, read as U+FFFD', field: '' });
    } catch (error) {
      skipOrThrow(error, quarantine, place);
      continue;
    }
    if (read.otherFormat !== undefined) {
      otherFormat ??= read.otherFormat;
      elsewhere++;
      const detail = `got the marks of ${read.otherFormat} and no search in those of ${format}`;
      skipOrThrow(new BadRecord('bad_marks', detail), quarantine, { ...place, question_id: read.id ?? null });
      continue;
    }
    if (read.recognised) recognised++;
    else others++;
    if (read.loops.length > 0) searched++;
    yield { read, row: raw.row, line: raw.line ?? null };
  }
  // Transcripts without a search look the same in both formats.
  if (otherFormat !== undefined && searched === 0)
    throw new InputError(`${elsewhere} transcripts have the marks of ${otherFormat}, and none a search in those of ${format}`, {
      file: files[0] as string,
    });
  // A transcript without a mark may be one without a search; not one mark in the file is another format.
  if (recognised === 0 && others > 0)
    throw new InputError(`none of the ${others} transcripts has a mark of the format ${format}`, { file: files[0] as string });
}

async function* namesOf(rows: AsyncIterable<Imported>): AsyncGenerator<Pick<ReadTrajectory, 'id' | 'question'>> {
  for await (const { read } of rows) yield { id: read.id, question: read.question };
}

function skipOrThrow(
  error: unknown,
  quarantine: Quarantine,
  place: { row: number; line: number | null; question_id: string | null },
): void {
  if (!(error instanceof BadRecord)) throw error;
  quarantine.skip({ ...place, reason: error.reason, detail: error.message, ...(error.field !== undefined && { field: error.field }) });
}

interface ImportContext {
  row: number;
  dataset: DatasetName;
  ids: IdSource | undefined;
  lookup: QuestionLookup | undefined;
  counts: Counts;
}

function imported(
  read: ReadTrajectory,
  { row, dataset, ids, lookup, counts }: ImportContext,
): { record: HopRecord; found: CompactLoops; documents: number } {
  const asked = lookup?.(read) ?? ownRecord(read, { row, dataset, ids });
  const met = retrievedPages();
  let documents = 0;
  const loops = read.loops.map(({ query, subAnswer, documents: brought }): CompactLoop => {
    documents += brought.length;
    const sentences = met.bring(
      brought.map((one) => ({ ...one, sentences: 'sentences' in one ? one.sentences : splitSentences(one.text) })),
    );
    return { query, sub_answer: subAnswer, found: foundSentences(sentences) };
  });
  const { record, gold } = onRetrievedPages({ ...asked, row }, met.pages);
  counts.gold[gold] = (counts.gold[gold] ?? 0) + 1;
  return { record, found: { loops, stop_reason: read.stop }, documents };
}

function ownRecord(read: ReadTrajectory, { row, dataset, ids }: Pick<ImportContext, 'row' | 'dataset' | 'ids'>): HopRecord {
  const { question, id } = read;
  if (question === undefined) throw new BadRecord('bad_field', 'got no question, and none to take it from', 'question');
  if (ids === 'field' && id === undefined) throw new BadRecord('no_id', 'the record has no id');
  return {
    question_id: ids === 'row' ? String(row) : ids === 'hash' || id === undefined ? questionHash(question) : id,
    row,
    dataset,
    question,
    answer: read.answers[0] ?? null,
    aliases: read.answers.slice(1),
    type: null,
    level: null,
    pages: [],
    supporting: [],
    decomposition: [],
    evidences: [],
  };
}

/** 16 hex digits of sha256 over the question, white space folded: two trajectories of one question have one id. */
function questionHash(question: string): string {
  return sha256(foldSpace(question)).slice(0, 16);
}

/** What cut a trajectory's documents into sentences; null where it has none. Throws BadRecord where some ship sentences and others do not. */
function sentencesOf(read: ReadTrajectory): string | null {
  const kinds = new Set(read.loops.flatMap(({ documents }) => documents.map((one) => ('sentences' in one ? DATASET_SENTENCES : SPLITTER))));
  const [kind, other] = kinds;
  if (other !== undefined) throw mixed(other);
  return kind ?? null;
}

/** Sentences of two splitters in one run would be compared as one (known-faults P17). */
function mixed(other: string): BadRecord {
  return new BadRecord(
    'mixed_sentences',
    `got documents with ${other === SPLITTER ? 'text' : 'sentences'}, expected those of the file's first`,
    'loops',
  );
}

function nothingUsable(file: string, format: TrajectoryFormat, quarantine: Quarantine): InputError {
  const skipped = quarantine.entries.filter(({ action }) => action === 'skipped');
  const [first] = skipped;
  if (!first) return new InputError('no trajectory in the file', { file });
  const place = { file, row: first.row, line: first.line ?? undefined, field: first.field ?? undefined };
  if (skipped.every(({ reason }) => reason === 'no_id'))
    return new InputError('no record has an id; --ids row or --ids hash makes ids', { file });
  return new InputError(`none of the ${skipped.length} records can be imported as ${format}; the first: ${first.detail}`, place);
}

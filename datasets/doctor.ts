import { basename } from 'node:path';
import { hashFile } from '../src/core/hash.js';
import type { FileEntry } from '../src/core/manifest.js';
import type { DatasetName, HopRecord } from '../src/core/records.js';
import { normaliseSentence, normaliseTitle } from '../src/core/text.js';
import { type Fault, RECORD_FAULTS, recordFaults } from './faults.js';
import { goldHops } from '../src/core/gold-hops.js';
import { type HashSet, eachNgram, makeHashSet, textHash } from './hash-set.js';
import { NGRAM_WORDS } from './leakage.js';
import type { OpenedRecords } from './open-records.js';
import { type SubsetCheck, type SubsetEntry, subsetEntry } from './subset.js';

/** Faults that only show between records, between files, or against a subset manifest. */
export const FILE_FAULTS = {
  repeated_id: 'an earlier record has the same id',
  repeated_question: 'an earlier record under another id has the same question',
  shared_id: '--against: the id stands in the other file too',
  shared_question: '--against: the question stands in the other file too',
  shared_gold_title: '--against: a gold page of the other file has the title (one for each title)',
  shared_gold_sentence: '--against: a gold sentence of the other file has the text (one for each sentence)',
  shared_ngram: '--against: a gold sentence of the other file has these eight words in a row (one for each run of eight)',
  subset_changed: '--subset: question, answer or supports are not those of the manifest',
  subset_extra: '--subset: the record is not in the manifest',
  subset_missing: '--subset: the manifest names a record that is not in the file',
} as const;
const FAULTS_OF_ONE_FILE = ['repeated_id', 'repeated_question'] as const;

export interface FaultExample extends Omit<Fault, 'kind'> {
  row: number | null;
  question_id: string | null;
}

export interface DoctorReport {
  /** The files that were read, and the dataset's version where it is known (known-faults P4). */
  inputs: FileEntry[];
  dataset_version: string | null;
  counts: {
    /** Records that could be read. */
    records: number;
    /** Those that carry supporting facts or a decomposition. */
    labelled: number;
    unique_ids: number;
    pages: number;
    sentences: number;
    supporting_facts: number;
    /** Questions of which at least one gold page is missing. */
    questions_without_gold_page: number;
  };
  /** Number of each kind of fault: every kind of RECORD_FAULTS, the file's own, and what the reader had to leave out. */
  faults: { [kind: string]: number };
  /** The first place of each fault. */
  examples: { [kind: string]: FaultExample };
  quarantined: { [reason: string]: number };
  warnings: string[];
  /** One entry a record, for a subset manifest; empty unless asked for. */
  subset: SubsetEntry[];
}

export interface DoctorOptions {
  /** Another split of the dataset: what both have in common is counted (known-faults P15). */
  against?: OpenedRecords | undefined;
  /** A subset manifest that the records should match (P13). */
  subset?: SubsetCheck | undefined;
  /** Collect the entries of a new subset manifest. */
  collectSubset?: boolean | undefined;
}

/**
 * Reads a file once and counts every kind of fault that method.md §3 and known-faults A name, with the first place of each. Throws only
 * what the reader throws: a file that cannot be used at all.
 */
export async function examine(opened: OpenedRecords, options: DoctorOptions = {}): Promise<DoctorReport> {
  const { against, subset, collectSubset = false } = options;
  const other = against && (await fingerprints(against.records));
  const faults: DoctorReport['faults'] = {};
  const examples: DoctorReport['examples'] = {};
  for (const kind of [...Object.keys(RECORD_FAULTS), ...FAULTS_OF_ONE_FILE]) faults[kind] = 0;
  const entries: SubsetEntry[] = [];
  const counts = {
    records: 0,
    labelled: 0,
    unique_ids: 0,
    pages: 0,
    sentences: 0,
    supporting_facts: 0,
    questions_without_gold_page: 0,
  };
  const count = (kind: string, example: FaultExample): void => {
    faults[kind] = (faults[kind] ?? 0) + 1;
    examples[kind] ??= example;
  };
  const ids = new Set<string>();
  const questions = new Map<number, string>();
  const met = emptyFingerprints();
  for await (const record of opened.records) {
    const place = { row: record.row, question_id: record.question_id };
    counts.records++;
    if (record.supporting.length > 0 || record.decomposition.length > 0) counts.labelled++;
    counts.pages += record.pages.length;
    for (const page of record.pages) counts.sentences += page.sentences.length;
    counts.supporting_facts += record.supporting.length;
    if (record.supporting.some((fact) => fact.page === null)) counts.questions_without_gold_page++;
    for (const { kind, field, detail } of recordFaults(record)) count(kind, { ...place, field, detail });

    if (ids.has(record.question_id)) count('repeated_id', { ...place, field: 'question_id', detail: record.question_id });
    ids.add(record.question_id);
    const question = textHash(normaliseSentence(record.question));
    const earlier = questions.get(question);
    if (earlier === undefined) questions.set(question, record.question_id);
    else if (earlier !== record.question_id)
      count('repeated_question', { ...place, field: 'question', detail: `also question ${JSON.stringify(earlier)}` });

    if (other) {
      for (const [kind, key, field, detail] of fingerprintsOf(record)) {
        if (met[kind].add(key) && other[kind].has(key)) count(kind, { ...place, field, detail });
      }
    }
    const difference = subset?.record(record);
    if (difference) count(difference, { ...place, field: 'question_id', detail: record.question_id });
    if (collectSubset) entries.push(subsetEntry(record));
  }
  counts.unique_ids = ids.size;
  for (const entry of opened.quarantine.entries)
    count(entry.reason, { row: entry.row, question_id: entry.question_id, field: entry.field ?? '', detail: entry.detail });
  if (subset) {
    faults.subset_changed ??= 0;
    faults.subset_extra ??= 0;
    faults.subset_missing = 0;
    for (const id of subset.missing()) count('subset_missing', { row: null, question_id: id, field: '', detail: id });
  }
  if (other) for (const kind of SHARED) faults[kind] ??= 0;
  const inputs = await Promise.all(opened.inputs.map(async (file) => ({ name: basename(file), ...(await hashFile(file)) })));
  return {
    inputs,
    dataset_version: opened.version,
    counts,
    faults,
    examples,
    quarantined: { ...opened.quarantine.skipped },
    warnings: warningsOf(counts, opened.dataset),
    subset: entries,
  };
}

function warningsOf(counts: DoctorReport['counts'], dataset: DatasetName): string[] {
  const warnings: string[] = [];
  if (counts.labelled === 0) warnings.push('no record has supporting facts: a test split? It gives no gold claims and no label rows');
  const without = counts.questions_without_gold_page;
  if (looksLikeFullwiki(without, counts.labelled)) warnings.push(fullwikiWarning(without, counts.labelled, dataset));
  return warnings;
}

/** In HotpotQA's fullwiki split about 40% of the gold pages are missing, in the distractor split none. */
export function looksLikeFullwiki(withoutGoldPage: number, questions: number): boolean {
  return withoutGoldPage > 0 && withoutGoldPage >= questions / 10;
}

export function fullwikiWarning(withoutGoldPage: number, questions: number, dataset: DatasetName): string {
  return `${withoutGoldPage} of ${questions} questions lack a gold page in their pool${fullwikiQuestion(dataset)}`;
}

/** MuSiQue has no fullwiki split: a step that names no paragraph is the file's own. */
export function fullwikiQuestion(dataset: DatasetName): string {
  return dataset === 'musique' ? ' (a step of the decomposition names no paragraph)' : ': is this the fullwiki split?';
}

const SHARED = ['shared_id', 'shared_question', 'shared_gold_title', 'shared_gold_sentence', 'shared_ngram'] as const;
type Fingerprints = { [kind in (typeof SHARED)[number]]: HashSet };

function emptyFingerprints(): Fingerprints {
  return {
    shared_id: makeHashSet(),
    shared_question: makeHashSet(),
    shared_gold_title: makeHashSet(),
    shared_gold_sentence: makeHashSet(),
    shared_ngram: makeHashSet(),
  };
}

async function fingerprints(records: AsyncIterable<HopRecord>): Promise<Fingerprints> {
  const all = emptyFingerprints();
  for await (const record of records) for (const [kind, key] of fingerprintsOf(record)) all[kind].add(key);
  return all;
}

function fingerprintsOf(record: HopRecord): [kind: keyof Fingerprints, key: number, field: string, detail: string][] {
  const all: [keyof Fingerprints, number, string, string][] = [
    ['shared_id', textHash(record.question_id), 'question_id', record.question_id],
    ['shared_question', textHash(normaliseSentence(record.question)), 'question', record.question],
  ];
  for (const hop of goldHops(record).hops) {
    all.push(['shared_gold_title', textHash(normaliseTitle(hop.title)), `pages[${hop.page}].title`, hop.title]);
    for (const { page, sentence } of hop.gold) {
      const text = record.pages[page]?.sentences[sentence] ?? '';
      const [normal, field] = [normaliseSentence(text), `pages[${page}].sentences[${sentence}]`];
      all.push(['shared_gold_sentence', textHash(normal), field, text.trim()]);
      eachNgram(normal, NGRAM_WORDS, (ngram) => all.push(['shared_ngram', ngram, field, text.trim()]));
    }
  }
  return all;
}

import { BadRecord } from '../readers/fields.js';
import { shown } from '../../src/core/errors.js';
import { blockDocuments } from './documents.js';
import { type ReadTrajectory, type TrajectoryReader, readHead, readTranscript } from './trajectory.js';

/** The marks of a transcript: each pair opens and closes. */
interface Marks {
  query: readonly [string, string];
  documents: readonly [string, string];
  answer: readonly [string, string];
}

export type MarkedFormat = 'r1-searcher' | 'search-r1';

const MARKS: { readonly [format in MarkedFormat]: Marks } = {
  /** `gen_text_store` of its published files. */
  'r1-searcher': {
    query: ['<|begin_of_query|>', '<|end_of_query|>'],
    documents: ['<|begin_of_documents|>', '<|end_of_documents|>'],
    answer: ['<answer>', '</answer>'],
  },
  'search-r1': {
    query: ['<search>', '</search>'],
    documents: ['<information>', '</information>'],
    answer: ['<answer>', '</answer>'],
  },
};

/**
 * The reader of transcripts with marked queries and documents. A query and the block of documents behind it are one loop; a block may be
 * empty. A query without a block was never answered: it is passed over and listed. Between the marks of documents everything is text but a
 * second opening mark. Marks that do not fit (nested, closed before they were opened, documents without a query or without an end) leave no
 * honest reading, so the record is left out.
 */
export function markedReader(format: MarkedFormat, field?: string): TrajectoryReader {
  return (value) => {
    const head = readHead(value);
    const { text, field: found } = readTranscript(value, field, head.question);
    const otherFormat = formatInstead(text, format);
    return { ...head, ...readMarked(text, found, MARKS[format]), transcript: text, ...(otherFormat && { otherFormat }) };
  };
}

/** The format that a transcript's searches are marked by where this one's are not in it; the answer's mark is the same in both. */
function formatInstead(text: string, format: MarkedFormat): MarkedFormat | undefined {
  const searches = ({ query, documents }: Marks): boolean => text.includes(query[0]) && text.includes(documents[0]);
  const { query, documents } = MARKS[format];
  if (text.includes(query[0]) || text.includes(documents[0])) return undefined;
  return (Object.keys(MARKS) as MarkedFormat[]).find((other) => other !== format && searches(MARKS[other]));
}

type Marked = Pick<ReadTrajectory, 'loops' | 'answer' | 'stop' | 'recognised' | 'repairs'>;

function readMarked(text: string, field: string, { query, documents, answer }: Marks): Marked {
  const read: Marked = { loops: [], answer: null, stop: 'cut_off', recognised: false, repairs: [] };
  const bad = (detail: string): BadRecord => new BadRecord('bad_marks', detail, field);
  const repair = (reason: string, detail: string): unknown => read.repairs.push({ reason, detail, field });
  let open: { pair: readonly [string, string]; from: number } | undefined;
  let asked: string | undefined;
  for (const { mark, at } of marksIn(text, [...query, ...documents, ...answer])) {
    read.recognised = true;
    const from = at + mark.length;
    if (open?.pair === documents) {
      if (mark === documents[0]) throw bad(`${mark} stands inside ${mark}`);
      if (mark !== documents[1]) continue;
      read.loops.push({ query: asked as string, subAnswer: null, documents: documentsOf(text.slice(open.from, at), repair) });
      [open, asked] = [undefined, undefined];
      continue;
    }
    const pair = [query, documents, answer].find((one) => one.includes(mark)) as readonly [string, string];
    if (pair === answer) {
      // The last pair counts: a model may name the mark while it thinks.
      if (open?.pair === query) throw bad(`${mark} stands inside ${query[0]}`);
      if (mark === answer[0]) open = { pair, from };
      else if (open) [read.answer, open] = [text.slice(open.from, at).trim(), undefined];
      continue;
    }
    if (open?.pair === answer) open = undefined;
    if (mark === pair[1]) {
      if (open?.pair !== pair) throw bad(`${mark} without ${pair[0]}`);
      // Only a query closes here.
      asked = text.slice(open.from, at).trim();
      open = undefined;
      continue;
    }
    if (open) throw bad(`${mark} stands inside ${open.pair[0]}`);
    if (pair === documents && asked === undefined) throw bad(`${mark} without a query before it`);
    if (pair === query && asked !== undefined) repair('query_without_documents', `query ${shown(asked, 60)} has no documents`);
    if (pair === query) read.answer = null;
    open = { pair, from };
  }
  if (open?.pair === documents) throw bad(`${documents[0]} without ${documents[1]}`);
  if (open?.pair === query) repair('query_cut_off', `the transcript ends inside ${query[0]}`);
  if (asked !== undefined) repair('query_without_documents', `query ${shown(asked, 60)} has no documents`);
  if (read.answer !== null) read.stop = 'answered';
  return read;
}

function documentsOf(block: string, repair: (reason: string, detail: string) => unknown): ReadTrajectory['loops'][number]['documents'] {
  const documents = blockDocuments(block);
  if (documents) return documents;
  repair('unknown_documents', `${shown(block.trim(), 60)} is in no known layout and taken as one document without a title`);
  return [{ title: '', text: block.trim(), score: 0 }];
}

function* marksIn(text: string, marks: readonly string[]): Generator<{ mark: string; at: number }> {
  const pattern = new RegExp(marks.map((mark) => mark.replace(/[\\^$+.()|[\]{}]/g, '\\$&')).join('|'), 'g');
  for (const match of text.matchAll(pattern)) yield { mark: match[0], at: match.index };
}

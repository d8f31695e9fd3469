import { z } from 'zod';
import { resolveSupporting } from '../supporting.js';
import { type Reader, type ReadRecord, idField, listOfObjects, optionalText, parseField } from './fields.js';

/**
 * HotpotQA and 2WikiMultihopQA, which share one form. Official: `context` is a list of `[title, [sentence, …]]`, `supporting_facts` of
 * `[title, sentence index]`, 2Wiki's `evidences` of `[subject, relation, object]`. On the hub the same stand as objects of lists:
 * `context: {title, sentences}` (2Wiki also `content`), `supporting_facts: {title, sent_id}`, `evidences: {fact, relation, entity}`;
 * lists of such objects are read as well. Test splits have no answer, facts and evidences.
 */
export function hotpotqaReader(dataset: 'hotpotqa' | '2wiki'): Reader {
  return (value): ReadRecord => {
    const head = parseField(headSchema, value);
    const pages = readPages(head.context);
    const facts = readFacts(head.supporting_facts);
    return {
      id: head._id ?? head.id,
      ownRow: undefined,
      repairs: [],
      dataset,
      question: head.question,
      answer: head.answer,
      aliases: [],
      type: head.type,
      level: head.level,
      pages,
      supporting: resolveSupporting(pages, facts),
      decomposition: [],
      evidences: dataset === '2wiki' ? readEvidences(head.evidences) : [],
    };
  };
}

const headSchema = z.object({
  _id: idField,
  id: idField,
  question: z.string(),
  answer: optionalText,
  type: optionalText,
  level: optionalText,
  context: z.unknown().optional(),
  supporting_facts: z.unknown().optional(),
  evidences: z.unknown().optional(),
});

const pagePairs = z.array(z.tuple([z.string(), z.array(z.string())]));
const pageObjects = z.array(z.object({ title: z.string(), sentences: z.array(z.string()) }));
const pageContents = z.array(z.object({ title: z.string(), content: z.array(z.string()) }));

function readPages(context: unknown): ReadRecord['pages'] {
  const list = listOfObjects(decoded(context) ?? [], 'context');
  const first: unknown = Array.isArray(list) ? list[0] : undefined;
  if (!isObject(first)) return parseField(pagePairs, list, 'context').map(([title, sentences]) => ({ title, sentences }));
  if ('content' in first) return parseField(pageContents, list, 'context').map(({ title, content }) => ({ title, sentences: content }));
  return parseField(pageObjects, list, 'context');
}

const LARGEST = 2 ** 31 - 1;
/** An index beyond what a table's column holds names no sentence whatever its value: it is kept as the largest, so that the fact dangles alone. */
const sentenceIndex = z
  .number()
  .refine((value) => Number.isInteger(value), 'expected a whole number')
  .transform((value) => Math.max(-LARGEST, Math.min(LARGEST, value)));
const factPairs = z.array(z.tuple([z.string(), sentenceIndex]));
const factObjects = z.array(z.object({ title: z.string(), sent_id: sentenceIndex }));

function readFacts(facts: unknown): { title: string; sentence: number }[] {
  const list = listOfObjects(decoded(facts) ?? [], 'supporting_facts');
  if (Array.isArray(list) && isObject(list[0]))
    return parseField(factObjects, list, 'supporting_facts').map(({ title, sent_id }) => ({ title, sentence: sent_id }));
  return parseField(factPairs, list, 'supporting_facts').map(([title, sentence]) => ({ title, sentence }));
}

const triples = z.array(z.tuple([z.string(), z.string(), z.string()]));
const tripleObjects = z.array(z.object({ fact: z.string(), relation: z.string(), entity: z.string() }));

function readEvidences(evidences: unknown): ReadRecord['evidences'] {
  const list = listOfObjects(decoded(evidences) ?? [], 'evidences');
  if (Array.isArray(list) && isObject(list[0]))
    return parseField(tripleObjects, list, 'evidences').map(({ fact, relation, entity }) => ({ subject: fact, relation, object: entity }));
  return parseField(triples, list, 'evidences').map(([subject, relation, object]) => ({ subject, relation, object }));
}

/** Some copies on the hub store these columns as JSON text. */
function decoded(value: unknown): unknown {
  if (typeof value !== 'string') return value;
  try {
    return JSON.parse(value) as unknown;
  } catch {
    return value;
  }
}

function isObject(value: unknown): value is object {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}

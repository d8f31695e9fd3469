import { z } from 'zod';
import { type ReadRecord, idField, optionalText, parseField } from './fields.js';

/** Bamboogle: questions and answers alone, without pages; `Question`, and `answer` as one text or a list of accepted ones. */
export function readBamboogle(value: unknown): ReadRecord {
  const head = parseField(schema, value);
  const answers = [head.answer ?? head.Answer ?? head.golden_answers ?? []].flat();
  return {
    id: head.id ?? head._id,
    ownRow: undefined,
    repairs: [],
    dataset: 'bamboogle',
    question: parseField(z.string(), head.Question ?? head.question, 'Question'),
    answer: answers[0] ?? null,
    aliases: answers.slice(1),
    type: head.type,
    level: null,
    pages: [],
    supporting: [],
    decomposition: [],
    evidences: [],
  };
}

const answers = z.union([z.string(), z.array(z.string())], { error: 'expected text or a list of texts' }).nullish();

const schema = z.object({
  id: idField,
  _id: idField,
  Question: optionalText,
  question: optionalText,
  answer: answers,
  Answer: answers,
  golden_answers: answers,
  type: optionalText,
});

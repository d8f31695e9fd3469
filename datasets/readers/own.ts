import { z } from 'zod';
import { resolveSupporting } from '../supporting.js';
import { BadRecord, type ReadRecord, idField, optionalText, parseField } from './fields.js';

/**
 * Our own records as JSON lines (`recordColumns`). Only `question` has to be there, and `question_id` unless ids are made; a field that
 * is not one of ours is refused. A supporting fact names its page by `page` (position), or by `title` alone, which is then looked up.
 */
export function readOwn(value: unknown): ReadRecord {
  const head = parseField(schema, value);
  const supporting = head.supporting.map((fact, at): ReadRecord['supporting'][number] => {
    if (fact.page === undefined) {
      if (fact.title === undefined) throw new BadRecord('bad_field', 'got neither page nor title', `supporting[${at}]`);
      return resolveSupporting(head.pages, [{ title: fact.title, sentence: fact.sentence }])[0] as ReadRecord['supporting'][number];
    }
    const page = fact.page === null ? undefined : head.pages[fact.page];
    if (fact.page !== null && !page)
      throw new BadRecord('bad_field', `got ${fact.page}, expected a page below ${head.pages.length}`, `supporting[${at}].page`);
    return { title: fact.title ?? page?.title ?? '', page: fact.page, sentence: fact.sentence };
  });
  for (const [at, { page }] of head.decomposition.entries()) {
    if (page !== null && !head.pages[page])
      throw new BadRecord('bad_field', `got ${page}, expected a page below ${head.pages.length}`, `decomposition[${at}].page`);
  }
  const { question_id, row, ...rest } = head;
  return { id: question_id, ownRow: row, repairs: [], ...rest, supporting };
}

const schema = z.strictObject({
  question_id: idField,
  row: z.int32().nonnegative().optional(),
  dataset: z.string().default('jsonl'),
  question: z.string(),
  answer: optionalText,
  aliases: z.array(z.string()).default([]),
  type: optionalText,
  level: optionalText,
  pages: z.array(z.strictObject({ title: z.string(), sentences: z.array(z.string()) })).default([]),
  supporting: z
    .array(z.strictObject({ title: z.string().optional(), page: z.int32().nonnegative().nullish(), sentence: z.int32() }))
    .default([]),
  decomposition: z
    .array(
      z.strictObject({
        question: z.string(),
        answer: z.string().default(''),
        page: z
          .int32()
          .nonnegative()
          .nullish()
          .transform((page) => page ?? null),
      }),
    )
    .default([]),
  evidences: z.array(z.strictObject({ subject: z.string(), relation: z.string(), object: z.string() })).default([]),
});

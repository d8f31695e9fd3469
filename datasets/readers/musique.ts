import { z } from 'zod';
import { splitSentences } from '../../src/core/sentences.js';
import { type ReadRecord, idField, listOfObjects, optionalText, parseField } from './fields.js';

/**
 * MuSiQue: `paragraphs` of `{idx, title, paragraph_text, is_supporting}` and `question_decomposition` of `{id, question, answer,
 * paragraph_support_idx}`; on the hub also as objects of lists. A step's paragraph is the one whose `idx` is its `paragraph_support_idx`
 * (the step's `id` is the id of a source question and names no paragraph; titles repeat and are never a key). Test splits have no answer
 * and no decomposition.
 */
export function readMusique(value: unknown): ReadRecord {
  const head = parseField(headSchema, value);
  const paragraphs = parseField(paragraphsSchema, listOfObjects(head.paragraphs ?? [], 'paragraphs'), 'paragraphs');
  const steps = parseField(
    stepsSchema,
    listOfObjects(head.question_decomposition ?? [], 'question_decomposition'),
    'question_decomposition',
  );
  const byIdx = new Map<number, number>();
  const repairs: ReadRecord['repairs'] = [];
  for (const [page, { idx }] of paragraphs.entries()) {
    const key = idx ?? page;
    if (byIdx.has(key))
      repairs.push({
        reason: 'repeated_paragraph',
        detail: `idx ${key} stands twice, the first is meant`,
        field: `paragraphs[${page}].idx`,
      });
    else byIdx.set(key, page);
  }
  const decomposition = steps.map((step, at) => {
    const idx = step.paragraph_support_idx;
    const page = idx === null ? null : (byIdx.get(idx) ?? null);
    if (idx !== null && page === null)
      repairs.push({
        reason: 'unknown_paragraph',
        detail: `no paragraph has idx ${idx}`,
        field: `question_decomposition[${at}].paragraph_support_idx`,
      });
    return { question: step.question, answer: step.answer, page };
  });
  return {
    id: head.id ?? head._id,
    ownRow: undefined,
    repairs,
    dataset: 'musique',
    question: head.question,
    answer: head.answer,
    aliases: head.answer_aliases ?? [],
    type: hopType(head.id),
    level: null,
    pages: paragraphs.map(({ title, paragraph_text }) => ({ title, sentences: splitSentences(paragraph_text) })),
    supporting: [],
    decomposition,
    evidences: [],
  };
}

const headSchema = z.object({
  id: idField,
  _id: idField,
  question: z.string(),
  answer: optionalText,
  answer_aliases: z.array(z.string()).nullish(),
  paragraphs: z.unknown().optional(),
  question_decomposition: z.unknown().optional(),
});

const paragraphsSchema = z.array(z.object({ idx: z.int32().nullish(), title: z.string(), paragraph_text: z.string() }));

const stepsSchema = z.array(
  z.object({
    question: z.string(),
    answer: z
      .string()
      .nullish()
      .transform((answer) => answer ?? ''),
    paragraph_support_idx: z
      .int32()
      .nullish()
      .transform((idx) => idx ?? null),
  }),
);

/** MuSiQue's ids begin with the shape of the question: `2hop`, `3hop1`, `4hop3`. */
function hopType(id: string | undefined): string | null {
  return /^(\dhop\d?)__/.exec(id ?? '')?.[1] ?? null;
}

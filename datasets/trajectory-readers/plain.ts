import { z } from 'zod';
import { STOP_REASONS } from '../../src/core/trajectories.js';
import { optionalText, parseField } from '../readers/fields.js';
import { type TrajectoryReader, readHead } from './trajectory.js';

const document = z.union(
  [
    z.object({ title: z.string().default(''), sentences: z.array(z.string()), score: z.number().nullish() }),
    z.object({ title: z.string().default(''), text: z.string(), score: z.number().nullish() }),
  ],
  { error: 'expected a document {title, text} or {title, sentences[]}' },
);

const body = z.object({
  loops: z.array(z.object({ query: z.string(), sub_answer: optionalText, documents: z.array(document).default([]) })),
  prediction: optionalText,
  transcript: optionalText,
  stop_reason: z.enum(STOP_REASONS).nullish(),
});

/** The reader of plain JSON lines, the product's own form of trajectories made elsewhere (FORMATS.md). Other fields are passed over. */
export const readPlain: TrajectoryReader = (value) => {
  const head = readHead(value);
  const { loops, prediction, transcript, stop_reason: stop } = parseField(body, value);
  return {
    ...head,
    loops: loops.map(({ query, sub_answer: subAnswer, documents }) => ({
      query,
      subAnswer,
      documents: documents.map((one) => ({ ...one, score: one.score ?? 0 })),
    })),
    answer: prediction,
    transcript: transcript ?? '',
    stop: stop ?? (prediction === null ? 'unknown' : 'answered'),
    recognised: true,
    repairs: [],
  };
};

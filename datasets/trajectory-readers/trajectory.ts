import { z } from 'zod';
import type { STOP_REASONS } from '../../src/core/trajectories.js';
import { BadRecord, idField, optionalText, parseField } from '../readers/fields.js';

/** A document as a trajectory's file has it: text that has yet to be split, or sentences that the file ships. */
export type ReadDocument = { title: string; score: number } & ({ text: string } | { sentences: string[] });

/** What a reader makes of one trajectory of a file. */
export interface ReadTrajectory {
  id: string | undefined;
  /** Undefined where the file names the question by its id alone. */
  question: string | undefined;
  /** Gold answers as the file has them, the first one first. */
  answers: string[];
  loops: { query: string; subAnswer: string | null; documents: ReadDocument[] }[];
  /** The agent's own answer; null where it gave none. */
  answer: string | null;
  /** All that the agent wrote and was given; '' where the file does not keep it. */
  transcript: string;
  /** How it ended. */
  stop: (typeof STOP_REASONS)[number];
  /** Whether anything of the format was recognised: a file without any was written in another one. */
  recognised: boolean;
  /** The format that the transcript's searches are in instead. */
  otherFormat?: string;
  /** Something that was passed over: reason, detail, field. */
  repairs: { reason: string; detail: string; field: string }[];
}

/** From one decoded record of a file. Throws BadRecord that names the field. */
export type TrajectoryReader = (value: unknown) => ReadTrajectory;

const answers = z.union([z.string(), z.array(z.string())], { error: 'expected text or a list of texts' }).nullish();

const head = z.object({
  question_id: idField,
  id: idField,
  _id: idField,
  question: optionalText,
  answer: answers,
  aliases: z.array(z.string()).nullish(),
  golden_answers: answers,
});

/** The fields that every format may have: id, question, gold answers. */
export function readHead(value: unknown): Pick<ReadTrajectory, 'id' | 'question' | 'answers'> {
  const fields = parseField(head, value);
  const id = fields.question_id ?? fields.id ?? fields._id;
  const question = fields.question ?? undefined;
  if (question !== undefined && question.trim() === '') throw new BadRecord('no_question', 'the question is empty', 'question');
  if (question === undefined && id === undefined) throw new BadRecord('bad_field', 'got neither question nor id', 'question');
  const given = [fields.golden_answers ?? fields.answer ?? [], fields.aliases ?? []].flat();
  return { id, question, answers: given.filter((one, at) => given.indexOf(one) === at) };
}

/** Fields under which published files keep a transcript. */
export const TRANSCRIPT_FIELDS = ['gen_text_store', 'transcript', 'trajectory', 'response', 'output', 'text'] as const;

/** The transcript of a record, under `name` or the first of the known names that it has; its prompt, where it stands in front, is left out. */
export function readTranscript(value: unknown, name: string | undefined, question: string | undefined): { text: string; field: string } {
  const record = value as { [field: string]: unknown };
  const field = name ?? TRANSCRIPT_FIELDS.find((one) => typeof record[one] === 'string');
  if (field === undefined) throw new BadRecord('bad_field', `got no transcript, expected it in one of ${TRANSCRIPT_FIELDS.join(', ')}`);
  return { text: behindPrompt(parseField(z.string(), record[field], field).replaceAll('\r\n', '\n'), question), field };
}

/** A prompt explains the marks by examples, which are no searches. */
function behindPrompt(text: string, question: string | undefined): string {
  const chat = text.indexOf(ASSISTANT);
  if (chat >= 0) return text.slice(chat + ASSISTANT.length);
  for (const lead of question === undefined ? [] : ['Question: ', 'Question:', 'User:']) {
    const asked = text.indexOf(`${lead}${question as string}`);
    if (asked >= 0) return text.slice(asked + lead.length + (question as string).length);
  }
  return text;
}

const ASSISTANT = '<|im_start|>assistant';

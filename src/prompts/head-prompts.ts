import { canonicalJson, sha256 } from '../core/hash.js';
import type { ChatContents } from './chat-encoder.js';
import { promptLine } from './verifier-prompt.js';

/** What the two-way heads read (method.md §8): the question, what has been found so far, and where the agent stands. */
export interface HeadFields {
  question: string;
  /** Sentences found so far, in the order of their loops. */
  evidence: readonly string[];
  /** From 1. V-StopRAG. */
  loop?: number | undefined;
  /** Of this loop. V-SIMRAG. */
  sub_question?: string | undefined;
  /** Of this loop. V-SIMRAG. */
  answer?: string | undefined;
}

const SYSTEMS = {
  stoprag: 'Judge whether more retrieval would still improve the answer to the question.',
  simrag: 'Judge whether question, evidence and intermediate answer suffice to answer the question.',
} as const;
export type HeadTask = keyof typeof SYSTEMS;

/** Names of the lines, in their order. The evidence is last: it is what is cut. */
const LINES = {
  stoprag: ['Question', 'Loop', 'Evidence'],
  simrag: ['Question', 'Current sub-question', 'Intermediate answer', 'Evidence'],
} as const;

/** The evidence of a head's prompt as the one text that may be cut at its end. */
export function headEvidence({ evidence }: HeadFields): string {
  return evidence.join(' ');
}

/** System message and user turn of a head, with this much of its evidence. */
export function headContents(task: HeadTask, fields: HeadFields, evidence: string): ChatContents {
  const values: { [name: string]: string } = {
    Question: fields.question,
    Loop: String(fields.loop ?? ''),
    'Current sub-question': fields.sub_question ?? '',
    'Intermediate answer': fields.answer ?? '',
    Evidence: evidence,
  };
  return { system: SYSTEMS[task], user: LINES[task].map((name) => promptLine(name, values[name] as string)).join('\n') };
}

/** A head's prompt of a text that is laid out already. */
export function headText(task: HeadTask, text: string): ChatContents {
  return { system: SYSTEMS[task], user: text.toWellFormed().trim() };
}

/** sha256 of a head's system message and the layout of its user turn. */
export function headPromptSha256(task: HeadTask): string {
  return sha256(canonicalJson({ system: SYSTEMS[task], lines: LINES[task] }));
}

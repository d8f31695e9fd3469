import { canonicalJson, sha256 } from '../core/hash.js';
import type { ChatContents } from './chat-encoder.js';
import { spoken } from './spoken.js';
import { type CountTokens, TEMPLATE_TOKENS, cutToFit } from './token-count.js';
import { promptLine } from './verifier-prompt.js';

/** New tokens, and tokens of the prompt (method.md §9). */
export const EXTRACTION_TOKENS = 48;
export const EXTRACTION_INPUT_TOKENS = 4000;

const SYSTEM =
  'Answer the question from the evidence. Reply with the bare answer and nothing else: a name, a date, a number, a short phrase, or yes or no; no sentence and no explanation.';
const CUE = 'Answer:';
const NOTHING = '(nothing was found)';

/** System message and user turn of the standard extractor: evidence, question and answer cue, in this order. */
export function extractionContents(question: string, evidence: string): ChatContents {
  return { system: SYSTEM, user: `Evidence:\n${evidence === '' ? NOTHING : evidence}\n\n${promptLine('Question', question)}\n${CUE}` };
}

/** sha256 of the system message and the layout of the user turn. */
export function extractionPromptSha256(): string {
  return sha256(canonicalJson({ system: SYSTEM, user: extractionContents('{question}', '{evidence}').user, nothing: NOTHING }));
}

export interface FittedExtraction {
  contents: ChatContents;
  /** The end of the evidence was cut off. */
  cut: boolean;
}

/** The extractor's prompt within `limit` tokens: only the evidence is cut, at its end, between words. */
export async function fittedExtraction(
  question: string,
  evidence: string,
  { limit = EXTRACTION_INPUT_TOKENS, count }: { limit?: number | undefined; count: CountTokens },
): Promise<FittedExtraction> {
  const fitted = await cutToFit(evidence, limit, async (some) => {
    const { system, user } = extractionContents(question, some);
    return (await count(system)) + (await count(user)) + TEMPLATE_TOKENS;
  });
  return { contents: extractionContents(question, fitted), cut: fitted.length < evidence.length };
}

/** The answer in a reply, thoughts left out: its first line that is not empty, without an answer cue that is written again. */
export function answerOf(reply: string): string {
  const line =
    spoken(reply)
      .split('\n')
      .map((one) => one.trim())
      .find((one) => one !== '' && !/^(?:final )?answer\s*:$/i.test(one)) ?? '';
  return line.replace(/^(?:final )?answer\s*:\s*/i, '');
}

import { canonicalJson, sha256 } from '../core/hash.js';
import type { ChatContents } from './chat-encoder.js';
import { promptLine } from './verifier-prompt.js';

const CONCLUSION = 'So the answer is';
const SYSTEM = [
  'Answer the question in short, plain sentences, reasoning one step a sentence. Each time, write only the next sentence of your text.',
  `When the text has all that is needed, its last sentence is: ${CONCLUSION} …, with the answer in a few words.`,
].join('\n');
const NEXT = 'Next sentence:';

/** Asks for the next sentence of an answer (method.md §9, FLARE), with the sentences that were found for it, if any. */
export function flareSentence(
  question: string,
  written: readonly string[],
  found: readonly { title: string; text: string }[],
): ChatContents {
  return {
    system: SYSTEM,
    user: [
      ...found.map(({ title, text }) => promptLine(`[${title.trim()}]`, text)),
      promptLine('Question', question),
      promptLine('Text so far', written.length > 0 ? written.join(' ') : '(nothing yet)'),
      NEXT,
    ].join('\n'),
  };
}

/** The answer that a sentence concludes with; undefined where it concludes nothing, or says that there is no answer yet. */
export function flareConclusion(sentence: string): string | undefined {
  const said = /\banswer(?:\s+to\s+the\s+question)?\s+is\b\s*[:：]?(.*)$/isu.exec(sentence);
  if (!said) return undefined;
  const answer = (said[1] as string).trim().replace(/^["'“”*`_\s]+|["'“”*`_\s.]+$/gu, '');
  return !/[\p{L}\p{N}]/u.test(answer) || NOT_KNOWN.test(answer) ? undefined : answer;
}

/** What is said in place of an answer, in small letters behind its first word: titles like Not Fade Away and Unknown Pleasures are answers. */
const NOT_KNOWN =
  /^(?:(?:[Ss]till|[Yy]et|[Cc]urrently) )?(?:[Nn]ot (?:yet |currently |explicitly |directly )*(?:known|clear|given|stated|said|mentioned|found|available|provided|specified|certain|determined|possible|here|in the|enough)\b|(?:[Uu]nknown|[Uu]nclear|[Uu]ncertain|[Uu]navailable|[Uu]nspecified)(?:$|[^\p{L} ]| [\p{Ll}(]))/u;

/** sha256 of everything that is written around a question, its text and what was found. */
export function flareSha256(): string {
  return sha256(canonicalJson({ SYSTEM, NEXT, lines: ['[title]', 'Question', 'Text so far', '(nothing yet)'] }));
}

import { canonicalJson, sha256 } from '../core/hash.js';
import type { ChatContents } from './chat-encoder.js';
import { NO_ANSWER } from './self-ask-prompt.js';
import { type CountTokens, TEMPLATE_TOKENS, cutToFit } from './token-count.js';
import { promptLine } from './verifier-prompt.js';

/** What a prompt judge knows after some loops: no claim, no gold label. */
export interface JudgedState {
  question: string;
  /** Sub-questions so far with what was answered, or with the sentences that were found. */
  steps: readonly { query: string; answer: string | null; sentences: readonly { title: string; text: string }[] }[];
}

/** What stands for the evidence: sub-answers of the agent, or the retrieved sentences where it gives none. */
export const JUDGE_READS = ['sub_answers', 'sentences'] as const;
export type JudgeReads = (typeof JUDGE_READS)[number];

const SYSTEM = [
  'Judge whether what has been found so far is enough to answer the question with certainty.',
  'Reply with one word. yes: it is enough, and nothing more has to be looked up. no: something is still missing.',
].join('\n');
const NOTHING = '(nothing has been looked up yet)';
const ASK = 'Is this enough to answer the question? yes or no:';
const NAMES = { subQuestion: 'Sub-question', subAnswer: 'Sub-answer', query: 'Looked up', question: 'Question' } as const;

/** The two sides of a verdict, in lower case: which word fires is said here alone. */
export const JUDGE_WORDS = { fires: 'yes', goesOn: 'no' } as const;

/** Tokens of a prompt: as many as the extractor's, so that both see the same of a long run, within a context of 4,096. */
export const JUDGE_INPUT_TOKENS = 4000;

/** System message and user turn of the zero-shot judge (method.md §8). */
export function judgeContents(state: JudgedState, reads: JudgeReads): ChatContents {
  return contentsOf(state.question, foundIn(state, reads));
}

export interface FittedJudgement {
  contents: ChatContents;
  /** The end of what was found was cut off. */
  cut: boolean;
}

/** The judge's prompt within `limit` tokens: only what was found is cut, at its end, between words. */
export async function fittedJudge(
  state: JudgedState,
  reads: JudgeReads,
  { limit = JUDGE_INPUT_TOKENS, count }: { limit?: number | undefined; count: CountTokens },
): Promise<FittedJudgement> {
  const found = foundIn(state, reads);
  const fitted = await cutToFit(found, limit, async (some) => {
    const { system, user } = contentsOf(state.question, some);
    return (await count(system)) + (await count(user)) + TEMPLATE_TOKENS;
  });
  return { contents: contentsOf(state.question, fitted), cut: fitted.length < found.length };
}

function contentsOf(question: string, found: string): ChatContents {
  return { system: SYSTEM, user: [promptLine(NAMES.question, question), found === '' ? NOTHING : found, ASK].join('\n') };
}

function foundIn({ steps }: JudgedState, reads: JudgeReads): string {
  const lines =
    reads === 'sub_answers'
      ? steps.flatMap(({ query, answer }) => [promptLine(NAMES.subQuestion, query), promptLine(NAMES.subAnswer, answer ?? NO_ANSWER)])
      : steps.flatMap(({ query, sentences }) => [
          promptLine(NAMES.query, query),
          ...sentences.map(({ title, text }) => promptLine(`[${title.trim()}]`, text)),
        ]);
  return lines.join('\n');
}

/** States of which the first is obviously sufficient and the second obviously not: a judge has to put them in this order (known fault P23). */
export function judgeCanaries(): { sufficient: JudgedState; empty: JudgedState }[] {
  const canaries = [
    ['In which city was the painter of The Red Mill born?', 'Who painted The Red Mill?', 'Ada Holm', 'Where was Ada Holm born?', 'Lindau'],
    [
      'Which river flows through the town where Tom Berg died?',
      'Where did Tom Berg die?',
      'Arlen',
      'Which river flows through Arlen?',
      'the Osse',
    ],
    [
      'How old was the director of Night Ferry at its release?',
      'Who directed Night Ferry?',
      'Jan Roth, born in 1950',
      'When was Night Ferry released?',
      '1990',
    ],
    [
      'What is the capital of the country that Mona Ray comes from?',
      'Which country is Mona Ray from?',
      'Norway',
      'What is the capital of Norway?',
      'Oslo',
    ],
  ] as const;
  return canaries.map(([question, first, firstAnswer, second, secondAnswer]) => ({
    sufficient: {
      question,
      steps: [
        { query: first, answer: firstAnswer, sentences: [{ title: first, text: `${firstAnswer}.` }] },
        { query: second, answer: secondAnswer, sentences: [{ title: second, text: `${secondAnswer}.` }] },
      ],
    },
    empty: { question, steps: [] },
  }));
}

/** sha256 of everything that is written around a question and what was found, and of the words that are counted. */
export function judgePromptSha256(): string {
  return sha256(canonicalJson({ SYSTEM, NOTHING, ASK, NAMES, NO_ANSWER, JUDGE_WORDS }));
}

import { canonicalJson, sha256 } from '../core/hash.js';
import type { ChatContents } from './chat-encoder.js';
import { spoken } from './spoken.js';
import { promptLine } from './verifier-prompt.js';

/** A follow-up question of an agent, and what was found for it; null where nothing was. */
export interface AnsweredQuestion {
  question: string;
  answer: string | null;
}

/** What the model is asked to write, and what its lines begin with. */
const MARKS = { followUp: 'Follow up', intermediate: 'Intermediate answer', final: 'So the final answer is' } as const;

/** Stands for an intermediate answer that there is none of, and is what the model says where the sentences have none. */
export const NO_ANSWER = 'not found';

const STEP = [
  'You find the answer to a question by asking simpler questions, one at a time. Each one that you write is looked up for you, and its intermediate answer comes back.',
  `Write exactly one line: the next simple question, which begins with "${MARKS.followUp}:", or, when the intermediate answers are enough, the answer in a few words, which begins with "${MARKS.final}:".`,
].join(' ');

interface Example {
  question: string;
  pairs: readonly AnsweredQuestion[];
  answer: string;
}

/** Two exchanges on names that do not exist, so that no answer of a dataset is given away: question, what was found out, answer. */
const EXAMPLES: readonly Example[] = [
  {
    question: 'In which country is the river on which the town of Brell lies the longest?',
    pairs: [
      { question: 'On which river does the town of Brell lie?', answer: 'the Osse' },
      { question: 'Which country has the longest part of the river Osse?', answer: 'Norvia' },
    ],
    answer: 'Norvia',
  },
  {
    question: 'Who is older, the founder of Lunet Press or Ada Mirell?',
    pairs: [
      { question: 'Who founded Lunet Press?', answer: 'Jon Aske' },
      { question: 'When was Jon Aske born?', answer: '1901' },
      { question: 'When was Ada Mirell born?', answer: '1888' },
    ],
    answer: 'Ada Mirell',
  },
];

const GO_ON = `That is not enough to be sure. Write one more simple question, as a line that begins with "${MARKS.followUp}:", and no answer yet.`;
const CONCLUDE = `Nothing more can be looked up. Write the answer in a few words, as one line that begins with "${MARKS.final}:".`;
const INTERMEDIATE = [
  'Answer the question from the sentences alone, in a few words and on one line.',
  `Where they do not say it, write: ${NO_ANSWER}`,
].join('\n');

/** A reply is cut before what only the other side writes. */
export const SELF_ASK_STOP: readonly string[] = [`${MARKS.intermediate}:`];

/** One turn of a chat. */
export interface ChatTurn {
  role: 'system' | 'user' | 'assistant';
  content: string;
}

/**
 * The chat whose next turn is the next line of a Self-Ask exchange (Press et al.; method.md §9). Questions and intermediate answers are the
 * user's turns and follow-ups the model's own, in two examples as in the question: small models go on in a form that they find in their own
 * turns, and not in one that a system message describes. `ask`: whether the agent is told to go on, or to conclude.
 */
export function selfAskStep(question: string, pairs: readonly AnsweredQuestion[], ask?: 'go_on' | 'conclude'): ChatTurn[] {
  const turns: ChatTurn[] = [{ role: 'system', content: STEP }];
  for (const example of EXAMPLES) turns.push(...(ask === 'go_on' ? goneOn(example) : concluded(example)));
  turns.push(...exchange(question, pairs));
  if (ask !== undefined) addLine(turns, ask === 'go_on' ? GO_ON : CONCLUDE);
  return turns;
}

function concluded({ question, pairs, answer }: Example): ChatTurn[] {
  return [...exchange(question, pairs), { role: 'assistant', content: promptLine(MARKS.final, answer) }];
}

/** An example that is told to go on before its last question, and does: where examples conclude, a small model concludes whatever it is told. */
function goneOn({ question, pairs }: Example): ChatTurn[] {
  const turns = exchange(question, pairs.slice(0, -1));
  addLine(turns, GO_ON);
  return [...turns, { role: 'assistant', content: promptLine(MARKS.followUp, (pairs.at(-1) as AnsweredQuestion).question) }];
}

function addLine(turns: ChatTurn[], line: string): void {
  (turns.at(-1) as ChatTurn).content += `\n${line}`;
}

function exchange(question: string, pairs: readonly AnsweredQuestion[]): ChatTurn[] {
  return [
    { role: 'user', content: promptLine('Question', question) },
    ...pairs.flatMap(({ question: asked, answer }): ChatTurn[] => [
      { role: 'assistant', content: promptLine(MARKS.followUp, asked) },
      { role: 'user', content: promptLine(MARKS.intermediate, answer ?? NO_ANSWER) },
    ]),
  ];
}

/** The intermediate answer to a follow-up question, from sentences with the titles of their pages. */
export function selfAskIntermediate(question: string, sentences: readonly { title: string; text: string }[]): ChatContents {
  const lines = sentences.map(({ title, text }) => promptLine(`[${title.trim()}]`, text));
  return { system: INTERMEDIATE, user: [...lines, promptLine('Question', question), 'Answer:'].join('\n') };
}

/** What a reply to `selfAskStep` says. */
export type SelfAskLine =
  | { kind: 'follow_up'; query: string }
  /** `answer` empty where the model stops without one. */
  | { kind: 'final'; answer: string }
  /** Nothing, or something else. */
  | { kind: 'empty' }
  | { kind: 'other' };

const FOLLOW_UP = /^\W*follow[\s-]*ups?(?:\s+questions?)?(?:\s+\d+)?\s*[:：](.*)$/iu;
const FINAL = /^.*?\bfinal answer(?:\s+is)?\b\s*[:：]?(.*)$/iu;
const NONE = /^(?:none|no|n\/a|not needed|nothing)[.!]?$/i;

/**
 * The first line of a reply that is a follow-up or a final answer; what a rambling model writes behind it is of no account. A first line that
 * ends with a question mark is a follow-up without its mark.
 */
export function readSelfAsk(reply: string): SelfAskLine {
  const lines = visible(reply);
  for (const [at, line] of lines.entries()) {
    const asked = FOLLOW_UP.exec(line);
    if (asked) {
      // Some models break the line behind the mark.
      const query = bare(asked[1] ?? '') || bare(lines[at + 1] ?? '');
      if (query === '' || NONE.test(query)) return { kind: 'final', answer: '' };
      return { kind: 'follow_up', query };
    }
    const said = FINAL.exec(line);
    if (said) return { kind: 'final', answer: bare(said[1] ?? '') || bare(lines[at + 1] ?? '') };
  }
  const [first] = lines;
  if (first === undefined) return { kind: 'empty' };
  return first.endsWith('?') ? { kind: 'follow_up', query: bare(first) } : { kind: 'other' };
}

/** A short answer from a reply: its first line, without marks around it; null for an empty one and for `NO_ANSWER`. */
export function readShortAnswer(reply: string): string | null {
  const [first = ''] = visible(reply);
  const answer = bare(first.replace(/^(?:\W*(?:intermediate\s+)?answer\s*[:：])/iu, ''));
  return answer === '' || answer.toLowerCase().startsWith(NO_ANSWER) ? null : answer;
}

/** sha256 of everything that is written around a question, its pairs and its sentences. */
export function selfAskSha256(): string {
  return sha256(canonicalJson({ STEP, EXAMPLES, GO_ON, CONCLUDE, INTERMEDIATE, NO_ANSWER, marks: MARKS, stop: [...SELF_ASK_STOP] }));
}

/** Lines that are not empty, without a reasoning model's thoughts. */
function visible(reply: string): string[] {
  return spoken(reply)
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
}

/** Without the quotation marks and asterisks around it, and without a full stop behind a few words. */
function bare(text: string): string {
  const plain = (one: string): string => one.replace(/^["'“”*`_\s]+|["'“”*`_\s]+$/gu, '');
  const inner = plain(text).replace(/\s+/gu, ' ');
  return /^[^.]*\.$/.test(inner) ? plain(inner.slice(0, -1)) : inner;
}

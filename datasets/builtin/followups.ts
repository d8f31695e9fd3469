import type { Random } from '../../src/core/random.js';
import { mention, surname } from './pages.js';
import type { PoolPage } from './pool.js';
import type { Hop, Question } from './questions.js';
import { put, relations } from './relations.js';

/** One line of a follow-up file. */
export interface FollowupRow {
  question_id: string;
  dataset: string;
  source: 'builtin';
  followups: string[];
}

/**
 * Four to six searches, as a search agent would issue them for a question: sub-questions with the bridge filled in, bare names, keywords,
 * and about a quarter that lead nowhere (vague, too broad, repeated, about somebody else), so that some questions are covered at once,
 * some late and some never.
 */
export function makeFollowups(question: Question, pool: readonly PoolPage[], draw: Random): string[] {
  const out: string[] = [];
  const distractors = pool.filter((one) => one.gold === undefined).map((one) => one.page.title);
  // One agent in ten gives up before the last step, and one in ten confuses a step with its neighbour in the pool.
  const steps = draw.int(10) === 0 ? question.hops.slice(0, -1) : question.hops;
  const confused = draw.int(10) === 0 ? draw.int(steps.length) : -1;
  for (const [at, hop] of steps.entries()) {
    if (out.length < 5 && draw.int(100) < 20) out.push(astray(question, hop, out, distractors, draw));
    out.push(at === confused ? wrongSubject(hop, distractors, draw) : search(hop, draw));
  }
  const least = 4 + draw.int(2);
  for (let turn = 0; out.length < least; turn++) {
    const hop = steps[(steps.length - 1 + turn) % steps.length] as Hop;
    out.push(draw.int(4) > 0 ? again(hop, out, draw) : astray(question, hop, out, distractors, draw));
  }
  return out.slice(0, 6);
}

function search(hop: Hop, draw: Random): string {
  const { asks, keywords } = relations[hop.relation];
  const form = draw.int(100);
  if (form < 60) return put(asks[draw.int(asks.length)] as string, hop.subject);
  if (form < 75) return hop.subject.name;
  if (form < 90) return put(keywords, hop.subject.name);
  // A surname alone is how an agent asks for somebody it has just read about.
  return put(asks[draw.int(asks.length)] as string, hop.subject.pronoun === 'it' ? hop.subject : surname(hop.subject));
}

function astray(question: Question, hop: Hop, before: readonly string[], distractors: readonly string[], draw: Random): string {
  switch (draw.int(5)) {
    case 0:
      return VAGUE[draw.int(VAGUE.length)] as string;
    case 1:
      return BROAD[draw.int(BROAD.length)] as string;
    case 2:
      return before.at(-1) ?? question.text;
    case 3:
      return distractors[draw.int(distractors.length)] as string;
    default:
      return `What is ${mention(hop.subject)} known for?`;
  }
}

function wrongSubject(hop: Hop, distractors: readonly string[], draw: Random): string {
  const { asks } = relations[hop.relation];
  return put(asks[draw.int(asks.length)] as string, distractors[draw.int(distractors.length)] as string);
}

/** A search once more for a step, in words not used yet where there are any. */
function again(hop: Hop, before: readonly string[], draw: Random): string {
  const { asks, keywords } = relations[hop.relation];
  const forms = [...asks.map((ask) => put(ask, hop.subject)), put(keywords, hop.subject.name), `${hop.subject.name} ${hop.answer}`];
  const unused = forms.filter((form) => !before.includes(form));
  const from = unused.length > 0 ? unused : forms;
  return from[draw.int(from.length)] as string;
}

const VAGUE = [
  'What else is known about it?',
  'Where is that place?',
  'Who was that person?',
  'When did this happen?',
  'More details on the topic',
  'Is there any other information?',
];

const BROAD = [
  'history of Europe',
  'list of famous people',
  'famous works of art',
  'geography of the world',
  'science in the 19th century',
  'important dates',
  'well-known films and books',
];

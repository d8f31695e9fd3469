import { sha256 } from '../../src/core/hash.js';
import { random } from '../../src/core/random.js';
import { makeFollowups, type FollowupRow } from './followups.js';
import { supportingFacts } from './hotpotqa.js';
import { makePool, type Library } from './pool.js';
import { chainQuestions, comparisonQuestions, type ChainPlan, type ComparisonPlan, type Question } from './questions.js';
import { relations } from './relations.js';

export type TwoWikiType = 'compositional' | 'comparison' | 'inference' | 'bridge_comparison';

/** A record of 2WikiMultihopQA's official files, without the Wikidata ids. */
export interface TwoWikiRecord {
  _id: string;
  type: TwoWikiType;
  question: string;
  context: [title: string, sentences: string[]][];
  supporting_facts: [title: string, sentence: number][];
  evidences: [subject: string, relation: string, object: string][];
  answer: string;
}

/** Films and their directors, novels and their authors, ruling families. */
export function makeTwoWiki(library: Library, seed: number): { records: TwoWikiRecord[]; followups: FollowupRow[] } {
  const draw = random(seed, '2wiki');
  const typed = (type: TwoWikiType, questions: readonly Question[]): { type: TwoWikiType; question: Question }[] =>
    questions.map((question) => ({ type, question }));
  const all = draw.shuffle([
    ...chains.flatMap((plan) => typed('compositional', chainQuestions(library.known, plan, draw))),
    ...kinship.flatMap((plan) => typed('inference', chainQuestions(library.known, plan, draw))),
    ...comparisons.flatMap((plan) => typed('comparison', comparisonQuestions(library.known, plan, draw))),
    ...bridgeComparisons.flatMap((plan) => typed('bridge_comparison', comparisonQuestions(library.known, plan, draw))),
  ]);
  const records: TwoWikiRecord[] = [];
  const followups: FollowupRow[] = [];
  for (const { type, question } of all) {
    const id = sha256(`2wiki ${question.text}`).slice(0, 32);
    const own = random(seed, '2wiki', id);
    const facts = supportingFacts(library, question);
    const pool = makePool(
      library,
      question,
      facts.map(({ page, sentence }) => page.sentences[sentence]?.text as string),
      10,
      own,
    );
    records.push({
      _id: id,
      type,
      question: question.text,
      context: pool.map(({ page }) => [page.title, page.sentences.map(({ text }) => text)]),
      supporting_facts: facts.map(({ page, sentence }) => [page.title, sentence]),
      evidences: question.hops.map((hop) => [hop.subject.title, relations[hop.relation].label, hop.answer]),
      answer: question.answer,
    });
    followups.push({ question_id: id, dataset: '2wiki', source: 'builtin', followups: makeFollowups(question, pool, own) });
  }
  return { records, followups };
}

const chains: readonly ChainPlan[] = [
  { from: 'film', through: ['director', 'birthplace'], count: 9 },
  { from: 'film', through: ['director', 'born'], count: 9 },
  { from: 'film', through: ['director', 'died'], count: 7 },
  { from: 'film', through: ['director', 'deathplace'], count: 6 },
  { from: 'film', through: ['director', 'spouse'], count: 5 },
  { from: 'film', through: ['director', 'father'], count: 5 },
  { from: 'film', through: ['director', 'nationality'], count: 6 },
  { from: 'novel', through: ['author', 'birthplace'], count: 7 },
  { from: 'novel', through: ['author', 'born'], count: 5 },
  { from: 'novel', through: ['author', 'deathplace'], count: 6 },
  { from: 'novel', through: ['author', 'spouse'], count: 5 },
];

const kinship: readonly ChainPlan[] = [
  {
    from: 'royal',
    through: ['father', 'father'],
    count: 7,
    wordings: ['Who is the paternal grandfather of {s}?', "Who was {s}'s paternal grandfather?"],
  },
  { from: 'royal', through: ['mother', 'father'], count: 5, wordings: ['Who is the maternal grandfather of {s}?'] },
  { from: 'royal', through: ['father', 'mother'], count: 5, wordings: ['Who is the paternal grandmother of {s}?'] },
  { from: 'royal', through: ['mother', 'mother'], count: 4, wordings: ['Who is the maternal grandmother of {s}?'] },
  {
    from: 'royal',
    through: ['spouse', 'father'],
    count: 5,
    wordings: ['Who is the father-in-law of {s}?', "Who was {s}'s father-in-law?"],
  },
  { from: 'royal', through: ['spouse', 'mother'], count: 3, wordings: ['Who is the mother-in-law of {s}?'] },
];

const comparisons: readonly ComparisonPlan[] = [
  {
    kind: 'film',
    through: ['year'],
    by: 'earlier',
    count: 6,
    wordings: ['Which film came out first, {a} or {b}?', 'Which film was released earlier, {a} or {b}?'],
  },
  { kind: 'film', through: ['year'], by: 'later', count: 4, wordings: ['Which film was released more recently, {a} or {b}?'] },
  { kind: 'novel', through: ['year'], by: 'earlier', count: 4, wordings: ['Which novel was published first, {a} or {b}?'] },
  {
    kind: 'director',
    through: ['born'],
    by: 'earlier',
    count: 5,
    wordings: ['Who was born first, {a} or {b}?', 'Who is older, {a} or {b}?'],
  },
  {
    kind: 'writer',
    through: ['died'],
    by: 'earlier',
    count: 4,
    wordings: ['Who died first, {a} or {b}?', 'Which writer died earlier, {a} or {b}?'],
  },
  {
    kind: 'director',
    through: ['nationality'],
    by: 'same',
    count: 6,
    wordings: ['Do {a} and {b} have the same nationality?', 'Were {a} and {b} of the same nationality?'],
  },
];

const bridgeComparisons: readonly ComparisonPlan[] = [
  {
    kind: 'film',
    through: ['director', 'born'],
    by: 'earlier',
    count: 7,
    wordings: ['Which film has the director who was born earlier, {a} or {b}?', 'Which film has the director born first, {a} or {b}?'],
  },
  {
    kind: 'film',
    through: ['director', 'died'],
    by: 'later',
    count: 6,
    wordings: ['Which film has the director who died later, {a} or {b}?'],
  },
  {
    kind: 'novel',
    through: ['author', 'born'],
    by: 'later',
    count: 5,
    wordings: ['Which novel has the author who was born later, {a} or {b}?'],
  },
  {
    kind: 'film',
    through: ['director', 'nationality'],
    by: 'same',
    count: 8,
    wordings: [
      'Do the directors of the films {a} and {b} share the same nationality?',
      'Are the director of {a} and the director of {b} of the same nationality?',
    ],
  },
];

import { sha256 } from '../../src/core/hash.js';
import { random } from '../../src/core/random.js';
import { makeFollowups, type FollowupRow } from './followups.js';
import { sentenceAbout, type Page } from './pages.js';
import { makePool, type Library } from './pool.js';
import { chainQuestions, comparisonQuestions, type ChainPlan, type ComparisonPlan, type Question } from './questions.js';

/** A record of HotpotQA's official distractor files. */
export interface HotpotRecord {
  _id: string;
  answer: string;
  question: string;
  supporting_facts: [title: string, sentence: number][];
  context: [title: string, sentences: string[]][];
  type: 'bridge' | 'comparison';
  level: 'easy' | 'medium' | 'hard';
}

/** Geography and science: elements and their discoverers, birthplaces, universities, cities, rivers, countries. */
export function makeHotpotqa(library: Library, seed: number): { records: HotpotRecord[]; followups: FollowupRow[] } {
  const draw = random(seed, 'hotpotqa');
  const bridges = chains.flatMap((plan) =>
    chainQuestions(library.known, plan, draw).map((question) => ({ question, type: 'bridge' as const })),
  );
  const compared = comparisons.flatMap((plan) =>
    comparisonQuestions(library.known, plan, draw).map((question) => ({ question, type: 'comparison' as const })),
  );
  const records: HotpotRecord[] = [];
  const followups: FollowupRow[] = [];
  for (const { question, type } of draw.shuffle([...bridges, ...compared])) {
    const id = sha256(`hotpotqa ${question.text}`).slice(0, 24);
    const own = random(seed, 'hotpotqa', id);
    const facts = supportingFacts(library, question).flatMap(({ page, sentence }): [string, number][] => {
      // An annotator now and then marks the lead as well, which names whom a later "he" or "it" means.
      const withLead = sentence > 0 && own.int(5) === 0;
      return withLead
        ? [
            [page.title, 0],
            [page.title, sentence],
          ]
        : [[page.title, sentence]];
    });
    const gold = facts.map(([title, sentence]) => (library.pages.get(title) as Page).sentences[sentence]?.text as string);
    const pool = makePool(library, question, gold, 10, own);
    records.push({
      _id: id,
      answer: question.answer,
      question: question.text,
      supporting_facts: facts,
      // The official files put a space before every sentence but the first.
      context: pool.map(({ page }) => [page.title, page.sentences.map(({ text }, at) => (at === 0 ? text : ` ${text}`))]),
      type,
      level: question.hops.length > 2 ? 'hard' : type === 'bridge' ? 'medium' : 'easy',
    });
    followups.push({ question_id: id, dataset: 'hotpotqa', source: 'builtin', followups: makeFollowups(question, pool, own) });
  }
  return { records, followups };
}

/** Page and sentence of each hop, in hop order. */
export function supportingFacts(library: Library, question: Question): { page: Page; sentence: number }[] {
  return question.hops.map((hop) => {
    const page = library.pages.get(hop.subject.title) as Page;
    return { page, sentence: sentenceAbout(page, hop.relation) };
  });
}

const chains: readonly ChainPlan[] = [
  { from: 'element', through: ['discoverer', 'birthplace'], count: 8 },
  { from: 'element', through: ['discoverer', 'deathplace'], count: 6 },
  { from: 'element', through: ['discoverer', 'university'], count: 6 },
  { from: 'element', through: ['discoverer', 'born'], count: 6 },
  { from: 'scientist', through: ['university', 'city'], count: 6 },
  { from: 'scientist', through: ['university', 'founded'], count: 8 },
  { from: 'scientist', through: ['birthplace', 'river'], count: 9 },
  { from: 'scientist', through: ['birthplace', 'country'], count: 8 },
  { from: 'university', through: ['city', 'river'], count: 6 },
  { from: 'city', through: ['river', 'mouth'], count: 9 },
  { from: 'element', through: ['discoverer', 'birthplace', 'country'], count: 4 },
  { from: 'element', through: ['discoverer', 'university', 'city'], count: 4 },
  { from: 'scientist', through: ['birthplace', 'river', 'mouth'], count: 8 },
  { from: 'scientist', through: ['birthplace', 'country', 'highest'], count: 6 },
  { from: 'university', through: ['city', 'country', 'currency'], count: 4 },
  { from: 'element', through: ['discoverer', 'birthplace', 'river', 'mouth'], count: 3 },
  { from: 'element', through: ['discoverer', 'birthplace', 'country', 'capital'], count: 4 },
];

const comparisons: readonly ComparisonPlan[] = [
  {
    kind: 'river',
    through: ['km'],
    by: 'larger',
    count: 8,
    wordings: ['Which river is longer, {a} or {b}?', 'Of {a} and {b}, which is the longer river?'],
  },
  {
    kind: 'scientist',
    through: ['born'],
    by: 'earlier',
    count: 8,
    wordings: ['Who was born first, {a} or {b}?', 'Which of the two was born earlier, {a} or {b}?'],
  },
  {
    kind: 'university',
    through: ['founded'],
    by: 'earlier',
    count: 6,
    wordings: ['Which was founded earlier, {a} or {b}?', 'Which university is older, {a} or {b}?'],
  },
  { kind: 'element', through: ['number'], by: 'larger', count: 6, wordings: ['Which element has the higher atomic number, {a} or {b}?'] },
  {
    kind: 'city',
    through: ['country'],
    by: 'same',
    count: 8,
    wordings: ['Are {a} and {b} located in the same country?', 'Do {a} and {b} both belong to the same country?'],
  },
];

import { sha256 } from '../../src/core/hash.js';
import { random, type Random } from '../../src/core/random.js';
import { aliases } from './facts/aliases.js';
import { makeFollowups, type FollowupRow } from './followups.js';
import { supportingFacts } from './hotpotqa.js';
import { makePool, type Library } from './pool.js';
import { chainQuestions, contains, type ChainPlan, type Hop } from './questions.js';
import { put, relations } from './relations.js';

/** A record of MuSiQue-Ans, one a line in the official files. */
export interface MusiqueRecord {
  id: string;
  paragraphs: { idx: number; title: string; paragraph_text: string; is_supporting: boolean }[];
  question: string;
  question_decomposition: { id: number; question: string; answer: string; paragraph_support_idx: number }[];
  answer: string;
  answer_aliases: string[];
  answerable: true;
}

/** Music, paintings and buildings, and the places that they lead to. */
export function makeMusique(library: Library, seed: number): { records: MusiqueRecord[]; followups: FollowupRow[] } {
  const draw = random(seed, 'musique');
  const number = stepNumbers();
  const records: MusiqueRecord[] = [];
  const followups: FollowupRow[] = [];
  for (const question of draw.shuffle(chains.flatMap((plan) => chainQuestions(library.known, plan, draw)))) {
    const ids = question.hops.map(number);
    const hops = question.hops.length;
    const id = `${hops === 2 ? '2hop' : `${hops}hop1`}__${ids.join('_')}`;
    const own = random(seed, 'musique', id);
    // MuSiQue marks paragraphs, so every sentence of a gold page that contains the hop's answer counts as gold.
    const gold = supportingFacts(library, question).flatMap(({ page }, step) =>
      page.sentences.map(({ text }) => text).filter((text) => contains(text, question.hops[step]?.answer as string)),
    );
    const pool = makePool(library, question, gold, 20, own);
    records.push({
      id,
      paragraphs: pool.map(({ page, gold: step }, idx) => ({
        idx,
        title: page.title,
        paragraph_text: page.sentences.map(({ text }) => text).join(' '),
        is_supporting: step !== undefined,
      })),
      question: question.text,
      question_decomposition: question.hops.map((hop, step) => ({
        id: ids[step] as number,
        question: subQuestion(hop, step, own),
        answer: hop.answer,
        paragraph_support_idx: pool.findIndex(({ gold: place }) => place === step),
      })),
      answer: question.answer,
      answer_aliases: [...(aliases[question.answer] ?? [])],
      answerable: true,
    });
    followups.push({ question_id: id, dataset: 'musique', source: 'builtin', followups: makeFollowups(question, pool, own) });
  }
  return { records, followups };
}

/** A step in one of MuSiQue's two manners: a question, or `subject >> relation`; later steps name their subject by `#n`. */
function subQuestion(hop: Hop, step: number, draw: Random): string {
  const { asks, label } = relations[hop.relation];
  const subject = step === 0 ? hop.subject : `#${step}`;
  if (draw.int(5) < 2) return `${typeof subject === 'string' ? subject : subject.name} >> ${label}`;
  return put(asks[draw.int(asks.length)] as string, subject);
}

/** A number for each fact, the same wherever the fact is a step; it says nothing of the step's place. */
function stepNumbers(): (hop: Hop) => number {
  const numbers = new Map<string, number>();
  const taken = new Set<number>();
  return (hop) => {
    const key = `${hop.subject.title} >> ${hop.relation}`;
    let number = numbers.get(key);
    if (number === undefined) {
      number = 1000 + (parseInt(sha256(key).slice(0, 8), 16) % 900_000);
      while (taken.has(number)) number++;
      numbers.set(key, number);
      taken.add(number);
    }
    return number;
  };
}

const chains: readonly ChainPlan[] = [
  { from: 'composition', through: ['composer', 'birthplace'], count: 8 },
  { from: 'composition', through: ['composer', 'deathplace'], count: 8 },
  { from: 'painting', through: ['painter', 'birthplace'], count: 7 },
  { from: 'painting', through: ['painter', 'deathplace'], count: 7 },
  { from: 'painting', through: ['museum', 'city'], count: 8 },
  { from: 'landmark', through: ['architect', 'birthplace'], count: 4 },
  { from: 'landmark', through: ['city', 'country'], count: 8 },
  { from: 'landmark', through: ['city', 'river'], count: 6 },
  { from: 'museum', through: ['city', 'river'], count: 5 },
  { from: 'composition', through: ['composer', 'birthplace', 'river'], count: 7 },
  { from: 'composition', through: ['composer', 'deathplace', 'country'], count: 6 },
  { from: 'painting', through: ['painter', 'deathplace', 'river'], count: 5 },
  { from: 'painting', through: ['museum', 'city', 'river'], count: 6 },
  { from: 'painting', through: ['painter', 'birthplace', 'country'], count: 5 },
  { from: 'landmark', through: ['city', 'country', 'currency'], count: 8 },
  { from: 'landmark', through: ['city', 'river', 'mouth'], count: 6 },
  { from: 'composition', through: ['composer', 'birthplace', 'river', 'mouth'], count: 5 },
  { from: 'composition', through: ['composer', 'birthplace', 'country', 'capital'], count: 5 },
  { from: 'composition', through: ['composer', 'deathplace', 'country', 'highest'], count: 5 },
  { from: 'painting', through: ['museum', 'city', 'country', 'highest'], count: 5 },
  { from: 'painting', through: ['museum', 'city', 'country', 'currency'], count: 4 },
  { from: 'painting', through: ['museum', 'city', 'river', 'mouth'], count: 4 },
  { from: 'landmark', through: ['architect', 'birthplace', 'country', 'capital'], count: 3 },
];

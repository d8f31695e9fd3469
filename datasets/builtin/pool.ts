import type { Random } from '../../src/core/random.js';
import { normaliseSentence, words } from '../../src/core/text.js';
import type { Entity } from './knowledge.js';
import type { Page } from './pages.js';
import { reveals, type Hop, type Question } from './questions.js';

export interface PoolPage {
  page: Page;
  /** Position of the gold page among the question's gold pages; absent on a distractor. */
  gold?: number;
}

/** All entities of a seed with their pages, and what the comparisons of pages need, worked out once. */
export interface Library {
  entries: readonly Entry[];
  known: ReadonlyMap<string, Entity>;
  pages: ReadonlyMap<string, Page>;
  /** How many pages have a word. */
  frequency: ReadonlyMap<string, number>;
}

interface Entry {
  entity: Entity;
  page: Page;
  /** All words of the page. */
  bag: ReadonlySet<string>;
  /** Words of the name that are long enough to mean something. */
  nameWords: readonly string[];
  /** The sentences in the form in which equal text is found (method.md §3). */
  normal: readonly string[];
  /** Title and sentence in lower case, for each sentence. */
  titled: readonly string[];
  /** All of `titled`, to rule the page out at once. */
  whole: string;
}

export function makeLibrary(known: ReadonlyMap<string, Entity>, pages: ReadonlyMap<string, Page>): Library {
  const frequency = new Map<string, number>();
  const entries = [...known.values()].map((entity): Entry => {
    const page = pages.get(entity.title) as Page;
    const texts = page.sentences.map((sentence) => sentence.text);
    const bag = new Set(words([page.title, ...texts].join(' ')));
    for (const word of bag) frequency.set(word, (frequency.get(word) ?? 0) + 1);
    const titled = texts.map((text) => `${page.title} ${text}`.toLowerCase());
    return {
      entity,
      page,
      bag,
      nameWords: words(entity.name).filter((word) => word.length > 3),
      normal: texts.map(normaliseSentence),
      titled,
      whole: titled.join('\n'),
    };
  });
  return { entries, known, pages, frequency };
}

/**
 * The pool of a question: its gold pages and distractors, in random order. Distractors are like the gold pages (same kind, shared facts,
 * shared names) or like the wording of the question; none gives a hop away and none repeats a gold sentence. Throws where the tables
 * have too few.
 */
export function makePool(library: Library, question: Question, goldSentences: readonly string[], size: number, draw: Random): PoolPage[] {
  const goldEntities = new Set(question.hops.map((hop) => hop.subject));
  const golds = library.entries.filter(({ entity }) => goldEntities.has(entity));
  const forbidden = new Set(goldSentences.map(normaliseSentence));
  const asked = new Set(words(question.text));
  let rest = library.entries
    .filter((entry) => !goldEntities.has(entry.entity) && allowed(entry, question.hops, forbidden))
    .map((entry) => ({
      entry,
      wording: 0.25 * overlap(library, entry, asked),
      likenesses: golds.map((gold) => likeness(entry, gold)),
    }));
  const chosen: Page[] = [];
  for (let turn = 0; chosen.length < size - golds.length; turn++) {
    // Every fourth distractor comes from the wording of the question alone, as a keyword search would bring it.
    const byWording = turn % 4 === 3;
    let best: (typeof rest)[number] | undefined;
    let bestScore = -Infinity;
    for (const one of rest) {
      const score = (byWording ? 0 : (one.likenesses[turn % golds.length] as number)) + one.wording + 1.5 * draw.float();
      if (score > bestScore) [best, bestScore] = [one, score];
    }
    if (best === undefined) throw new Error(`built-in pool of ${JSON.stringify(question.text)}: too few distractors`);
    chosen.push(best.entry.page);
    rest = rest.filter((one) => one !== best);
  }
  return draw.shuffle([
    ...[...goldEntities].map((entity, gold) => ({ page: library.pages.get(entity.title) as Page, gold })),
    ...chosen.map((page) => ({ page })),
  ]);
}

function allowed(entry: Entry, hops: readonly Hop[], forbidden: ReadonlySet<string>): boolean {
  if (entry.normal.some((sentence) => forbidden.has(sentence))) return false;
  const named = hops.filter((hop) => entry.whole.includes(hop.answer.toLowerCase()));
  return !entry.titled.some((text) => named.some((hop) => reveals(text, hop)));
}

function likeness(a: Entry, b: Entry): number {
  const shared = Object.entries(a.entity.facts).filter(([relation, value]) => b.entity.facts[relation] === value).length;
  const names = a.nameWords.filter((word) => b.nameWords.includes(word)).length;
  return (a.entity.kind === b.entity.kind ? 2 : 0) + shared + 2 * names;
}

function overlap(library: Library, entry: Entry, asked: ReadonlySet<string>): number {
  let sum = 0;
  for (const word of asked) if (entry.bag.has(word)) sum += Math.log(library.entries.length / (library.frequency.get(word) ?? 1));
  return sum;
}

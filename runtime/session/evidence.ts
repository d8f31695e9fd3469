import { InputError } from '../../src/core/errors.js';
import { splitSentences } from '../../src/core/sentences.js';
import type { RetrievedSentence } from '../../src/core/trajectories.js';

/** One retrieved sentence, or a passage's text that is split into sentences. */
export interface EvidenceItem {
  title?: string | undefined;
  text: string;
  /** Where it stands in the host's own pool; given together, they and not the text tell sentences apart. */
  page?: number | undefined;
  sentence?: number | undefined;
}

/**
 * What one search brought: a text, or sentences (strings or items), in the order of the search. A text is split, sentences are not. Sentences of one title
 * are one passage, of which a decider that scores claims reads the first twelve (method.md §4), and so are all without a title: give titles.
 */
export type Evidence = string | readonly (string | EvidenceItem)[];

/** One question's evidence as it grows: tells new sentences from known ones and numbers those that come without a place. */
export interface EvidenceStore {
  /** Sentences known so far. */
  readonly size: number;
  /** The sentences that were not there before. Throws InputError for evidence of another form or beyond the limit. */
  add(evidence: Evidence): RetrievedSentence[];
  /** Throws as `add` would, and adds nothing. */
  check(evidence: Evidence): void;
}

/** Most characters that one observation may bring: text beyond it is a mistake, not evidence. */
export const MAX_EVIDENCE_CHARACTERS = 1_000_000;

/** @param checkSplitter called before the first text is split; may throw */
export function evidenceStore(checkSplitter: () => void): EvidenceStore {
  const known = new Set<string>();
  // Pages of the host have numbers from 0 up; those without one are told apart by title, from below.
  const pages = new Map<string, { page: number; sentences: number }>();
  const placeOf = (title: string): { page: number; sentence: number } => {
    const page = pages.get(title) ?? { page: -1 - pages.size, sentences: 0 };
    pages.set(title, page);
    return { page: page.page, sentence: page.sentences++ };
  };
  return {
    get size() {
      return known.size;
    },
    check: (evidence) => void itemsOf(evidence, checkSplitter),
    add: (evidence) => {
      const items = itemsOf(evidence, checkSplitter);
      const fresh: RetrievedSentence[] = [];
      for (const { title = '', text, page, sentence } of items) {
        if (text.trim() === '') continue;
        const placed = page !== undefined && sentence !== undefined;
        const key = placed ? `${page}/${sentence}` : `${title}\n${text.trim()}`;
        if (known.has(key)) continue;
        known.add(key);
        fresh.push({ ...(placed ? { page, sentence } : placeOf(title)), title, text, score: 0 });
      }
      return fresh;
    },
  };
}

function itemsOf(evidence: unknown, checkSplitter: () => void): EvidenceItem[] {
  let characters = 0;
  const counted = (text: string): string => {
    characters += text.length;
    if (characters > MAX_EVIDENCE_CHARACTERS)
      throw new InputError(`evidence: got over ${MAX_EVIDENCE_CHARACTERS} characters in one observation, expected retrieved passages`);
    return text;
  };
  if (typeof evidence === 'string') {
    if (counted(evidence).trim() === '') return [];
    checkSplitter();
    return splitSentences(evidence).map((text) => ({ text }));
  }
  if (!Array.isArray(evidence)) throw new InputError(`evidence: got ${typeof evidence}, expected a text or a list of sentences`);
  return evidence.map((one: unknown, at) => {
    if (typeof one === 'string') return { text: counted(one) };
    const { title, text, page, sentence } = (one ?? {}) as { [field: string]: unknown };
    const place = { field: `evidence[${at}]` };
    if (typeof text !== 'string') throw new InputError(`got text ${typeof text}, expected a string or { title?, text }`, place);
    if (title !== undefined && typeof title !== 'string') throw new InputError(`got title ${typeof title}, expected a string`, place);
    const numbers = [page, sentence].filter((number) => number !== undefined);
    if (numbers.length === 1 || !numbers.every((number) => Number.isSafeInteger(number) && (number as number) >= 0))
      throw new InputError('expected page and sentence together, as whole numbers from 0', place);
    counted(title ?? '');
    return { title, text: counted(text), page: page as number | undefined, sentence: sentence as number | undefined };
  });
}

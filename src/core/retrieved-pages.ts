import type { HopRecord } from './records.js';
import { normaliseSentence, normaliseTitle } from './text.js';
import type { RetrievedSentence } from './trajectories.js';

/** A document as a retriever gave it, split into sentences. */
export interface RetrievedDocument {
  title: string;
  sentences: readonly string[];
  /** 0 where its retriever gives none. */
  score: number;
}

/** The pages of one question whose documents come from outside its record: what was retrieved for it, in the order in which it was first met. */
export interface RetrievedPages {
  readonly pages: HopRecord['pages'];
  /** Takes in what one query brought, and gives back its sentences that are new: a document met again brings none. Empty sentences keep their place and are not brought. */
  bring(documents: readonly RetrievedDocument[]): RetrievedSentence[];
}

/**
 * Documents are the same where title and sentences are, never by title alone: a corpus cuts an article into many passages of one title
 * (known-faults P9).
 */
export function retrievedPages(): RetrievedPages {
  const pages: HopRecord['pages'] = [];
  const known = new Set<string>();
  return {
    pages,
    bring: (documents) => {
      const brought: RetrievedSentence[] = [];
      for (const { title, sentences, score } of documents) {
        const key = JSON.stringify([title, sentences]);
        if (known.has(key)) continue;
        known.add(key);
        const page = pages.push({ title, sentences: [...sentences] }) - 1;
        for (const [sentence, text] of sentences.entries()) if (text.trim() !== '') brought.push({ page, sentence, title, text, score });
      }
      return brought;
    },
  };
}

/**
 * What became of a question's gold labels on retrieved pages. `none`: it has none. `resolved`: every supporting sentence was found.
 * `not_retrieved`: a supporting page was never retrieved: with supporting facts the question is never covered, with a decomposition it has no gold
 * loop, since its record cannot tell that from a step that names no paragraph. `unresolved`: a page has a supporting title, but not the sentence or
 * the whole paragraph (another edition, another cut of the article): what covers the question is not known, and it has no gold loop.
 */
export const GOLD_OUTCOMES = ['none', 'resolved', 'not_retrieved', 'unresolved'] as const;
export type GoldOutcome = (typeof GOLD_OUTCOMES)[number];

/**
 * A dataset's record with the retrieved pages in place of its own. A supporting fact is looked for by its page's title (normalised) and its
 * sentence's text (normalised, as a run of whole words anywhere on the page: another splitter may have cut it differently), and names every
 * sentence that this text lies in. A step of a decomposition keeps its page only where the whole paragraph is found; a run with such a step
 * has no gold loop. Nothing is taken for gold by its title alone.
 */
export function onRetrievedPages(record: HopRecord, pages: HopRecord['pages']): { record: HopRecord; gold: GoldOutcome } {
  const texts = pages.map(({ title, sentences }) => ({ title: normaliseTitle(title), ...joined(sentences) }));
  const of = (page: number | null): HopRecord['pages'][number] | undefined => (page === null ? undefined : record.pages[page]);
  const supporting: HopRecord['supporting'] = [];
  let [missing, unresolved] = [0, 0];
  for (const fact of record.supporting) {
    const titled = texts.flatMap((text, page) => (text.title === normaliseTitle(fact.title) ? [{ ...text, page }] : []));
    if (titled.length === 0) {
      missing++;
      supporting.push({ title: fact.title, page: null, sentence: fact.sentence });
      continue;
    }
    const wanted = normaliseSentence(of(fact.page)?.sentences[fact.sentence] ?? '');
    const found = titled.map(({ page, ...text }) => ({ page, at: sentencesWith(text, wanted) })).find(({ at }) => at.length > 0);
    if (found) supporting.push(...found.at.map((sentence) => ({ title: fact.title, page: found.page, sentence })));
    else unresolved++;
  }
  const decomposition = record.decomposition.map((step) => {
    const gold = of(step.page);
    const wanted = normaliseSentence(gold?.sentences.join(' ') ?? '');
    const page = texts.findIndex((text) => gold && text.title === normaliseTitle(gold.title) && sentencesWith(text, wanted).length > 0);
    const titled = gold !== undefined && texts.some(({ title }) => title === normaliseTitle(gold.title));
    if (page < 0 && titled) unresolved++;
    else if (page < 0) missing++;
    return { ...step, page: page < 0 ? null : page };
  });
  const labelled = record.supporting.length > 0 || record.decomposition.length > 0;
  const gold = !labelled ? 'none' : unresolved > 0 ? 'unresolved' : missing > 0 ? 'not_retrieved' : 'resolved';
  return { record: { ...record, pages, supporting: unresolved > 0 ? [] : supporting, decomposition }, gold };
}

interface JoinedText {
  /** Normalised sentences with one space between them, and one at each end. */
  text: string;
  /** Where each sentence begins and ends in it. */
  spans: { from: number; to: number }[];
}

function joined(sentences: readonly string[]): JoinedText {
  let text = ' ';
  const spans = sentences.map((sentence) => {
    const from = text.length;
    const words = normaliseSentence(sentence);
    if (words !== '') text += `${words} `;
    return { from, to: from + words.length };
  });
  return { text, spans };
}

/** The sentences that the first occurrence of these words lies in; none where they do not occur. */
function sentencesWith({ text, spans }: JoinedText, words: string): number[] {
  const at = words === '' ? -1 : text.indexOf(` ${words} `);
  if (at < 0) return [];
  const [from, to] = [at + 1, at + 1 + words.length];
  return spans.flatMap((span, sentence) => (span.from < to && span.to > from ? [sentence] : []));
}

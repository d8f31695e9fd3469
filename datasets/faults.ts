import type { HopRecord } from '../src/core/records.js';
import { foldCase, foldSpace, normaliseSentence, normaliseTitle, words } from '../src/core/text.js';
import { labelCandidates } from './label-candidates.js';

/**
 * Faults that a record can have (method.md §3, known-faults A), with what one of them is counted by. Those of `repairedFaults` are worked
 * around when claims or label rows are built; the others are for a person to know.
 */
export const RECORD_FAULTS = {
  gold_page_missing: 'a supporting page is not in the pool (one for each missing title of a question)',
  dangling_sentence: 'a supporting fact names a sentence that its page does not have (one for each fact)',
  repeated_title: 'a page has the title of an earlier page of the same pool (one for each such page)',
  title_form:
    "a supporting fact's title is its page's only after normalisation: Unicode form, HTML entities, white space (one for each fact)",
  repeated_fact: 'a supporting fact stands twice (one for each repetition)',
  empty_sentence: 'a sentence is empty or white space (one for each sentence)',
  leading_space: 'a sentence begins or ends with white space (one for each sentence)',
  no_context: 'the record has no pages',
  no_supporting: 'the record has no supporting facts and no decomposition',
  no_answer: 'the record has no answer',
  answer_not_in_pool: 'no page of the pool has the answer or one of its aliases in its text (yes, no and noanswer aside)',
  no_claims: 'the record has supporting facts, and none yields a claim',
  single_gold_page: 'all supporting facts are on one page: no second hop',
  distractor_equals_gold: 'a sentence of another page has the text of a gold sentence (one for each sentence)',
  null_support: 'a step of the decomposition names no paragraph (one for each step)',
  no_answer_sentence: "a step's answer stands in no single sentence of its paragraph (one for each step)",
  unresolved_reference: 'a sub-question refers to a step that is not before it (one for each reference)',
  question_too_short: 'the question has fewer than three words',
} as const;
export type RecordFault = keyof typeof RECORD_FAULTS;

export interface Fault {
  kind: RecordFault;
  field: string;
  detail: string;
}

/** All faults of one record, each with the field that has it. */
export function recordFaults(record: HopRecord): Fault[] {
  return [...structureFaults(record), ...decompositionFaults(record), ...equalTextFaults(record)];
}

/** The faults that are seen without comparing sentences with each other: all but `distractor_equals_gold` and those of a decomposition. */
export function structureFaults(record: HopRecord): Fault[] {
  const faults: Fault[] = [...repairedFaults(record)];
  const add = (kind: RecordFault, field: string, detail: string): void => void faults.push({ kind, field, detail });
  const shown = JSON.stringify;
  if (words(record.question).length < 3) add('question_too_short', 'question', shown(record.question));
  if (record.answer === null || record.answer.trim() === '') add('no_answer', 'answer', shown(record.answer));
  if (record.pages.length === 0) add('no_context', 'pages', 'no page');
  else if (answerIsMissing(record)) add('answer_not_in_pool', 'answer', shown(record.answer));
  if (record.supporting.length === 0 && record.decomposition.length === 0) add('no_supporting', 'supporting', 'no fact');

  for (const [page, { sentences }] of record.pages.entries())
    for (const [sentence, content] of sentences.entries()) {
      const trimmed = content.trim();
      if (trimmed !== '' && trimmed.length !== content.length)
        add('leading_space', `pages[${page}].sentences[${sentence}]`, shown(content.slice(0, 40)));
    }
  const missing = new Set<string>();
  for (const [at, fact] of record.supporting.entries()) {
    const title = normaliseTitle(fact.title);
    if (fact.page !== null || missing.has(title)) continue;
    missing.add(title);
    add('gold_page_missing', `supporting[${at}]`, `no page has the title ${shown(fact.title)}`);
  }
  const titles = new Set(record.supporting.map((fact) => normaliseTitle(fact.title)));
  if (titles.size === 1) add('single_gold_page', 'supporting', shown([...titles][0]));
  return faults;
}

/** Labels of the official evaluation that are no text of a page. */
const NOT_TEXT = new Set(['yes', 'no', 'noanswer']);

function answerIsMissing({ answer, aliases, pages }: HopRecord): boolean {
  const answers = [answer ?? '', ...aliases].map((one) => foldCase(foldSpace(one))).filter((one) => one !== '');
  if (answers.length === 0 || answers.some((one) => NOT_TEXT.has(one))) return false;
  const texts = pages.map((page) => page.sentences.join(' '));
  // Most answers stand as they are: this spares folding every page.
  if (answer !== null && answer !== '' && texts.some((one) => one.includes(answer))) return false;
  return !texts.map((one) => foldCase(foldSpace(one))).some((text) => answers.some((one) => text.includes(one)));
}

/** Faults after which a record is used all the same, the faulty part left out or read as it was meant. */
export function repairedFaults(record: HopRecord): Fault[] {
  const faults: Fault[] = [];
  const add = (kind: RecordFault, field: string, detail: string): void => void faults.push({ kind, field, detail });
  const shown = JSON.stringify;
  const firstPage = new Map<string, number>();
  for (const [page, { title, sentences }] of record.pages.entries()) {
    const key = normaliseTitle(title);
    const earlier = firstPage.get(key);
    if (earlier === undefined) firstPage.set(key, page);
    else add('repeated_title', `pages[${page}].title`, `${shown(title)} is page ${earlier}'s title too`);
    for (const [sentence, content] of sentences.entries())
      if (content.trim() === '') add('empty_sentence', `pages[${page}].sentences[${sentence}]`, shown(content));
  }
  const seen = new Set<string>();
  for (const [at, fact] of record.supporting.entries()) {
    const field = `supporting[${at}]`;
    const key = shown([normaliseTitle(fact.title), fact.sentence]);
    if (seen.has(key)) add('repeated_fact', field, key);
    seen.add(key);
    if (fact.page === null) continue;
    const page = record.pages[fact.page] as HopRecord['pages'][number];
    if (page.title !== fact.title) add('title_form', field, `${shown(fact.title)} stands for ${shown(page.title)}`);
    if (fact.sentence < 0 || fact.sentence >= page.sentences.length)
      add('dangling_sentence', field, `sentence ${fact.sentence} of ${shown(page.title)}, which has ${page.sentences.length}`);
  }
  return faults;
}

function decompositionFaults(record: HopRecord): Fault[] {
  const faults: Fault[] = [];
  for (const [at, step] of record.decomposition.entries()) {
    const field = `decomposition[${at}]`;
    for (const [reference, number] of step.question.matchAll(/#(\d+)/g)) {
      if (Number(number) < 1 || Number(number) > at) faults.push({ kind: 'unresolved_reference', field, detail: reference });
    }
    if (step.page === null) {
      faults.push({ kind: 'null_support', field, detail: 'no paragraph' });
      continue;
    }
    const answer = foldCase(foldSpace(step.answer));
    const sentences = record.pages[step.page]?.sentences ?? [];
    if (answer === '' || !sentences.some((sentence) => foldCase(foldSpace(sentence)).includes(answer)))
      faults.push({ kind: 'no_answer_sentence', field, detail: JSON.stringify(step.answer) });
  }
  return faults;
}

function equalTextFaults(record: HopRecord): Fault[] {
  const candidates = labelCandidates(record, { allowMissingGold: true, derive: 'answer-sentence' });
  if (candidates.skipped?.reason === 'no_claims') return [{ kind: 'no_claims', field: 'supporting', detail: candidates.skipped.detail }];
  if (candidates.refusedNull === 0) return [];
  const golds = new Set(candidates.match.map(({ page, sentence }) => normaliseSentence(record.pages[page]?.sentences[sentence] ?? '')));
  const goldPages = new Set(candidates.match.map(({ page }) => page));
  return record.pages.flatMap(({ title, sentences }, page) =>
    goldPages.has(page)
      ? []
      : sentences.flatMap((sentence, at): Fault[] =>
          golds.has(normaliseSentence(sentence)) && sentence.trim() !== ''
            ? [
                {
                  kind: 'distractor_equals_gold',
                  field: `pages[${page}].sentences[${at}]`,
                  detail: `a gold sentence's text on ${JSON.stringify(title)}`,
                },
              ]
            : [],
        ),
  );
}

import type { LabelRow } from '../core/labels.js';
import { normaliseTitle } from '../core/text.js';

/** How many of the judged rows' expected pages were expected pages of training rows too (method.md §4, page overlap). */
export interface PageOverlap {
  pages: number;
  shared_pages: number;
  questions: number;
  /** Questions with at least one shared page. */
  questions_with_any: number;
  /** Questions of which every page is shared. */
  questions_with_all: number;
}

export function pageOverlap(trained: Iterable<LabelRow>, judged: Iterable<LabelRow>): PageOverlap {
  const known = new Set<string>();
  for (const row of trained) known.add(normaliseTitle(row.expected_page));
  const byQuestion = new Map<string, Set<string>>();
  const pages = new Set<string>();
  for (const row of judged) {
    const title = normaliseTitle(row.expected_page);
    const key = `${row.dataset}/${row.row}/${row.question_id}`;
    pages.add(title);
    byQuestion.set(key, (byQuestion.get(key) ?? new Set<string>()).add(title));
  }
  const questions = [...byQuestion.values()].map((own) => [...own].map((title) => known.has(title)));
  return {
    pages: pages.size,
    shared_pages: [...pages].filter((title) => known.has(title)).length,
    questions: questions.length,
    questions_with_any: questions.filter((own) => own.some(Boolean)).length,
    questions_with_all: questions.filter((own) => own.every(Boolean)).length,
  };
}

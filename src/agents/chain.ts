import { words } from '../core/text.js';
import { type Agent, type AgentLoop, type QueryState, queryAgent } from './agent.js';

/**
 * An agent without a language model: asks the question, then expands it with the titles of the pages that the newest loop met for the
 * first time and with the question's words that nothing retrieved so far contains. It stops when that gives a query it has already asked,
 * or when a loop brought nothing.
 */
export function chainAgent(): Agent {
  return queryAgent('chain', chainIdentity, nextQuery);
}

export const chainIdentity = {
  agent: 'chain',
  queries: "the question, then the question with the newest pages' titles and its uncovered words",
};

function nextQuery({ question, loops }: QueryState): string | null {
  const newest = loops.at(-1);
  if (!newest) return question;
  if (newest.sentences.length === 0) return null;
  const query = [question, ...newTitles(loops), ...uncoveredWords(question, loops)].join(' ');
  return loops.some((one) => one.query === query) ? null : query;
}

/** Titles of pages first met in the newest loop, each once, in order of retrieval. */
function newTitles(loops: readonly AgentLoop[]): string[] {
  const known = new Set(loops.slice(0, -1).flatMap(({ sentences }) => sentences.map(({ page }) => page)));
  const titles: string[] = [];
  for (const { page, title } of loops.at(-1)?.sentences ?? []) {
    if (!known.has(page)) titles.push(title);
    known.add(page);
  }
  return titles;
}

function uncoveredWords(question: string, loops: readonly AgentLoop[]): string[] {
  const covered = new Set(loops.flatMap(({ sentences }) => sentences.flatMap(({ title, text }) => words(`${title} ${text}`))));
  return [...new Set(words(question))].filter((word) => !covered.has(word));
}

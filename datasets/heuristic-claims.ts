import type { Claim } from '../src/core/claims.js';
import type { HopRecord } from '../src/core/records.js';
import { foldSpace, words } from '../src/core/text.js';

/** Most claims that are made of one question. */
const MAX_CLAIMS = 3;

/**
 * Claims from the question alone and without a language model (ours, not the papers'; their source is always named `heuristic`): the
 * entities that the question names are the pages to look for, each with the clause in which it stands; a question that names fewer than
 * two adds itself as the last hop. Any question that is not empty gives at least one claim and at most three.
 */
export function heuristicClaims(record: Pick<HopRecord, 'question_id' | 'row' | 'question'>): Claim[] {
  const question = foldSpace(record.question);
  if (question === '') return [];
  const plain = question.replace(/[\s?.!]+$/u, '') || question;
  const parts = clauses(plain);
  const targets = namedEntities(question)
    .slice(0, MAX_CLAIMS)
    .map((page) => ({ page, text: `${page}: ${parts.find((part) => part.includes(page)) ?? plain}` }));
  if (targets.length === 0) {
    const inner = innerDescription(plain);
    if (inner !== undefined) targets.push({ page: '', text: inner });
  }
  if (targets.length < 2) targets.push({ page: '', text: plain });
  return targets.map(({ page, text }, at): Claim => {
    const next = targets[at + 1];
    return {
      question_id: record.question_id,
      row: record.row,
      question: record.question,
      claim: at,
      source: 'heuristic',
      page,
      expected_target: (next?.page ?? '') || page,
      role: next ? 'bridge_title' : 'answer_node',
      answer_type: next ? 'entity' : answerType(plain),
      expected_claim: text,
      subquestion: null,
    };
  });
}

/**
 * Entities that a question names, in order, none twice: quoted titles, and runs of capitalised words, which may be joined by small words
 * (`Duke of Velm`) and carry a bracket (`Ember (river)`). The question's first word counts only when it opens a longer name.
 */
export function namedEntities(question: string): string[] {
  const found: { at: number; name: string }[] = [];
  let rest = question;
  for (const match of question.matchAll(/["“„«]([^"”“»]{2,})["”“»]/gu)) {
    found.push({ at: match.index, name: (match[1] as string).trim() });
    rest = `${rest.slice(0, match.index)}${' '.repeat(match[0].length)}${rest.slice(match.index + match[0].length)}`;
  }
  for (const match of rest.matchAll(NAME)) {
    const name = trimmedName(match[0], match.index === 0 || /[.?!:]\s*$/u.test(rest.slice(0, match.index)));
    if (name !== undefined) found.push({ at: match.index, name });
  }
  const names = found.sort((a, b) => a.at - b.at).map(({ name }) => name);
  return names.filter((name, at) => names.indexOf(name) === at);
}

const WORD = String.raw`\p{Lu}[\p{L}\p{M}\p{N}.'’&-]*|\d+(?:st|nd|rd|th)`;
const JOINT = String.raw`of|the|de|la|le|von|van|der|den|di|da|del|du|al|el|bin|ibn|y|and the|for the|in the|on the|to the|of the`;
const NAME = new RegExp(String.raw`(?:\p{Lu}[\p{L}\p{M}\p{N}.'’&-]*)(?:\s+(?:(?:${JOINT})\s+)?(?:${WORD}|\d+))*(?:\s+\([^()]+\))?`, 'gu');

/** Words that open a question with a capital letter and name nothing. */
const OPENERS = new Set(
  (
    'what which who whom whose where when why how is are was were do does did has have had can could will would should in on at of to from by ' +
    'for with the a an and or between among both during after before according name that this these those there it its as if while since until ' +
    'either neither one two are am'
  ).split(' '),
);

function trimmedName(name: string, opensSentence: boolean): string | undefined {
  const parts = name.replace(/[.'’&-]+$/u, '').split(' ');
  if (opensSentence) {
    while (parts.length > 0 && OPENERS.has((parts[0] as string).toLowerCase())) parts.shift();
  }
  const kept = parts.join(' ').replace(/['’]s$/u, '');
  return /\p{L}{2}|\p{N}/u.test(kept) ? kept : undefined;
}

/** The question's clauses: cut at commas and before relative words. */
function clauses(question: string): string[] {
  return question
    .split(/,\s+|;\s+|\s+(?=(?:that|which|who|whom|whose|where|when|and|or|but)\s)/u)
    .map((part) => part.trim().replace(/^(?:and|or|but)\s+/u, ''))
    .filter((part) => words(part).length >= 3);
}

/** What a question without names describes last, `the founder of psychoanalysis` in `What was the job of the father of the founder of psychoanalysis`. */
function innerDescription(question: string): string | undefined {
  const cut = [...question.matchAll(/\s(?=(?:(?:that|which|who|whose|where|when)\s|(?:of|by|in|for|from)\s+(?:the|an?)\s))/gu)].at(-1);
  const inner = cut && question.slice(cut.index + 1).replace(/^(?:of|by|in|for|from)\s+/u, '');
  return inner !== undefined && words(inner).length >= 2 ? inner : undefined;
}

function answerType(question: string): string {
  const text = question.toLowerCase();
  const asks = (pattern: RegExp): boolean => pattern.test(text);
  if (asks(/\b(when|what (year|date|day|month|decade|century)|which (year|date|decade|century)|date of)\b/u)) return 'date';
  if (asks(/\b(how (many|much|old|long|far|tall|big)|what (number|percentage|age))\b/u)) return 'number';
  if (asks(/^(is|are|was|were|do|does|did|has|have|had|can|could)\b/u)) return 'yes_no';
  if (asks(/\b(who|whom|whose)\b/u)) return 'person';
  if (asks(/\b(where|what (city|country|state|place|county|town)|which (city|country|state|place|county|town))\b/u)) return 'place';
  return 'entity';
}

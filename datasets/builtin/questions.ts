import type { Random } from '../../src/core/random.js';
import type { Entity, Kind } from './knowledge.js';
import { mention, surname } from './pages.js';
import { put, relations, type Relation, type RelationWording } from './relations.js';

/** One step: the page of `subject` states `answer` as its `relation`. */
export interface Hop {
  subject: Entity;
  relation: Relation;
  answer: string;
}

/** The relations of a chain question, from its first page to its last, and the kind of its first page. */
export interface ChainPlan {
  from: Kind;
  through: readonly Relation[];
  /** How many questions of the plan are drawn, where there are as many. */
  count: number;
  /** Whole questions with `{s}` for the first page's name, where the relations have a word of their own ("grandfather"). */
  wordings?: readonly string[];
}

export interface Question {
  text: string;
  answer: string;
  hops: readonly Hop[];
}

export type Comparison = 'larger' | 'smaller' | 'earlier' | 'later' | 'same';

/** A question on two things: each pair of hops of one relation, or of a way of two relations (four pages). */
export interface ComparisonPlan {
  kind: Kind;
  through: readonly Relation[];
  /** `{a}` and `{b}` are the two things. */
  wordings: readonly string[];
  by: Comparison;
  count: number;
}

/**
 * Draws the chain questions of a plan: every page of a chain is another one, each step's value has a page where a further step needs it,
 * no value is an earlier one, and the question does not contain its answer.
 */
export function chainQuestions(known: ReadonlyMap<string, Entity>, plan: ChainPlan, draw: Random): Question[] {
  const starts = draw.shuffle([...known.values()].filter((entity) => entity.kind === plan.from));
  const out: Question[] = [];
  const uses = new Map<string, number>();
  for (const start of starts) {
    const hops = walk(known, start, plan.through);
    const last = hops?.at(-1);
    if (hops === undefined || last === undefined) continue;
    // A date question wants a day: "1742" alone stands where the day is disputed.
    if ((last.relation === 'born' || last.relation === 'died') && !last.answer.includes(' ')) continue;
    if (last.relation === 'nationality' && !PLAIN_NATIONALITY.test(last.answer)) continue;
    // "euro" or "Vienna" may be the answer a few times, not always.
    if ((uses.get(last.answer) ?? 0) >= Math.max(1, Math.floor(plan.count / 3))) continue;
    const text = plan.wordings === undefined ? chainText(hops, draw) : put(plan.wordings[draw.int(plan.wordings.length)] as string, start);
    if (contains(text, last.answer)) continue;
    uses.set(last.answer, (uses.get(last.answer) ?? 0) + 1);
    out.push({ text, answer: last.answer, hops });
    if (out.length === plan.count) break;
  }
  return out;
}

/** Draws comparison questions; pairs whose values are equal or too close to tell apart safely are left out (unless equality is asked). */
export function comparisonQuestions(known: ReadonlyMap<string, Entity>, plan: ComparisonPlan, draw: Random): Question[] {
  const walks = [...known.values()]
    .filter((entity) => entity.kind === plan.kind)
    .map((entity) => walk(known, entity, plan.through))
    .filter((hops) => hops !== undefined);
  const out: Question[] = [];
  const used = new Set<string>();
  // Half of the yes/no questions are to be yes, which a random pair seldom is.
  const wanted = { yes: Math.ceil(plan.count / 2), no: Math.floor(plan.count / 2) };
  for (let tries = 0; out.length < plan.count && tries < 4000; tries++) {
    const [a, b] = draw.shuffle(walks).slice(0, 2) as [Hop[], Hop[]];
    const first = a[0]?.subject as Entity;
    const second = b[0]?.subject as Entity;
    if (used.has(first.title) || used.has(second.title)) continue;
    const pages = [...a, ...b].map((hop) => hop.subject.title);
    if (new Set(pages).size < pages.length) continue;
    const answer = compared(plan.by, first, second, (a.at(-1) as Hop).answer, (b.at(-1) as Hop).answer);
    if (answer === undefined) continue;
    if (answer === 'yes' || answer === 'no') {
      if (wanted[answer] === 0) continue;
      wanted[answer]--;
    }
    used.add(first.title).add(second.title);
    const template = plan.wordings[draw.int(plan.wordings.length)] as string;
    const text = template.replace('{a}', () => mention(first)).replace('{b}', () => mention(second));
    // Both first steps come before both second ones, as a searcher would ask them.
    const hops = plan.through.flatMap((_, step) => [a[step] as Hop, b[step] as Hop]);
    out.push({ text, answer, hops });
  }
  return out;
}

/** Whether `text` contains `part` as whole words; both case-folded. */
export function contains(text: string, part: string): boolean {
  const folded = part.toLowerCase();
  const where = text.toLowerCase();
  // The plain search rules out nearly every text before the costly word borders are looked at.
  if (!where.includes(folded)) return false;
  const escaped = folded.replace(/[.*+?^${}()|[\]\\]/gu, '\\$&');
  return new RegExp(`(?<![\\p{L}\\p{N}])${escaped}(?![\\p{L}\\p{N}])`, 'u').test(where);
}

/** Whether a text (a page's title and one sentence of it) gives a hop away: it names the hop's subject and the hop's answer. */
export function reveals(text: string, hop: Hop): boolean {
  return contains(text, hop.answer) && (contains(text, hop.subject.name) || contains(text, surname(hop.subject)));
}

function walk(known: ReadonlyMap<string, Entity>, start: Entity, through: readonly Relation[]): Hop[] | undefined {
  const hops: Hop[] = [];
  let subject: Entity | undefined = start;
  for (const relation of through) {
    const answer: string | undefined = subject?.facts[relation];
    if (subject === undefined || answer === undefined) return undefined;
    if (hops.some((hop) => hop.subject.title === subject?.title || hop.answer === answer || hop.subject.title === answer)) return undefined;
    hops.push({ subject, relation, answer });
    subject = known.get(answer);
  }
  return hops;
}

function chainText(hops: readonly Hop[], draw: Random): string {
  let inner = '';
  for (const [step, hop] of hops.entries()) {
    const wording: RelationWording = relations[hop.relation];
    const phrases = step === 0 ? [...wording.phrases, ...(wording.plainPhrases ?? [])] : wording.phrases;
    const forms = step === hops.length - 1 ? wording.asks : phrases;
    inner = put(forms[draw.int(forms.length)] as string, step === 0 ? hop.subject : inner);
  }
  return inner;
}

function compared(by: Comparison, a: Entity, b: Entity, aValue: string, bValue: string): string | undefined {
  if (by === 'same' && !(PLAIN_NATIONALITY.test(aValue) && PLAIN_NATIONALITY.test(bValue)) && a.kind !== 'city') return undefined;
  if (by === 'same') return aValue === bValue ? 'yes' : 'no';
  const [x, y] = [magnitude(aValue), magnitude(bValue)];
  // Lengths differ between reference works by a few percent, years of publication by one or two.
  const apart = by === 'larger' ? Math.abs(x - y) > 0.2 * Math.max(x, y) : Math.abs(x - y) >= 3;
  if (!apart) return undefined;
  const aWins = by === 'larger' || by === 'later' ? x > y : x < y;
  return (aWins ? a : b).name;
}

/** A number ("1,230"), a year, or a day as a year with a fraction that keeps the order of days. */
function magnitude(value: string): number {
  const day = /^(\d{1,2}) (\p{L}+) (\d{4})$/u.exec(value);
  if (day === null) return Number(value.replace(/,/gu, ''));
  const month = MONTHS.indexOf(day[2] as string);
  if (month < 0) throw new Error(`built-in facts: unknown month in ${JSON.stringify(value)}`);
  return Number(day[3]) + (month * 31 + Number(day[1])) / 400;
}

/** "Austrian-born American" and the like have no one answer. */
const PLAIN_NATIONALITY = /^\p{L}+$/u;

const MONTHS = ['January', 'February', 'March', 'April', 'May', 'June', 'July', 'August', 'September', 'October', 'November', 'December'];

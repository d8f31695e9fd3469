import { InputError } from '../src/core/errors.js';
import { LABELS, type Label } from '../src/core/labels.js';
import { type Random, random } from '../src/core/random.js';
import { drawDev, splitStream } from './label-split.js';

export type Split = 'train' | 'dev';

/** How many candidates of each class one question has. */
export type ClassCounts = { readonly [label in Label]: number };

/** Which candidates become rows. It is asked in file order, once for every question and class, and gives each question's ordinals. */
export interface LabelPlan {
  /** Null: the question gives no rows. */
  split(question: number): Split | null;
  /** Ordinals among the question's candidates of this class, ascending. */
  pick(question: number, label: Label): number[];
}

export interface PlanInput {
  /** Of every usable question, in file order. */
  counts: readonly ClassCounts[];
  /** Questions that have to stay together. */
  groups: readonly number[][];
  seed: number;
}

/**
 * Keeps every match and partial candidate and draws as many null ones as the smaller of these two classes has (method.md §3), counted over
 * the whole set; a split takes the smaller of its own two classes first, what is left over goes where null candidates are left.
 *
 * @param devNullShare Share of null rows among dev's rows; by default the classes' rule above holds there too.
 */
export function planAll(input: PlanInput & { devShare: number; devNullShare?: number | undefined }): LabelPlan {
  const { counts, groups, seed, devShare, devNullShare } = input;
  const dev = drawDev(groups, devShare, seed);
  const splitOf = (question: number): Split => (dev.has(question) ? 'dev' : 'train');
  const totals = { train: emptyCounts(), dev: emptyCounts() };
  for (const [question, one] of counts.entries()) for (const label of LABELS) totals[splitOf(question)][label] += one[label];
  const draws = { train: 0, dev: 0 };
  const wanted = Math.min(totals.train.match + totals.dev.match, totals.train.partial + totals.dev.partial);
  for (const split of ['train', 'dev'] as const) draws[split] = Math.min(totals[split].match, totals[split].partial, totals[split].null);
  for (const split of ['train', 'dev'] as const) {
    const missing = wanted - draws.train - draws.dev;
    draws[split] += Math.min(missing, totals[split].null - draws[split]);
  }
  if (devNullShare !== undefined) {
    const others = totals.dev.match + totals.dev.partial;
    draws.dev = Math.min(totals.dev.null, Math.round((others * devNullShare) / (1 - devNullShare)));
  }
  const samplers = {
    train: inOrderSampler(totals.train.null, draws.train, random(seed, 'labels', 'null', 'train')),
    dev: inOrderSampler(totals.dev.null, draws.dev, random(seed, 'labels', 'null', 'dev')),
  };
  return {
    split: splitOf,
    pick: (question, label) => {
      const count = counts[question]?.[label] ?? 0;
      return label === 'null' ? samplers[splitOf(question)](count) : Array.from({ length: count }, (_, at) => at);
    },
  };
}

/** The paper's set (method.md §3): 12,000 rows, 4,000 of each class, classes equal to within one row in each split. */
export const HALT = {
  /** Dev's number of questions is not printed in the paper; this one gives dev as many rows a question as train (2,374 × 4,903 / 9,626). */
  questions: { train: 4903, dev: 1209 },
  rows: { train: { match: 3209, partial: 3209, null: 3208 }, dev: { match: 791, partial: 791, null: 792 } },
} as const;

/**
 * The preset `halt`: questions are drawn at random, then every chosen question gets one row of a class drawn in proportion to what the
 * classes still need, then each class is filled up uniformly from the chosen questions' other candidates. Where a random draw of questions
 * has too few candidates of the scarcest class, questions that have one are preferred.
 * Throws InputError that says what is missing when the file is too small.
 *
 * @param devNullShare Share of null among dev's 2,374 rows; train keeps its equal classes.
 */
export function planHalt(input: PlanInput & { file: string; devNullShare?: number | undefined }): LabelPlan {
  const { counts, seed, file, devNullShare } = input;
  const groups = input.groups.filter((group) => group.some((at) => rowsOf(counts[at]) > 0));
  const quotas = { train: HALT.rows.train, dev: devNullShare === undefined ? HALT.rows.dev : devQuotas(devNullShare) };
  const stream = splitStream(seed);
  const shuffled = stream.shuffle(groups);
  let chosen = choose(shuffled);
  if (shortage(chosen, counts, quotas) !== undefined) {
    const scarce = LABELS.toSorted(
      (a, b) => total(groups.flat(), counts, a) / need(quotas, a) - total(groups.flat(), counts, b) / need(quotas, b),
    )[0] as Label;
    const having = shuffled.toSorted((a, b) => Number(total(b, counts, scarce) > 0) - Number(total(a, counts, scarce) > 0));
    const taken = choose(having);
    chosen = choose(stream.shuffle(groups.filter((group) => taken.train.has(group[0] as number) || taken.dev.has(group[0] as number))));
  }
  const problem = shortage(chosen, counts, quotas);
  if (problem) throw new InputError(`the preset halt does not fit: ${problem}`, { file });
  const picks = new Map<number, { [label in Label]: number[] }>();
  for (const split of ['train', 'dev'] as const) {
    for (const [question, pick] of allocate([...chosen[split]], counts, quotas[split], random(seed, 'labels', 'rows', split), file))
      picks.set(question, pick);
  }
  return {
    split: (question) => (chosen.train.has(question) ? 'train' : chosen.dev.has(question) ? 'dev' : null),
    pick: (question, label) => picks.get(question)?.[label] ?? [],
  };
}

type Quotas = { readonly [split in Split]: ClassCounts };
type Chosen = { [split in Split]: Set<number> };

function devQuotas(nullShare: number): ClassCounts {
  const rows = HALT.rows.dev.match + HALT.rows.dev.partial + HALT.rows.dev.null;
  const nulls = Math.round(rows * nullShare);
  return { match: Math.ceil((rows - nulls) / 2), partial: Math.floor((rows - nulls) / 2), null: nulls };
}

/** Fills train, then dev, with groups in this order; a group that no longer fits is passed over. */
function choose(groups: readonly number[][]): Chosen {
  const chosen: Chosen = { train: new Set(), dev: new Set() };
  for (const group of groups) {
    for (const split of ['train', 'dev'] as const) {
      if (chosen[split].size + group.length > HALT.questions[split]) continue;
      for (const at of group) chosen[split].add(at);
      break;
    }
  }
  return chosen;
}

function shortage(chosen: Chosen, counts: readonly ClassCounts[], quotas: Quotas): string | undefined {
  const missing: string[] = [];
  for (const split of ['train', 'dev'] as const) {
    if (chosen[split].size < HALT.questions[split])
      missing.push(`${split} needs ${HALT.questions[split]} questions with candidates, got ${chosen[split].size}`);
    else
      for (const label of LABELS) {
        const have = total([...chosen[split]], counts, label);
        if (have < quotas[split][label]) missing.push(`${split} needs ${quotas[split][label]} ${label} candidates, got ${have}`);
      }
  }
  return missing.length > 0 ? missing.join('; ') : undefined;
}

function allocate(
  questions: readonly number[],
  counts: readonly ClassCounts[],
  quotas: ClassCounts,
  stream: Random,
  file: string,
): Map<number, { [label in Label]: number[] }> {
  const left: { [label in Label]: number } = { ...quotas };
  const picks = new Map<number, { [label in Label]: number[] }>();
  const classesOf = (question: number): Label[] => LABELS.filter((label) => (counts[question]?.[label] ?? 0) > 0);
  // Questions with the fewest classes choose first, so that the others still can.
  for (const question of questions.toSorted((a, b) => classesOf(a).length - classesOf(b).length)) {
    const open = classesOf(question).filter((label) => left[label] > 0);
    if (open.length === 0)
      throw new InputError(`the preset halt does not fit: too few questions have candidates of more than one class`, { file });
    let draw = stream.int(open.reduce((sum, label) => sum + left[label], 0));
    const label = open.find((one) => (draw -= left[one]) < 0) as Label;
    left[label]--;
    const pick = { match: [], partial: [], null: [], [label]: [stream.int(counts[question]?.[label] ?? 0)] };
    picks.set(question, pick);
  }
  for (const label of LABELS) {
    const others = total(questions, counts, label) - (quotas[label] - left[label]);
    const sampler = inOrderSampler(others, left[label], stream);
    for (const question of questions.toSorted((a, b) => a - b)) {
      const pick = picks.get(question) as { [label in Label]: number[] };
      const [taken = Infinity] = pick[label];
      const count = (counts[question]?.[label] ?? 0) - pick[label].length;
      pick[label] = [...pick[label], ...sampler(count).map((at) => (at >= taken ? at + 1 : at))].sort((a, b) => a - b);
    }
  }
  return picks;
}

/**
 * Draws k of n items uniformly while they pass by in portions (selection sampling: each next item is taken with probability needed / left),
 * so that no list of all items is ever held. Each call takes the next `count` items and gives the positions of the taken ones.
 */
function inOrderSampler(n: number, k: number, stream: Random): (count: number) => number[] {
  let [left, needed] = [n, k];
  return (count) => {
    const taken: number[] = [];
    for (let at = 0; at < count; at++) {
      if (needed > 0 && stream.int(left) < needed) {
        taken.push(at);
        needed--;
      }
      left--;
    }
    return taken;
  };
}

function emptyCounts(): { [label in Label]: number } {
  return { match: 0, partial: 0, null: 0 };
}

function rowsOf(counts: ClassCounts | undefined): number {
  return counts ? counts.match + counts.partial + counts.null : 0;
}

function total(questions: readonly number[], counts: readonly ClassCounts[], label: Label): number {
  return questions.reduce((sum, at) => sum + (counts[at]?.[label] ?? 0), 0);
}

function need(quotas: Quotas, label: Label): number {
  return quotas.train[label] + quotas.dev[label];
}

import { type Random, random } from '../src/core/random.js';
import type { HopRecord } from '../src/core/records.js';
import { normaliseSentence, normaliseTitle } from '../src/core/text.js';
import { sha256 } from '../src/core/hash.js';

export const SPLIT_RULES = ['question', 'page'] as const;
export type SplitRule = (typeof SPLIT_RULES)[number];

/**
 * Groups of questions that may not be parted by a split: `question` keeps questions of one text together, whatever their ids (public files
 * hold some under two); `page` also those that share a gold page's normalised title, and whatever hangs together through such pages.
 */
export interface Grouping {
  add(record: HopRecord, goldTitles: readonly string[]): void;
  /** Positions of the added records, group by group, both in order of first appearance. */
  groups(): number[][];
}

export function makeGrouping(rule: SplitRule): Grouping {
  const parents: number[] = [];
  const firstWith = new Map<string, number>();
  const rootOf = (at: number): number => {
    let root = at;
    while (parents[root] !== root) root = parents[root] as number;
    for (let step = at; step !== root;) {
      const next = parents[step] as number;
      parents[step] = root;
      step = next;
    }
    return root;
  };
  const join = (at: number, key: string): void => {
    const other = firstWith.get(key);
    if (other === undefined) firstWith.set(key, at);
    else {
      const [a, b] = [rootOf(at), rootOf(other)];
      parents[Math.max(a, b)] = Math.min(a, b);
    }
  };
  return {
    add: (record, goldTitles) => {
      const at = parents.push(parents.length) - 1;
      join(at, `q${shortHash(normaliseSentence(record.question))}`);
      if (rule === 'page') for (const title of goldTitles) join(at, `p${shortHash(normaliseTitle(title))}`);
    },
    groups: () => {
      const members = new Map<number, number[]>();
      for (let at = 0; at < parents.length; at++) {
        const root = rootOf(at);
        const known = members.get(root);
        if (known) known.push(at);
        else members.set(root, [at]);
      }
      return [...members.values()];
    },
  };
}

/**
 * Divides the groups: in seeded random order each goes to dev while it still fits into `round(devShare × questions)`, else to train.
 * Returns the dev questions' positions.
 */
export function drawDev(groups: readonly number[][], devShare: number, seed: number): Set<number> {
  const questions = groups.reduce((sum, group) => sum + group.length, 0);
  const wanted = Math.round(devShare * questions);
  const dev = new Set<number>();
  for (const group of splitStream(seed).shuffle(groups)) {
    if (dev.size + group.length > wanted) continue;
    for (const at of group) dev.add(at);
    if (dev.size === wanted) break;
  }
  return dev;
}

export function splitStream(seed: number): Random {
  return random(seed, 'labels', 'split');
}

function shortHash(text: string): string {
  return sha256(text).slice(0, 16);
}

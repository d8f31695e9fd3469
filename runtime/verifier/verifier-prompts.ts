import { VERIFIER_FIELDS, type VerifierFields } from '../../src/core/verifier-fields.js';
import type { LabelTokens } from './verifier-scorer.js';
import type { TreePrompt } from './verifier-tree.js';

/** Renders pairs as token ids: what serving needs of the verifier's renderer. */
export interface PromptSource {
  readonly labelIds: LabelTokens;
  prompt(fields: VerifierFields): { ids: readonly number[]; cut: number };
}

/** Prompts with the prefixes that are worth keeping: system text, question, claim. */
export interface KeptPrompts {
  /** What every prompt begins with. */
  readonly system: readonly number[];
  prompt(fields: VerifierFields): TreePrompt & { cut: number };
}

/** Claims whose prefix lengths are remembered at once. */
const REMEMBERED = 1024;

/**
 * Finds the shared prefixes by token ids: what two prompts have in common that differ from the first letter of a field on. A tokenizer that
 * merges across the border between two fields thus only makes a prefix shorter; it never makes a score wrong.
 */
export function keptPrompts(source: PromptSource): KeptPrompts {
  const shared = (fields: VerifierFields, from: keyof VerifierFields): number[] => {
    const [a, b] = PROBES.map((probe) => source.prompt(probed(fields, from, probe)).ids) as [readonly number[], readonly number[]];
    let length = 0;
    while (length < a.length && a[length] === b[length]) length++;
    return a.slice(0, length);
  };
  const system = shared(EMPTY, 'question');
  const remembered = new Map<string, number[]>();
  const prefixesOf = (fields: VerifierFields): number[] => {
    const key = JSON.stringify(CLAIM_FIELDS.map((field) => fields[field]));
    const known = remembered.get(key);
    if (known) return known;
    if (remembered.size >= REMEMBERED) remembered.clear();
    const lengths = [system.length, shared(fields, 'answer_candidate').length, shared(fields, 'evidence_page').length];
    remembered.set(key, lengths);
    return lengths;
  };
  return {
    system,
    prompt: (fields) => {
      const { ids, cut } = source.prompt(fields);
      const lengths = prefixesOf(fields).filter((one, at, all) => one > 0 && one < ids.length && all.indexOf(one) === at);
      return { ids, cut, keep: lengths.sort((a, b) => a - b) };
    },
  };
}

/** Two beginnings that no tokenizer reads alike. */
const PROBES = ['A', 'z'] as const;

/** What the prompts of one claim share. */
const CLAIM_FIELDS = VERIFIER_FIELDS.slice(0, VERIFIER_FIELDS.indexOf('evidence_page'));

const EMPTY = Object.fromEntries(VERIFIER_FIELDS.map((name) => [name, ''])) as VerifierFields;

/** The fields with `probe` in place of every one from `from` on. */
function probed(fields: VerifierFields, from: keyof VerifierFields, probe: string): VerifierFields {
  const first = VERIFIER_FIELDS.indexOf(from);
  return { ...fields, ...Object.fromEntries(VERIFIER_FIELDS.slice(first).map((field) => [field, probe])) };
}

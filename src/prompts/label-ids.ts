import { InputError } from '../core/errors.js';

/** Token ids of each answer, as they follow the prompt. */
export type LabelIds<L extends string> = { readonly [label in L]: readonly number[] };

/**
 * The ids of each label where it follows `before`, the prompt's last piece of text: those of both together less those of `before` alone.
 * The string is scored as it stands, without a leading space (fixed here; the ids go to every manifest). Throws InputError by name for an
 * empty label, a label that is read as one with the end of the prompt, and two labels of equal ids.
 */
export function labelIds<const L extends string>(labels: readonly L[], before: string, encode: (text: string) => number[]): LabelIds<L> {
  const prompt = encode(before);
  const found = {} as { [label in L]: number[] };
  for (const label of labels) {
    const joint = encode(before + label);
    const own = joint.slice(prompt.length);
    if (prompt.some((id, at) => joint[at] !== id))
      throw new InputError(
        `label ${JSON.stringify(label)}: its beginning is read as one token with the end of the prompt ${JSON.stringify(before)}, ` +
          'so its probability could not be told from that of the prompt (boundary merge)',
      );
    if (own.length === 0) throw new InputError(`label ${JSON.stringify(label)}: no token of its own, expected at least one`);
    found[label] = own;
  }
  const same = equalLabels(found);
  if (same !== undefined)
    throw new InputError(
      `labels ${JSON.stringify(same[0])} and ${JSON.stringify(same[1])}: equal token ids ${JSON.stringify(found[same[0]])}`,
    );
  return found;
}

/** Two labels that the ids do not tell apart; undefined where all differ. */
export function equalLabels<const L extends string>(ids: LabelIds<L>): readonly [L, L] | undefined {
  const entries = Object.entries(ids) as [L, readonly number[]][];
  for (const [at, [label, own]] of entries.entries()) {
    const other = entries.slice(0, at).find(([, before]) => before.length === own.length && before.every((id, k) => id === own[k]));
    if (other !== undefined) return [other[0], label];
  }
  return undefined;
}

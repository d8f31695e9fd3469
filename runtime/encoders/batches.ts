/** Tokens of one batch, padding included. Measured on two cores with MiniLM: larger batches are no faster. */
const BATCH_TOKENS = 1024;
/** Texts are padded to a multiple of this. */
const PAD_TO = 4;

export interface Batch {
  /** Padded length. */
  length: number;
  /** Positions in the input. */
  members: number[];
}

/**
 * Groups texts by padded length, shortest first, into batches of at most `BATCH_TOKENS` tokens (one text at least). The padded length of a
 * text follows from its own length alone, never from its neighbours: so its vector does not depend on what it was encoded together with.
 * With `alone` every text is a batch without padding: an int8 model scales its numbers by the largest of the whole batch.
 */
export function planBatches(lengths: readonly number[], alone = false): Batch[] {
  if (alone) return lengths.map((length, at) => ({ length, members: [at] }));
  const byLength = new Map<number, number[]>();
  for (const [at, length] of lengths.entries()) {
    const padded = Math.ceil(length / PAD_TO) * PAD_TO;
    const members = byLength.get(padded);
    if (members) members.push(at);
    else byLength.set(padded, [at]);
  }
  const batches: Batch[] = [];
  for (const [length, members] of [...byLength].toSorted(([a], [b]) => a - b)) {
    const size = Math.max(1, Math.floor(BATCH_TOKENS / length));
    for (let at = 0; at < members.length; at += size) batches.push({ length, members: members.slice(at, at + size) });
  }
  return batches;
}

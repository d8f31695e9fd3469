import type { Batch } from './examples.js';

/** Which claim a slot learns: `order`: the claim of the same number; `hungarian`: the assignment with the largest sum of cosines. */
export const MATCHINGS = ['order', 'hungarian'] as const;
export type Matching = (typeof MATCHINGS)[number];

/**
 * The best assignment of n claims to the first n slots: `result[slot]` is the claim. Exact, by the Hungarian method's problem solved over
 * subsets, which for at most eight slots is smaller and as fast. `score[slot * n + claim]`; of equal sums the one that keeps claim order wins.
 */
export function bestAssignment(score: Float64Array, n: number): number[] {
  const full = (1 << n) - 1;
  const best = new Float64Array(full + 1).fill(-Infinity);
  const last = new Int8Array(full + 1).fill(-1);
  best[0] = 0;
  for (let taken = 0; taken < full; taken++) {
    const slot = bits(taken);
    for (let claim = 0; claim < n; claim++) {
      if (taken & (1 << claim)) continue;
      const next = taken | (1 << claim);
      const sum = (best[taken] as number) + (score[slot * n + claim] as number);
      // Claims are tried in order, and the last slot of equal sums takes the highest claim: the identity wins a tie of all.
      if (sum > (best[next] as number) || (sum === best[next] && claim > (last[next] as number))) {
        best[next] = sum;
        last[next] = claim;
      }
    }
  }
  const assigned: number[] = Array.from({ length: n }, () => 0);
  for (let taken = full, slot = n - 1; slot >= 0; slot--) {
    const claim = last[taken] as number;
    assigned[slot] = claim;
    taken &= ~(1 << claim);
  }
  return assigned;
}

/** Reorders each question's targets so that they stand at the slots that match them best under these drafts ([size × slots × dimensions]). */
export function matchTargets(batch: Batch, drafts: Float32Array, slots: number, dimensions: number): Batch {
  const targets = Float32Array.from(batch.targets);
  for (let at = 0; at < batch.size; at++) {
    const n = batch.mask.subarray(at * slots, (at + 1) * slots).reduce((sum, one) => sum + one, 0);
    if (n < 2) continue;
    const score = new Float64Array(n * n);
    const part = (from: Float32Array, slot: number): Float32Array =>
      from.subarray((at * slots + slot) * dimensions, (at * slots + slot + 1) * dimensions);
    for (let slot = 0; slot < n; slot++) {
      for (let claim = 0; claim < n; claim++) score[slot * n + claim] = dot(part(drafts, slot), part(batch.targets, claim));
    }
    for (const [slot, claim] of bestAssignment(score, n).entries())
      targets.set(part(batch.targets, claim), (at * slots + slot) * dimensions);
  }
  return { ...batch, targets };
}

export function dot(a: Float32Array, b: Float32Array): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += (a[i] as number) * (b[i] as number);
  return sum;
}

function bits(value: number): number {
  let count = 0;
  for (let rest = value; rest !== 0; rest &= rest - 1) count++;
  return count;
}

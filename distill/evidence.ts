import type { Batch, QuestionEvidence } from './examples.js';
import { dot } from './slot-matching.js';

/** The evidence of a batch and the margins that its claims give on it, as row-major arrays. */
export interface EvidenceBatch {
  /** Questions of the batch that have evidence. */
  size: number;
  /** Most sentences and most loops of one of them. */
  sentences: number;
  loops: number;
  /** [size × batch]: one-hot, which question of the batch it is. */
  chosen: Float32Array;
  /** [size × sentences × dimensions], padded with zeros. */
  vectors: Float32Array;
  /** [size × loops × sentences]: 0 where a sentence has been retrieved by that loop, else `UNSEEN`. */
  unseen: Float32Array;
  /** [size × slots × loops]: the claim's best cosine up to that loop, 1 − m_j(ℓ). */
  best: Float32Array;
  /** [size × slots × loops]: 1 where there are such a claim, such a loop and evidence by then. */
  mask: Float32Array;
}

/** Added to the cosine of a sentence that a loop has not seen: below every cosine. */
export const UNSEEN = -4;

/** Undefined where no question of the batch has evidence. `evidence` stands in the batch's order; claims are taken as they stand in the slots. */
export function evidenceBatchOf(
  batch: Batch,
  evidence: readonly (QuestionEvidence | undefined)[],
  slots: number,
  dimensions: number,
): EvidenceBatch | undefined {
  const rows = evidence.flatMap((own, at) => (own?.some((loop) => loop.length > 0) ? [{ own, at }] : []));
  if (rows.length === 0) return undefined;
  const loops = Math.max(...rows.map(({ own }) => own.length));
  const sentences = Math.max(...rows.map(({ own }) => own.reduce((sum, loop) => sum + loop.length, 0)));
  const made: EvidenceBatch = {
    size: rows.length,
    sentences,
    loops,
    chosen: new Float32Array(rows.length * batch.size),
    vectors: new Float32Array(rows.length * sentences * dimensions),
    unseen: new Float32Array(rows.length * loops * sentences).fill(UNSEEN),
    best: new Float32Array(rows.length * slots * loops),
    mask: new Float32Array(rows.length * slots * loops),
  };
  for (const [row, { own, at }] of rows.entries()) {
    made.chosen[row * batch.size + at] = 1;
    for (const [sentence, vector] of own.flat().entries()) made.vectors.set(vector, (row * sentences + sentence) * dimensions);
    const seenBy = own.map((_, loop) => own.slice(0, loop + 1).reduce((sum, one) => sum + one.length, 0));
    for (const [loop, seen] of seenBy.entries()) {
      made.unseen.fill(0, (row * loops + loop) * sentences, (row * loops + loop) * sentences + seen);
    }
    for (let slot = 0; slot < slots; slot++) {
      if (batch.mask[at * slots + slot] === 0) continue;
      const claim = batch.targets.subarray((at * slots + slot) * dimensions, (at * slots + slot + 1) * dimensions);
      let best = -Infinity;
      for (const [loop, brought] of own.entries()) {
        for (const sentence of brought) best = Math.max(best, dot(claim, sentence));
        if (best === -Infinity) continue;
        made.best[(row * slots + slot) * loops + loop] = best;
        made.mask[(row * slots + slot) * loops + loop] = 1;
      }
    }
  }
  return made;
}

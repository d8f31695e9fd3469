import { type DrafterModel, predictDrafts } from './drafter-model.js';
import { type Examples, batchOf } from './examples.js';
import { type Matching, dot, matchTargets } from './slot-matching.js';
import type { Tensor, Tf } from './tensors.js';

/** How good drafts are on some questions; all cosines are means over claims that have a slot. */
export interface DraftQuality {
  questions: number;
  /** Claims that have a slot. */
  claims: number;
  cosine: number;
  /** For each slot; null where no question reaches it. */
  cosinePerSlot: (number | null)[];
  /** Share of questions whose number of claims (at most the head's last class) is predicted. */
  countAccuracy: number;
  /** Mean cosine of the same slot's drafts of two different questions: 1 when every question is given the same draft. */
  pairwiseCosine: number;
  /** The same of the claims themselves: what a drafter that copies them would have. */
  pairwiseCosineOfClaims: number;
}

export interface BaselineQuality {
  /** Cosine of the claims to the mean training claim of their slot. */
  meanClaim: number;
  /** Cosine of the claims to their question's own vector. */
  question: number;
}

/**
 * Drafts keep less than this share of the claims' spread (1 − pairwise cosine) between questions: the drafter has collapsed to one answer.
 * Chosen: a residual drafter at its start keeps the questions' spread, one that learnt the mean claim keeps none.
 */
const COLLAPSED_SPREAD = 0.2;

export function collapsed(quality: DraftQuality): boolean {
  return 1 - quality.pairwiseCosine < COLLAPSED_SPREAD * (1 - quality.pairwiseCosineOfClaims);
}

export function draftQuality(
  tf: Tf,
  model: Pick<DrafterModel, 'shape' | 'dimensions' | 'residual'>,
  parameters: readonly Tensor[],
  examples: Examples,
  matching: Matching,
): DraftQuality {
  const { slots, counts: classes } = model.shape;
  const { dimensions } = model;
  const all = examples.questions.map((_, index) => index);
  let batch = batchOf(examples, all, slots, classes);
  const drafts = predictDrafts(tf, model, parameters, batch.questions);
  if (matching === 'hungarian') batch = matchTargets(batch, drafts.slots, slots, dimensions);
  const vector = (of: Float32Array, at: number): Float32Array => of.subarray(at * dimensions, (at + 1) * dimensions);
  const perSlot = Array.from({ length: slots }, () => ({ sum: 0, n: 0 }));
  let right = 0;
  for (let at = 0; at < batch.size; at++) {
    for (const [slot, entry] of perSlot.entries()) {
      if (batch.mask[at * slots + slot] === 0) continue;
      entry.sum += dot(vector(drafts.slots, at * slots + slot), vector(batch.targets, at * slots + slot));
      entry.n++;
    }
    if (argMax(drafts.counts.subarray(at * classes, (at + 1) * classes)) === batch.counts[at]) right++;
  }
  const claims = perSlot.reduce((sum, { n }) => sum + n, 0);
  return {
    questions: batch.size,
    claims,
    cosine: perSlot.reduce((sum, one) => sum + one.sum, 0) / claims,
    cosinePerSlot: perSlot.map(({ sum, n }) => (n === 0 ? null : sum / n)),
    countAccuracy: right / batch.size,
    pairwiseCosine: pairwise(drafts.slots, batch.mask, slots, dimensions),
    pairwiseCosineOfClaims: pairwise(batch.targets, batch.mask, slots, dimensions),
  };
}

/**
 * For each slot the mean of the training claims that it learns, brought to unit length: what a drafter would say that learnt nothing of a
 * question. One mean for all slots would be a weaker baseline, which a collapsed drafter beats.
 */
export function meanClaimVectors(training: Examples, slots: number): Float32Array[] {
  return Array.from({ length: slots }, (_, slot) => {
    const mean = new Float64Array(training.dimensions);
    for (const claims of training.claims) {
      const claim = claims[slot];
      if (claim) for (let i = 0; i < mean.length; i++) mean[i] = (mean[i] as number) + (claim[i] as number);
    }
    const length = Math.sqrt(mean.reduce((sum, one) => sum + one * one, 0));
    return Float32Array.from(mean, (one) => (length === 0 ? 0 : one / length));
  });
}

export function baselineQuality(training: Examples, heldOut: Examples, slots: number): BaselineQuality {
  const means = meanClaimVectors(training, slots);
  let [toMean, toQuestion, n] = [0, 0, 0];
  for (const [index, claims] of heldOut.claims.entries()) {
    for (const [slot, claim] of claims.slice(0, slots).entries()) {
      toMean += dot(claim, means[slot] as Float32Array);
      toQuestion += dot(claim, heldOut.questions[index] as Float32Array);
      n++;
    }
  }
  return { meanClaim: toMean / n, question: toQuestion / n };
}

export function argMax(values: Float32Array): number {
  let best = 0;
  for (let i = 1; i < values.length; i++) if ((values[i] as number) > (values[best] as number)) best = i;
  return best;
}

/**
 * Mean cosine over all pairs of questions within a slot, weighted over slots by their pairs: for unit vectors the pairs sum to
 * (|sum|² − n) / 2. With fewer than two questions in every slot there is no pair: 0.
 */
function pairwise(vectors: Float32Array, mask: Float32Array, slots: number, dimensions: number): number {
  let [total, pairs] = [0, 0];
  for (let slot = 0; slot < slots; slot++) {
    const sum = new Float64Array(dimensions);
    let n = 0;
    for (let row = slot; row < mask.length; row += slots) {
      if (mask[row] === 0) continue;
      n++;
      for (let i = 0; i < dimensions; i++) sum[i] = (sum[i] as number) + (vectors[row * dimensions + i] as number);
    }
    total += sum.reduce((square, one) => square + one * one, 0) - n;
    pairs += n * (n - 1);
  }
  return pairs === 0 ? 0 : total / pairs;
}

import { type DrafterOutputs, LENGTH_EPSILON } from './drafter-model.js';
import type { Scalar, Tensor, Tf } from './tensors.js';

export interface Targets {
  /** [batch × slots × dimensions], unit length or zero. */
  claims: Tensor;
  /** [batch × slots]: 1 where there is a claim. */
  mask: Tensor;
  /** [batch × counts], one-hot. */
  counts: Tensor;
}

/** Retrieved evidence of some questions of the batch, as tensors of the arrays that `EvidenceBatch` describes. */
export interface MarginTargets {
  chosen: Tensor;
  vectors: Tensor;
  unseen: Tensor;
  best: Tensor;
  mask: Tensor;
}

/**
 * Mean over the batch's claims of 1 − cosine(slot, claim), plus `countWeight` times the mean cross-entropy of the number of claims
 * (method.md §7). A scalar.
 */
export function drafterLoss(tf: Tf, outputs: DrafterOutputs, targets: Targets, countWeight: number): Scalar {
  const product = tf.sum(tf.mul(outputs.slots, targets.claims), -1);
  const distance = tf.mul(tf.sub(1, tf.div(product, lengthOf(tf, outputs.slots))), targets.mask);
  const cosineLoss: Scalar = tf.div(tf.sum(distance), tf.sum(targets.mask));
  const crossEntropy: Scalar = tf.neg(tf.mean(tf.sum(tf.mul(tf.logSoftmax(outputs.counts), targets.counts), -1)));
  return tf.add(cosineLoss, tf.mul(crossEntropy, countWeight));
}

/**
 * Mean over claims and loops of (m̂_j(ℓ) − m_j(ℓ))²: the slot's margin on the evidence retrieved so far beside its claim's (method.md §7, margin
 * distillation; no gold label). A scalar.
 */
export function marginLoss(tf: Tf, outputs: DrafterOutputs, targets: MarginTargets): Scalar {
  const [batch, slots, dimensions] = outputs.slots.shape as [number, number, number];
  const unit = tf.div(outputs.slots, tf.expandDims(lengthOf(tf, outputs.slots), -1));
  // A product with one-hot rows instead of a gather, whose gradient not every backend has.
  const chosen = tf.reshape(tf.matMul(targets.chosen, tf.reshape(unit, [batch, slots * dimensions])), [-1, slots, dimensions]);
  const cosines = tf.matMul(chosen, targets.vectors, false, true);
  const best = tf.max(tf.add(tf.expandDims(cosines, 2), tf.expandDims(targets.unseen, 1)), -1);
  const error = tf.mul(tf.square(tf.sub(best, targets.best)), targets.mask);
  return tf.div(tf.sum(error), tf.sum(targets.mask));
}

function lengthOf(tf: Tf, slots: Tensor): Tensor {
  return tf.sqrt(tf.add(tf.sum(tf.square(slots), -1), LENGTH_EPSILON));
}

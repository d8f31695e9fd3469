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

/**
 * Mean over the batch's claims of 1 − cosine(slot, claim), plus `countWeight` times the mean cross-entropy of the number of claims
 * (method.md §7). A scalar.
 */
export function drafterLoss(tf: Tf, outputs: DrafterOutputs, targets: Targets, countWeight: number): Scalar {
  const product = tf.sum(tf.mul(outputs.slots, targets.claims), -1);
  const length = tf.sqrt(tf.add(tf.sum(tf.square(outputs.slots), -1), LENGTH_EPSILON));
  const distance = tf.mul(tf.sub(1, tf.div(product, length)), targets.mask);
  const cosineLoss: Scalar = tf.div(tf.sum(distance), tf.sum(targets.mask));
  const crossEntropy: Scalar = tf.neg(tf.mean(tf.sum(tf.mul(tf.logSoftmax(outputs.counts), targets.counts), -1)));
  return tf.add(cosineLoss, tf.mul(crossEntropy, countWeight));
}

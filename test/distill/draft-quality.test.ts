import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type DrafterModel,
  baselineQuality,
  collapsed,
  draftQuality,
  meanClaimVectors,
  openTensorFlow,
  parameterTensors,
} from '../../distill/index.js';
import { initialParameters } from '../../distill/drafter-model.js';
import { patternExamples } from '../support/drafter-examples.js';

const shape = { hidden: [4], slots: 2, counts: 2 };

/** A drafter whose hidden layer is switched off: its slots are its output bias, residual or not. */
function constantDrafter(bias: Float32Array, dimensions: number, residual: boolean): DrafterModel {
  const parameters = initialParameters(shape, dimensions, 1);
  parameters[2]?.fill(0);
  parameters[3] = bias;
  return { shape, dimensions, residual, parameters };
}

test('P76: a drafter that says the same of every question raises the alarm, one that repeats the question does not', async () => {
  const { tf } = await openTensorFlow('wasm');
  const examples = await patternExamples(50);
  const measure = (model: DrafterModel): ReturnType<typeof draftQuality> => {
    const tensors = parameterTensors(tf, shape, 24, model.parameters);
    const quality = draftQuality(tf, model, tensors, examples, 'order');
    for (const one of tensors) one.dispose();
    return quality;
  };
  const means = meanClaimVectors(examples, 2).flatMap((one) => Array.from(one));
  const same = measure(constantDrafter(Float32Array.of(...means, 0, 1), 24, false));
  assert.ok(Math.abs(same.pairwiseCosine - 1) < 1e-6);
  assert.equal(collapsed(same), true);
  // The mean-claim baseline is exactly this drafter, up to 32-bit rounding.
  assert.ok(Math.abs(same.cosine - baselineQuality(examples, examples, 2).meanClaim) < 1e-6);
  const repeating = measure(constantDrafter(new Float32Array(50), 24, true));
  assert.equal(collapsed(repeating), false);
  assert.ok(Math.abs(repeating.cosine - baselineQuality(examples, examples, 2).question) < 1e-6);
});

test('cosines are means over claims that have a slot, and the count is judged within the head’s classes', async () => {
  const { tf } = await openTensorFlow('wasm');
  const [x, y] = [Float32Array.of(1, 0), Float32Array.of(0, 1)];
  const examples = { dimensions: 2, questions: [x, y, x], claims: [[x], [x, y], [x, y, y]] };
  // Plain slots: (1,0) and (0,1); logits say two claims.
  const model = constantDrafter(Float32Array.of(1, 0, 0, 1, 0, 1), 2, false);
  const tensors = parameterTensors(tf, shape, 2, model.parameters);
  const quality = draftQuality(tf, model, tensors, examples, 'order');
  for (const one of tensors) one.dispose();
  assert.equal(quality.claims, 5);
  assert.deepEqual(quality.cosinePerSlot, [1, 1]);
  assert.equal(quality.cosine, 1);
  // Two of three: the question with three claims counts as the head's last class, two.
  assert.equal(quality.countAccuracy, 2 / 3);
});

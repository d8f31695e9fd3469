import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import {
  type Examples,
  type OpenedTensorFlow,
  type QuestionEvidence,
  drafterSafetensors,
  fitDrafter,
  openTensorFlow,
} from '../../distill/index.js';
import { disposeState } from '../../distill/adam.js';
import { parameterTensors, predictDrafts } from '../../distill/drafter-model.js';
import { UNSEEN, evidenceBatchOf } from '../../distill/evidence.js';
import { batchOf } from '../../distill/examples.js';
import { initialState, trainStep } from '../../distill/fit.js';
import { marginLoss } from '../../distill/losses.js';
import { createMargin } from '../../runtime/index.js';
import { random } from '../../src/core/random.js';
import { fitOptions, patternExamples } from '../support/drafter-examples.js';

let tf: OpenedTensorFlow['tf'];
before(async () => {
  ({ tf } = await openTensorFlow('wasm'));
});

const unit = (...values: number[]): Float32Array => Float32Array.from(values, (one) => one / Math.hypot(...values));
const [east, north, between] = [unit(1, 0), unit(0, 1), unit(3, 4)];

/** Two questions with two slots; the first was never searched for. The second has one claim and three loops, the first of which brought nothing. */
const small: Examples = { dimensions: 2, questions: [east, north], claims: [[east, north], [between]] };
const loops: QuestionEvidence = [[], [east], [north, unit(4, 3)]];

test("a batch's evidence has the claim's best cosine up to each loop, and nothing where there is no evidence yet", () => {
  const batch = batchOf(small, [0, 1], 2, 2);
  const made = evidenceBatchOf(batch, [undefined, loops], 2, 2);
  assert.ok(made);
  assert.deepEqual([made.size, made.sentences, made.loops], [1, 3, 3]);
  assert.deepEqual([...made.chosen], [0, 1]);
  assert.deepEqual([...made.vectors], [...east, ...north, ...unit(4, 3)]);
  assert.deepEqual([...made.unseen], [UNSEEN, UNSEEN, UNSEEN, 0, UNSEEN, UNSEEN, 0, 0, 0]);
  // (3, 4)/5 with east: 0.6; with north 0.8 and with (4, 3)/5 0.96. The second slot has no claim.
  const expected = [0, 0.6, 0.96, 0, 0, 0];
  for (const [at, value] of made.best.entries()) assert.ok(Math.abs(value - (expected[at] as number)) < 1e-6, `${at}: ${value}`);
  assert.deepEqual([...made.mask], [0, 1, 1, 0, 0, 0]);
});

test('a batch without evidence has none, and neither has a question whose loops brought nothing', () => {
  const batch = batchOf(small, [0, 1], 2, 2);
  assert.equal(evidenceBatchOf(batch, [undefined, undefined], 2, 2), undefined);
  assert.equal(evidenceBatchOf(batch, [undefined, [[], []]], 2, 2), undefined);
});

test('the margin loss is the mean squared difference of the margins that the runtime computes', async () => {
  const { batch, evidence, slots, dimensions } = await drawn();
  const made = evidenceBatchOf(batch, evidence, slots, dimensions);
  assert.ok(made);
  const raw = drawnSlots(batch.size * slots * dimensions);
  const outputs = { slots: tf.tensor3d(raw, [batch.size, slots, dimensions]), counts: tf.zeros([batch.size, 3]) };
  const loss = marginLoss(tf, outputs, tensorsOf(made, batch.size, slots, dimensions)).dataSync()[0] as number;
  let [sum, n] = [0, 0];
  for (const [at, own] of evidence.entries()) {
    if (!own) continue;
    const vectors = (from: Float32Array): Float32Array[] =>
      Array.from({ length: slots }, (_, slot) => from.slice((at * slots + slot) * dimensions, (at * slots + slot + 1) * dimensions));
    const claims = vectors(batch.targets).filter((_, slot) => batch.mask[at * slots + slot] === 1);
    const drafts = vectors(raw).map((one) => unit(...one)).slice(0, claims.length); // prettier-ignore
    const [teacher, student] = [createMargin({ targets: claims }), createMargin({ targets: drafts })];
    for (const brought of own) {
      const [wanted, got] = [teacher.observe(brought).perClaim, student.observe(brought).perClaim];
      for (const [claim, value] of wanted.entries()) {
        sum += (value - (got[claim] as number)) ** 2;
        n++;
      }
    }
  }
  // Margins are rounded to 1e-6 there and 32-bit sums here.
  assert.ok(Math.abs(loss - sum / n) < 1e-5, `${loss} and ${sum / n}`);
});

test('a fit with margins brings the margins nearer to those of the claims than one without, and the same seed gives the same bytes', async () => {
  const { examples } = await drawn();
  const none = { dimensions: examples.dimensions, questions: [], claims: [] };
  const options = fitOptions({ epochs: 40, dropout: 0 });
  const error = async (marginWeight: number): Promise<{ loss: number; bytes: Buffer }> => {
    const { model } = await fitDrafter(tf, examples, none, { ...options, marginWeight });
    const { slots } = model.shape;
    const batch = batchOf(examples, [...examples.questions.keys()], slots, model.shape.counts);
    const made = evidenceBatchOf(batch, examples.evidence ?? [], slots, model.dimensions);
    assert.ok(made);
    const parameters = parameterTensors(tf, model.shape, model.dimensions, model.parameters);
    const drafts = predictDrafts(tf, model, parameters, batch.questions);
    const outputs = { slots: tf.tensor3d(drafts.slots, [batch.size, slots, model.dimensions]), counts: tf.zeros([batch.size, 3]) };
    const loss = marginLoss(tf, outputs, tensorsOf(made, batch.size, slots, model.dimensions)).dataSync()[0] as number;
    return { loss, bytes: drafterSafetensors(model) };
  };
  const [without, withMargins, again] = [await error(0), await error(10), await error(10)];
  assert.ok(withMargins.loss < without.loss, `${withMargins.loss} and ${without.loss}`);
  assert.deepEqual(withMargins.bytes, again.bytes);
  const plain = await fitDrafter(tf, { ...examples, evidence: undefined }, none, options);
  assert.deepEqual(without.bytes, drafterSafetensors(plain.model));
});

test('P75: steps with margins leave no tensor behind', async () => {
  const { examples } = await drawn();
  const options = fitOptions({ marginWeight: 1, batch: 12 });
  const model = { shape: options.shape, dimensions: examples.dimensions, residual: true };
  const start = tf.memory().numTensors;
  let state = initialState(tf, options.shape, examples.dimensions, 13);
  const counts = new Set<number>();
  for (let step = 0; step < 100; step++) {
    const next = trainStep(tf, model, state, examples, [...examples.questions.keys()], options);
    disposeState(state);
    state = next.state;
    counts.add(tf.memory().numTensors);
  }
  assert.equal(counts.size, 1);
  disposeState(state);
  assert.equal(tf.memory().numTensors, start);
});

/** Twelve pattern questions; two of three have evidence, one to three loops of up to three drawn sentences. */
async function drawn(): Promise<{
  examples: Examples;
  evidence: (QuestionEvidence | undefined)[];
  batch: ReturnType<typeof batchOf>;
  slots: number;
  dimensions: number;
}> {
  const [slots, dimensions] = [3, 24];
  const plain = await patternExamples(12, dimensions);
  const draw = random(3, 'evidence');
  const sentence = (): Float32Array => unit(...Array.from({ length: dimensions }, () => draw.float() - 0.5));
  const evidence = plain.questions.map((_, at) =>
    at % 3 === 0 ? undefined : Array.from({ length: 1 + draw.int(3) }, () => Array.from({ length: 1 + draw.int(3) }, sentence)),
  );
  const examples = { ...plain, evidence };
  return { examples, evidence, batch: batchOf(examples, [...plain.questions.keys()], slots, 3), slots, dimensions };
}

function drawnSlots(length: number): Float32Array {
  const draw = random(4, 'slots');
  return Float32Array.from({ length }, () => draw.float() - 0.5);
}

function tensorsOf(
  made: NonNullable<ReturnType<typeof evidenceBatchOf>>,
  batch: number,
  slots: number,
  dimensions: number,
): Parameters<typeof marginLoss>[2] {
  return {
    chosen: tf.tensor2d(made.chosen, [made.size, batch]),
    vectors: tf.tensor3d(made.vectors, [made.size, made.sentences, dimensions]),
    unseen: tf.tensor3d(made.unseen, [made.size, made.loops, made.sentences]),
    best: tf.tensor3d(made.best, [made.size, slots, made.loops]),
    mask: tf.tensor3d(made.mask, [made.size, slots, made.loops]),
  };
}

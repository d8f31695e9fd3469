import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import {
  type OpenedTensorFlow,
  chosenExamples,
  drafterSafetensors,
  fitDrafter,
  heldOutSplit,
  openTensorFlow,
} from '../../distill/index.js';
import { adamStep, disposeState } from '../../distill/adam.js';
import { initialState, trainStep } from '../../distill/fit.js';
import { fitOptions, patternExamples } from '../support/drafter-examples.js';

let tf: OpenedTensorFlow['tf'];
before(async () => {
  ({ tf } = await openTensorFlow('wasm'));
});

const none = { dimensions: 24, questions: [], claims: [] };

test('P74: two fits of one seed give the same bytes, with dropout, on WASM and in plain JavaScript; another seed gives others', async () => {
  const examples = await patternExamples(60);
  const held = chosenExamples(examples, [0, 1, 2, 3, 4, 5]);
  for (const backend of ['wasm', 'js'] as const) {
    const opened = await openTensorFlow(backend);
    const fit = async (seed: number): Promise<Buffer> =>
      drafterSafetensors((await fitDrafter(opened.tf, examples, held, fitOptions({ seed }))).model);
    const first = await fit(13);
    assert.deepEqual(await fit(13), first);
    assert.notDeepEqual(await fit(14), first);
  }
  await openTensorFlow('wasm');
});

test('the plain JavaScript backend learns what WASM learns', async () => {
  const examples = await patternExamples(60);
  const loss = async (backend: 'wasm' | 'js'): Promise<number> =>
    (await fitDrafter((await openTensorFlow(backend)).tf, examples, none, fitOptions())).progress.history.at(-1)?.loss as number;
  const [wasm, js] = [await loss('wasm'), await loss('js')];
  // The same draws; sums in another order differ in the last bits of 32-bit floats, which 24 steps carry on.
  assert.ok(Math.abs(wasm - js) < 1e-4, `${wasm} and ${js}`);
  await openTensorFlow('wasm');
});

test('P75: 1,000 steps leave no tensor behind, with dropout and with matched slots', async () => {
  const examples = await patternExamples(32);
  const indices = examples.questions.map((_, index) => index);
  for (const matching of ['order', 'hungarian'] as const) {
    const options = fitOptions({ matching, batch: 32 });
    const model = { shape: options.shape, dimensions: 24, residual: true };
    let state = initialState(tf, options.shape, 24, 13);
    const counts = new Set<number>();
    for (let step = 0; step < 1000; step++) {
      const next = trainStep(tf, model, state, examples, indices, options);
      disposeState(state);
      state = next.state;
      counts.add(tf.memory().numTensors);
    }
    assert.equal(counts.size, 1);
    disposeState(state);
  }
});

test('a fit leaves no tensor behind', async () => {
  const examples = await patternExamples(40);
  const start = tf.memory().numTensors;
  await fitDrafter(tf, examples, chosenExamples(examples, [0, 1, 2]), fitOptions({ epochs: 2 }));
  assert.equal(tf.memory().numTensors, start);
});

test('it goes on from any checkpoint to the bytes of the undisturbed fit', async () => {
  const examples = await patternExamples(60);
  const held = chosenExamples(examples, [0, 1, 2, 3]);
  const saved: Buffer[] = [];
  const options = fitOptions({ epochs: 5 });
  const whole = await fitDrafter(tf, examples, held, options, {
    checkpoints: {
      file: 'fit.checkpoint',
      every: 1,
      load: () => Promise.resolve(undefined),
      save: (bytes) => Promise.resolve(void saved.push(bytes)),
    },
  });
  assert.equal(saved.length, 5);
  for (const checkpoint of saved) {
    const resumed = await fitDrafter(tf, examples, held, options, {
      checkpoints: { file: 'fit.checkpoint', every: 1, load: () => Promise.resolve(checkpoint), save: () => Promise.resolve() },
    });
    assert.deepEqual(drafterSafetensors(resumed.model), drafterSafetensors(whole.model));
    assert.deepEqual(resumed.progress, whole.progress);
  }
});

test('Ctrl-C ends it after the current epoch, with a checkpoint', async () => {
  const examples = await patternExamples(30);
  const abort = new AbortController();
  const saved: Buffer[] = [];
  const fit = fitDrafter(tf, examples, none, fitOptions({ epochs: 9 }), {
    signal: abort.signal,
    onEpoch: ({ epoch }) => epoch === 2 && abort.abort(new Error('interrupted')),
    checkpoints: {
      file: 'fit.checkpoint',
      every: 100,
      load: () => Promise.resolve(undefined),
      save: (bytes) => Promise.resolve(void saved.push(bytes)),
    },
  });
  await assert.rejects(fit, { message: 'interrupted' });
  assert.equal(saved.length, 1);
});

test('early stopping keeps the best held-out epoch and ends after the patience', async () => {
  const examples = await patternExamples(60);
  const { train, heldOut } = heldOutSplit(
    examples.questions.map((_, index) => String(index)),
    0.3,
    13,
  );
  const { progress } = await fitDrafter(
    tf,
    chosenExamples(examples, train),
    chosenExamples(examples, heldOut),
    fitOptions({ epochs: 400, patience: 3, learningRate: 0.03, dropout: 0 }),
  );
  assert.ok(progress.epoch < 400);
  assert.equal(progress.epoch - progress.bestEpoch, 3);
  const cosines = progress.history.map((one) => one.heldOutCosine as number);
  assert.equal(cosines.indexOf(Math.max(...cosines)) + 1, progress.bestEpoch);
});

test('held-out questions are whole texts: one that stands twice is on one side', () => {
  const questions = Array.from({ length: 60 }, (_, at) => `question ${at % 20}`);
  const { train, heldOut } = heldOutSplit(questions, 0.1, 13);
  assert.equal(train.length + heldOut.length, 60);
  // A tenth of 20 different texts, three times each.
  assert.equal(heldOut.length, 6);
  assert.equal(new Set(heldOut.map((at) => questions[at])).size, 2);
  assert.ok(train.every((at) => !heldOut.some((other) => questions[at] === questions[other])));
  assert.deepEqual(heldOutSplit(questions, 0, 13).heldOut, []);
});

test('a question in another case or punctuation is on the same side of the split', () => {
  const questions = Array.from({ length: 40 }, (_, at) => `who wrote book ${at}`);
  const { train, heldOut } = heldOutSplit([...questions, ...questions.map((one) => `${one.toUpperCase()}?`)], 0.25, 13);
  assert.equal(heldOut.length, 20);
  for (const at of heldOut) assert.ok(heldOut.includes((at + 40) % 80) && !train.includes((at + 40) % 80));
});

test('the first step of Adam moves each weight by the learning rate against its gradient’s sign', () => {
  // With zero moments the bias-corrected step is rate · g / (|g| + ε).
  const state = { parameters: [tf.tensor1d([1, 2, 3])], first: [tf.zeros([3])], second: [tf.zeros([3])], step: 0 };
  const next = adamStep(tf, state, [tf.tensor1d([0.5, -4, 1])], { learningRate: 0.1, weightDecay: 0 });
  const moved = [...(next.parameters[0]?.dataSync() ?? [])];
  for (const [at, expected] of [0.9, 2.1, 2.9].entries()) assert.ok(Math.abs((moved[at] as number) - expected) < 1e-6);
  assert.equal(next.step, 1);
});

test('weight decay shrinks weights before the step, and no bias', () => {
  const weight = tf.tensor2d([[1, 1]]);
  const bias = tf.tensor1d([1, 1]);
  const zeros = [tf.zeros([1, 2]), tf.zeros([2])];
  const state = { parameters: [weight, bias], first: zeros, second: zeros, step: 0 };
  const next = adamStep(tf, state, [tf.tensor2d([[1, 1]]), tf.tensor1d([1, 1])], { learningRate: 0.1, weightDecay: 0.5 });
  // 1 · (1 − 0.1 · 0.5) − 0.1 and 1 − 0.1.
  assert.ok(Math.abs((next.parameters[0]?.dataSync()[0] as number) - 0.85) < 1e-6);
  assert.ok(Math.abs((next.parameters[1]?.dataSync()[0] as number) - 0.9) < 1e-6);
});

test('a loss that is no number names the learning rate', async () => {
  const examples = await patternExamples(20);
  await assert.rejects(fitDrafter(tf, examples, none, fitOptions({ learningRate: 1e38, epochs: 3 })), {
    name: 'InputError',
    message: /^the loss is (NaN|-?Infinity) at step \d+: lower --learning-rate \(it is 1e\+38\)$/,
  });
});

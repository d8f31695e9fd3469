import assert from 'node:assert/strict';
import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { before, test } from 'node:test';
import {
  type OpenedTensorFlow,
  type PairRows,
  type SmallTrainOptions,
  encodedPairs,
  fitSmallVerifier,
  judgeExamples,
  openTensorFlow,
  readPairRows,
  trainSmallVerifier,
} from '../../distill/index.js';
import { openSmallVerifier } from '../../runtime/index.js';
import { CLAIM_FORMS } from '../../src/core/labels.js';
import { PAIR_FEATURES_VERSION, pairOf } from '../../src/core/pair-features.js';
import { parseSafetensors } from '../../src/core/safetensors.js';
import { smallVerifierDetails } from '../../src/core/small-verifier.js';
import { temporaryFolder } from '../support/files.js';
import { labelFolder, twoWikiFile } from '../support/label-folder.js';
import { wordEncoder } from '../support/word-encoder.js';

let tensorflow: OpenedTensorFlow;
let folder: string;
let rows: PairRows;

before(async () => {
  tensorflow = await openTensorFlow('wasm');
  ({ folder } = await labelFolder(await twoWikiFile(24), { forms: [...CLAIM_FORMS] }));
  rows = await readPairRows([folder]);
});

function options(dir: string, over: Partial<SmallTrainOptions> = {}): SmallTrainOptions {
  return {
    dir,
    hidden: [16],
    dropout: 0.2,
    weightDecay: 0.01,
    learningRate: 0.01,
    batch: 64,
    epochs: 3,
    patience: 0,
    evidenceText: 'title+sentence',
    titleMatch: false,
    seed: 13,
    ...over,
  };
}

async function folderBytes(dir: string): Promise<{ [name: string]: string }> {
  const names = (await readdir(dir)).toSorted();
  return Object.fromEntries(await Promise.all(names.map(async (name) => [name, (await readFile(join(dir, name))).toString('base64')])));
}

test('P74: the same rows, options and seed give a byte-identical folder, and another seed another one', async () => {
  const root = await temporaryFolder();
  for (const [name, seed] of [
    ['a', 13],
    ['b', 13],
    ['c', 14],
  ] as const)
    await trainSmallVerifier(rows, wordEncoder(), tensorflow, options(join(root, name), { seed }));
  const [a, b, c] = await Promise.all(['a', 'b', 'c'].map((name) => folderBytes(join(root, name))));
  assert.deepEqual(Object.keys(a as object), [
    'manifest.json',
    'small-verifier.onnx',
    'small-verifier.safetensors',
    'training-questions.jsonl',
  ]);
  assert.deepEqual(a, b);
  assert.notDeepEqual(a?.['small-verifier.onnx'], c?.['small-verifier.onnx']);
});

test('it learns from rows of several forms, stops early by its held-out questions, and says what it was made of', async () => {
  const dir = join(await temporaryFolder(), 'out');
  const manifest = await trainSmallVerifier(rows, wordEncoder(), tensorflow, options(dir, { epochs: 40, patience: 4 }));
  const details = smallVerifierDetails.parse(manifest.details);
  assert.deepEqual(details.forms, ['sentence', 'title', 'triple', 'masked']);
  assert.deepEqual(details.datasets, ['2wiki']);
  assert.deepEqual(details.features, { version: PAIR_FEATURES_VERSION, evidence_text: 'title+sentence', title_match: false });
  const { training } = details;
  assert.ok(training.epochs < 40 && training.best_epoch === training.epochs - 4);
  assert.equal(training.history.length, training.epochs);
  const best = Math.max(...training.history.map((one) => one.held_out_macro_f1 as number));
  assert.equal(training.history[training.best_epoch - 1]?.held_out_macro_f1, best);
  // Guessing gives a macro-F1 of about a third.
  assert.ok(best > 0.6, `held-out macro-F1 ${best}`);
  assert.deepEqual(details.held_out.map(({ form }) => form).toSorted(), ['masked', 'sentence', 'title', 'triple']);
  assert.equal(
    details.held_out.reduce((sum, { report }) => sum + report.rows, 0),
    rows.heldOut.length,
  );
  assert.equal(training.rows, rows.training.length);
  // Layers [5·24 + 14 → 16 → 3]: weights and biases.
  assert.equal(details.parameters, 134 * 16 + 16 + 16 * 3 + 3);
});

test('P73, P78: the ONNX graph says what the trained head says, and the safetensors file holds the same weights', async () => {
  const dir = join(await temporaryFolder(), 'out');
  const encoder = { ...wordEncoder(), close: () => Promise.resolve() };
  const { tf } = tensorflow;
  const set = { version: PAIR_FEATURES_VERSION, evidence_text: 'title+sentence', title_match: false } as const;
  await trainSmallVerifier(rows, encoder, tensorflow, options(dir));
  const [training, heldOut] = await encodedPairs([rows.training, rows.heldOut], encoder, set);
  assert.ok(training && heldOut);
  const { model } = await fitSmallVerifier(tf, training, heldOut, options(dir));
  const said = judgeExamples(tf, model, heldOut);
  const verifier = await openSmallVerifier(dir, encoder);
  const scores = await verifier.score(rows.heldOut.map(pairOf));
  await verifier.close();
  assert.equal(scores.length, said.length);
  for (const [at, { lp_match, lp_partial, lp_null }] of scores.entries())
    for (const [label, lp] of [lp_match, lp_partial, lp_null].entries())
      // Sums of 134 products in 32-bit floats in another order.
      assert.ok(Math.abs(Math.exp(lp) - (said[at]?.probabilities[label] as number)) < 1e-5);
  const file = join(dir, 'small-verifier.safetensors');
  const tensors = parseSafetensors(await readFile(file), file);
  for (const [at, name] of ['hidden.0.weight', 'hidden.0.bias', 'out.weight', 'out.bias'].entries())
    assert.deepEqual(tensors.floats(name), model.parameters[at]);
});

test('P75: tensors do not grow from epoch to epoch', async () => {
  const { tf } = tensorflow;
  const set = { version: PAIR_FEATURES_VERSION, evidence_text: 'sentence', title_match: true } as const;
  const [training, heldOut] = await encodedPairs([rows.training, rows.heldOut], wordEncoder(), set);
  assert.ok(training && heldOut);
  const before = tf.memory().numTensors;
  const seen: number[] = [];
  await fitSmallVerifier(tf, training, heldOut, options('', { epochs: 4 }), { onEpoch: () => seen.push(tf.memory().numTensors) });
  assert.equal(seen.length, 4);
  assert.deepEqual(new Set(seen).size, 1);
  assert.equal(tf.memory().numTensors, before);
});

test('P77: every text is encoded once, whatever the epochs', async () => {
  const texts = new Set(
    [...rows.training, ...rows.heldOut].flatMap((row) => [
      `q ${row.question}`,
      `q ${row.expected_claim}`,
      `p ${row.evidence_page}. ${row.evidence_sentence}`,
    ]),
  ).size;
  for (const epochs of [1, 3]) {
    const encoder = wordEncoder();
    await trainSmallVerifier(rows, encoder, tensorflow, options(join(await temporaryFolder(), 'out'), { epochs }));
    assert.deepEqual([encoder.calls, encoder.texts], [2, texts]);
  }
});

test('P15: a question that trains in one folder and is held out in another is refused', async () => {
  const other = await labelFolder(await twoWikiFile(24), { forms: [...CLAIM_FORMS], seed: 5 });
  const error = await readPairRows([folder, other.folder]).catch((one: unknown) => one as Error);
  assert.ok(error instanceof Error);
  assert.match(
    error.message,
    /^\S+, row \d+, question "\S+": the question is in (train|dev) in one folder and in (train|dev) in this one: held-out rows would not be held out$/,
  );
});

test('rows of forms that were not asked for are left out, counted, and training on one form is warned of', async () => {
  const titles = await readPairRows([folder], ['title']);
  assert.equal(titles.training.length + titles.heldOut.length + titles.leftOut, rows.training.length + rows.heldOut.length);
  const manifest = await trainSmallVerifier(
    titles,
    wordEncoder(),
    tensorflow,
    options(join(await temporaryFolder(), 'out'), { epochs: 1, titleMatch: true }),
  );
  assert.equal(manifest.counts.rows_of_other_forms, titles.leftOut);
  assert.deepEqual(manifest.warnings, [
    'trained on the form title alone: on claims worded otherwise, as generated ones are, it will do worse (labels build --forms)',
    'with --title-match: on gold claims the title alone tells null from the other labels, so figures on gold claims say little',
  ]);
  await assert.rejects(readPairRows([folder], ['subquestion']), {
    name: 'InputError',
    message: `${folder}: no training row of the forms subquestion`,
  });
});

import assert from 'node:assert/strict';
import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { openTensorFlow, readClaimQuestions, trainDrafter } from '../../../distill/index.js';
import { openDraftModel, openDrafter } from '../../../runtime/index.js';
import { type DrafterDetails, drafterDetails } from '../../../src/core/drafter.js';
import type { Manifest } from '../../../src/core/manifest.js';
import { changedManifest, damagedCopy } from '../../support/damage.js';
import { fitOptions } from '../../support/drafter-examples.js';
import { patternQuestions, wordEncoder } from '../../support/word-encoder.js';

const made = new Map<number, ReturnType<typeof train>>();

/** Trained once for each share of held-out questions; a test that changes files takes a copy. */
function trained(heldOut: number): ReturnType<typeof train> {
  const known = made.get(heldOut) ?? train(heldOut);
  made.set(heldOut, known);
  return known;
}

async function train(heldOut: number): Promise<{ dir: string; manifest: Manifest }> {
  const root = await mkdtemp(join(tmpdir(), 'hopgate-drafter-'));
  const file = join(root, 'claims.jsonl');
  await writeFile(
    file,
    patternQuestions(200)
      .map((one) => `${JSON.stringify(one)}\n`)
      .join(''),
  );
  const dir = join(root, 'drafter');
  const options = {
    ...fitOptions({ shape: { hidden: [48, 32], slots: 3, counts: 3 }, epochs: 25 }),
    dir,
    heldOut,
    learningCurve: [],
    checkpointEvery: 5,
  };
  return { dir, manifest: await trainDrafter(await readClaimQuestions(file), wordEncoder(), await openTensorFlow('wasm'), options) };
}

test('P78: a drafter drafts as many unit slots as it predicts claims, near the claims of a new question', async () => {
  const { dir, manifest } = await trained(0.1);
  const encoder = wordEncoder();
  const warnings: string[] = [];
  const drafter = await openDrafter(dir, { encoder: encoder.identity, warn: (message) => warnings.push(message) });
  assert.deepEqual(warnings, []);
  assert.equal(drafter.sha256, manifest.outputs.find((one) => one.name === 'drafter.onnx')?.sha256);
  const [question, claim] = await encoder.encode(['where was name3 born', 'name3 birth place'], 'query');
  const draft = await drafter.draft(question as Float32Array);
  assert.equal(draft.k, 1);
  assert.equal(draft.slots.length, 1);
  const cosine = (draft.slots[0] as Float32Array).reduce((sum, one, at) => sum + one * (claim?.[at] as number), 0);
  assert.ok(cosine > 0.8, String(cosine));
  assert.ok(Math.abs(Math.hypot(...(draft.slots[0] as Float32Array)) - 1) < 1e-6);
  const [two] = await encoder.encode(['who directed name1 and married name2'], 'query');
  assert.equal((await drafter.draft(two as Float32Array)).k, 2);
  await assert.rejects(drafter.draft(new Float32Array(5)), { name: 'RangeError', message: 'question: got 5 numbers, expected 24' });
  await drafter.close();
});

test('P31: a drafter of another encoder is refused by the name of what differs', async () => {
  const { dir } = await trained(0.1);
  const { identity } = wordEncoder();
  await assert.rejects(openDrafter(dir, { encoder: { ...identity, name: 'minilm' } }), {
    name: 'ProfileMismatchError',
    field: 'encoder.name',
    message:
      'encoder.name differs: the drafter was made with "words", this run uses "minilm"; a drafter only understands the encoder that it was trained on: train one for this encoder',
  });
  await assert.rejects(openDrafter(dir, { encoder: { ...identity, query_prefix: 'query: ' } }), {
    name: 'ProfileMismatchError',
    field: 'encoder.query_prefix',
  });
});

test('a drafter that was not shown to beat its baselines warns when it is loaded', async () => {
  const { dir } = await trained(0);
  const warnings: string[] = [];
  const drafter = await openDrafter(dir, { encoder: wordEncoder().identity, warn: (message) => warnings.push(message) });
  await drafter.close();
  assert.deepEqual(warnings, [
    `${dir}: beatsBaselines is false: it was never measured on held-out questions (the mean claim vector, the question's own vector)`,
  ]);
});

test('a flipped byte in any of its files is refused, read or not', async () => {
  const { dir: original, manifest } = await trained(0.1);
  for (const { name, sha256 } of manifest.outputs.filter((one) => one.bytes > 0)) {
    const { folder, file } = await damagedCopy(original, name);
    await assert.rejects(openDrafter(folder, { encoder: wordEncoder().identity }), (error: Error) => {
      assert.equal(error.name, 'InputError');
      assert.match(
        error.message,
        new RegExp(`^${file}: got sha256 [0-9a-f]{64}, expected ${sha256} as in the manifest: the file was changed or damaged$`),
      );
      return true;
    });
  }
});

test('a manifest whose slots, counts, widths or parameters are not those of weights and graph is refused', async () => {
  const { dir } = await trained(0.1);
  const { identity } = wordEncoder();
  // 24 → 48 → 32 → 3 × 24 + 3: 24·48 + 48 + 48·32 + 32 + 32·75 + 75 = 5,243 parameters.
  const cases: [(details: DrafterDetails) => void, string][] = [
    [({ shape }) => (shape.slots = 2), ', field out.weight: got the shape [32,75], expected [32,51] as in the manifest'],
    [({ shape }) => (shape.counts = 4), ', field out.weight: got the shape [32,75], expected [32,76] as in the manifest'],
    [({ shape }) => (shape.hidden = [49, 32]), ', field hidden.0.weight: got the shape [24,48], expected [24,49] as in the manifest'],
    [({ shape }) => (shape.hidden = [48]), ', field out.weight: got the shape [32,75], expected [48,75] as in the manifest'],
    [(details) => (details.parameters = 5242), ': the manifest says 5242 parameters, expected 5243, as many as these weights are'],
  ];
  for (const [change, message] of cases) {
    const folder = await changedManifest(dir, drafterDetails, change);
    await assert.rejects(openDrafter(folder, { encoder: identity }), {
      name: 'InputError',
      message: `${join(folder, 'drafter.safetensors')}${message}`,
    });
  }
});

test('a graph of other slots, counts or dimensions than what is said of it is refused', async () => {
  const { dir } = await trained(0.1);
  const onnx = await readFile(join(dir, 'drafter.onnx'));
  for (const [said, message] of [
    [
      { slots: 2, counts: 3, dimensions: 24 },
      'field slots: got float32 [batch × 3 × 24], expected float32 [batch × 2 × 24] as in the manifest',
    ],
    [
      { slots: 3, counts: 2, dimensions: 24 },
      'field count_logits: got float32 [batch × 3], expected float32 [batch × 2] as in the manifest',
    ],
    [{ slots: 3, counts: 3, dimensions: 12 }, 'field question: got float32 [batch × 24], expected float32 [batch × 12] as in the manifest'],
  ] as const)
    await assert.rejects(openDraftModel(onnx, 'drafter.onnx', said), { name: 'InputError', message: `drafter.onnx, ${message}` });
});

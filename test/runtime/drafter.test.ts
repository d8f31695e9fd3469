import assert from 'node:assert/strict';
import { cp, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { openTensorFlow, readClaimQuestions, trainDrafter } from '../../distill/index.js';
import { openDrafter } from '../../runtime/index.js';
import type { Manifest } from '../../src/core/manifest.js';
import { fitOptions } from '../support/drafter-examples.js';
import { patternQuestions, wordEncoder } from '../support/word-encoder.js';

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

test('a flipped byte in the graph is refused', async () => {
  const { dir: original, manifest } = await trained(0.1);
  const dir = join(await mkdtemp(join(tmpdir(), 'hopgate-drafter-')), 'damaged');
  await cp(original, dir, { recursive: true });
  const file = join(dir, 'drafter.onnx');
  const bytes = await readFile(file);
  const middle = bytes.length >> 1;
  bytes[middle] = (bytes[middle] as number) ^ 1;
  await writeFile(file, bytes);
  const expected = manifest.outputs.find((one) => one.name === 'drafter.onnx')?.sha256 as string;
  await assert.rejects(openDrafter(dir, { encoder: wordEncoder().identity }), (error: Error) => {
    assert.equal(error.name, 'InputError');
    assert.match(
      error.message,
      new RegExp(`^${file}: got sha256 [0-9a-f]{64}, expected ${expected} as in the manifest: the file was changed or damaged$`),
    );
    return true;
  });
});

import assert from 'node:assert/strict';
import { mkdtemp, readFile, readdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { type ClaimQuestions, type TrainOptions, openTensorFlow, readClaimQuestions, trainDrafter } from '../../distill/index.js';
import { type Claim, claimColumns } from '../../src/core/claims.js';
import { drafterDetails } from '../../src/core/drafter.js';
import { openOutputFolder } from '../../src/core/output-folder.js';
import { random } from '../../src/core/random.js';
import { flipByte } from '../support/damage.js';
import { fitOptions } from '../support/drafter-examples.js';
import { patternQuestions, wordEncoder } from '../support/word-encoder.js';

async function temporary(): Promise<string> {
  return mkdtemp(join(tmpdir(), 'hopgate-drafter-'));
}

async function patternFile(count: number, extra: readonly string[] = []): Promise<string> {
  const file = join(await temporary(), 'claims.jsonl');
  await writeFile(file, [...patternQuestions(count).map((one) => JSON.stringify(one)), ...extra, ''].join('\n'));
  return file;
}

function options(dir: string, over: Partial<TrainOptions> = {}): TrainOptions {
  return { ...fitOptions(), dir, heldOut: 0.2, learningCurve: [], checkpointEvery: 2, ...over };
}

async function folderBytes(dir: string): Promise<{ [name: string]: string }> {
  const names = (await readdir(dir)).toSorted();
  return Object.fromEntries(await Promise.all(names.map(async (name) => [name, (await readFile(join(dir, name))).toString('base64')])));
}

test('P74: the same claims, options and seed give a byte-identical folder, manifest included', async () => {
  const claims = await readClaimQuestions(await patternFile(60));
  const tensorflow = await openTensorFlow('wasm');
  const root = await temporary();
  for (const name of ['a', 'b']) {
    await trainDrafter(claims, wordEncoder(), tensorflow, options(join(root, name), { learningCurve: [10, 20, 5000] }));
  }
  const [a, b] = [await folderBytes(join(root, 'a')), await folderBytes(join(root, 'b'))];
  assert.deepEqual(Object.keys(a), [
    'drafter.onnx',
    'drafter.safetensors',
    'manifest.json',
    'quarantine.jsonl',
    'training-questions.jsonl',
  ]);
  assert.deepEqual(a, b);
});

test('P77: every text is encoded once before training: more epochs and a learning curve call the encoder no more', async () => {
  const claims = await readClaimQuestions(await patternFile(60));
  const tensorflow = await openTensorFlow('wasm');
  const texts = new Set(claims.questions.flatMap((one) => [one.question, ...one.claims])).size;
  for (const epochs of [1, 2, 7]) {
    const encoder = wordEncoder();
    await trainDrafter(claims, encoder, tensorflow, options(join(await temporary(), 'out'), { epochs, learningCurve: [20] }));
    assert.deepEqual([encoder.calls, encoder.texts], [1, texts]);
  }
});

test('P76: it learns claims that follow from questions, and says that it beats both baselines', async () => {
  const claims = await readClaimQuestions(await patternFile(300), { source: 'generated' });
  const manifest = await trainDrafter(
    claims,
    wordEncoder(),
    await openTensorFlow('wasm'),
    options(join(await temporary(), 'out'), { shape: { hidden: [48, 32], slots: 3, counts: 3 }, epochs: 40, learningCurve: [40] }),
  );
  const details = drafterDetails.parse(manifest.details);
  assert.equal(details.beatsBaselines, true);
  assert.equal(details.label, 'drafter of generated claims (CoVeR-D)');
  const { held_out: heldOut, learning_curve: curve } = details;
  assert.ok(heldOut);
  assert.ok(heldOut.cosine > heldOut.baselines.question + 0.05);
  assert.ok(heldOut.count_accuracy > 0.95);
  // No question has a third claim.
  assert.equal(heldOut.cosine_per_slot[2], null);
  assert.equal(heldOut.collapsed, false);
  assert.deepEqual(
    curve.map((one) => one.questions),
    [40, manifest.counts.training],
  );
  assert.ok((curve[1]?.cosine as number) > (curve[0]?.cosine as number));
  assert.deepEqual(manifest.warnings, []);
});

test('P76: a drafter that learnt from shuffled claims says that it beats no baseline', async () => {
  const claims = await readClaimQuestions(await patternFile(120));
  const others = random(1).shuffle(claims.questions);
  const shuffled: ClaimQuestions = {
    ...claims,
    questions: claims.questions.map(({ question }, at) => ({ question, claims: others[at]?.claims ?? [] })),
  };
  const manifest = await trainDrafter(
    shuffled,
    wordEncoder(),
    await openTensorFlow('wasm'),
    options(join(await temporary(), 'out'), { residual: false, epochs: 30 }),
  );
  assert.equal(manifest.details.beatsBaselines, false);
  assert.ok(
    manifest.warnings.includes(
      'the drafter does not beat both baselines (the mean claim vector, the question itself) on held-out questions: beatsBaselines is false',
    ),
  );
});

test('questions with more claims than slots are counted, and without held-out questions nothing is claimed', async () => {
  const file = await patternFile(12, [
    JSON.stringify({ question: 'a long one', claims: ['a', 'b', 'c', 'd', 'e'] }),
    JSON.stringify({ question: 'an empty one', claims: ['', 'x'] }),
  ]);
  const manifest = await trainDrafter(
    await readClaimQuestions(file),
    wordEncoder(),
    await openTensorFlow('wasm'),
    options(join(await temporary(), 'out'), { heldOut: 0, epochs: 1 }),
  );
  assert.equal(manifest.counts.questions_over_slots, 1);
  assert.equal(manifest.counts.claims_dropped, 2);
  assert.equal(manifest.counts.empty_claims, 1);
  assert.deepEqual(manifest.warnings, [
    '1 of 14 questions have more than 3 claims; 2 claims have no slot',
    '1 claims have an empty text and are left out',
    'no question was held out, so nothing shows that the drafter beats its baselines: beatsBaselines is false',
  ]);
  assert.equal(manifest.details.held_out, null);
});

test('an interrupted training goes on to the bytes of an undisturbed one', async () => {
  const claims = await readClaimQuestions(await patternFile(60));
  const tensorflow = await openTensorFlow('wasm');
  const root = await temporary();
  const wanted = { learningCurve: [15, 30], epochs: 6 };
  await trainDrafter(claims, wordEncoder(), tensorflow, options(join(root, 'whole'), wanted));
  for (const stage of ['learning curve, 15 questions', 'learning curve, 30 questions', 'training']) {
    const dir = join(root, stage.replaceAll(/\W+/g, '-'));
    const abort = new AbortController();
    const stopped = trainDrafter(
      claims,
      wordEncoder(),
      tensorflow,
      options(dir, {
        ...wanted,
        signal: abort.signal,
        onProgress: (now, done) => now === stage && done === 3 && abort.abort(new Error('interrupted')),
      }),
    );
    await assert.rejects(stopped, { message: 'interrupted' });
    await trainDrafter(claims, wordEncoder(), tensorflow, options(dir, { ...wanted, resume: true }));
    assert.deepEqual(await folderBytes(dir), await folderBytes(join(root, 'whole')));
  }
});

test('a checkpoint of which a byte was changed is refused by name, and so is an entry of the learning curve', async () => {
  const claims = await readClaimQuestions(await patternFile(40));
  const tensorflow = await openTensorFlow('wasm');
  const dir = join(await temporary(), 'out');
  const abort = new AbortController();
  const given = options(dir, { learningCurve: [10] });
  const stopped = trainDrafter(claims, wordEncoder(), tensorflow, {
    ...given,
    signal: abort.signal,
    onProgress: (stage, done) => stage === 'training' && done === 2 && abort.abort(new Error('interrupted')),
  });
  await assert.rejects(stopped, { message: 'interrupted' });
  const resumed = (): Promise<unknown> => trainDrafter(claims, wordEncoder(), tensorflow, { ...given, resume: true });
  const checkpoint = join(dir, '.unfinished', 'fit.checkpoint');
  await flipByte(checkpoint);
  const error = await resumed().catch((one: unknown) => one as Error);
  const [got, expected] = (error as Error).message.match(/[0-9a-f]{64}/g) ?? [];
  assert.equal(
    (error as Error).message,
    `${checkpoint}: got sha256 ${got}, expected ${expected} as it was written: the checkpoint was changed or damaged; start again with --force`,
  );
  assert.equal((error as Error).name, 'InputError');
  const curve = join(dir, '.unfinished', 'learning-curve.jsonl');
  await writeFile(curve, (await readFile(curve, 'utf8')).replace('"questions":10', '"questions":11'));
  await assert.rejects(resumed(), {
    name: 'InputError',
    message: `${curve}, line 1: damaged journal entry (not what was written); start again with --force`,
  });
});

test('a bad line is set aside with its place; a file without any claims is refused', async () => {
  const file = await patternFile(2, [
    '{"question": "q"}',
    'no json',
    '{"question_id": "x", "question": "q", "claims": []}',
    '{"question": " \\t", "claims": ["a"]}',
    '{"question_id": "y", "question": "q", "claims": ["a"]}',
    '{"question_id": "y", "question": "r", "claims": ["b"]}',
  ]);
  const read = await readClaimQuestions(file);
  assert.equal(read.questions.length, 4);
  assert.equal(read.repeatedIds, 1);
  assert.deepEqual(read.setAside, [
    {
      action: 'skipped',
      row: 2,
      line: 3,
      question_id: null,
      reason: 'bad_field',
      field: 'claims',
      detail:
        'line 3, field claims: Invalid input: expected array, received undefined; the line has question, and --field names the list of claims',
    },
    {
      action: 'skipped',
      row: 3,
      line: 4,
      question_id: null,
      reason: 'bad_json',
      field: null,
      detail: 'got "no json", expected one JSON object',
    },
    {
      action: 'skipped',
      row: 4,
      line: 5,
      question_id: 'x',
      reason: 'no_claims',
      field: 'claims',
      detail: 'line 5: the list of claims has no text',
    },
    {
      action: 'skipped',
      row: 5,
      line: 6,
      question_id: null,
      reason: 'bad_field',
      field: 'question',
      detail: 'line 6, field question: the question is blank',
    },
  ]);
  await assert.rejects(readClaimQuestions(file, { field: 'titles' }), {
    name: 'InputError',
    message: `${file}: holds no question with claims (the first was set aside: line 1, field titles: Invalid input: expected array, received undefined; the line has question, claims, and --field names the list of claims)`,
  });
  await assert.rejects(readClaimQuestions(file, { claimText: 'title' }), {
    message: `${file}: --claim-text is for a claims folder; JSON lines hold the texts themselves, --field names their list`,
  });
  await assert.rejects(readClaimQuestions('/nowhere/claims'), { message: '/nowhere/claims: no such file or folder' });
});

test('a claims folder is read by its source’s claim text, or by the one asked for', async () => {
  const dir = join(await temporary(), 'claims');
  const out = await openOutputFolder({ dir, kind: 'claims', command: 'claims build', options: {}, seed: 13, inputs: [] });
  const claim = (row: number, number: number, page: string): Claim => ({
    question_id: `q${row}`,
    row,
    question: `question ${row}`,
    claim: number,
    source: 'gold',
    page,
    expected_target: page,
    role: 'answer_node',
    answer_type: 'entity',
    expected_claim: `${page}: a sentence`,
    subquestion: null,
  });
  await out.table('claims', claimColumns, [claim(0, 0, 'A'), claim(0, 1, 'B'), claim(1, 0, 'C'), claim(2, 0, '')], 'arrow');
  await out.finish({ counts: {} });
  const read = await readClaimQuestions(dir);
  assert.deepEqual(read.questions, [
    { question: 'question 0', claims: ['A', 'B'] },
    { question: 'question 1', claims: ['C'] },
  ]);
  assert.deepEqual([read.source, read.claimText, read.emptyClaims, read.setAside[0]?.reason], ['gold', 'title', 1, 'no_claims']);
  const sentences = await readClaimQuestions(dir, { claimText: 'expected_claim' });
  assert.deepEqual(sentences.questions[1], { question: 'question 1', claims: ['C: a sentence'] });
  await assert.rejects(readClaimQuestions(dir, { field: 'titles' }), {
    message: `${dir}: --field is for JSON lines; a claims folder says it itself`,
  });
});

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { openVectors } from '../../runtime/index.js';
import { claimText } from '../../src/core/claims.js';
import { evidenceText } from '../../src/core/embeddings.js';
import { runFolder } from '../../src/core/run-folder.js';
import { hopgate, hopgateJson } from '../support/cli.js';
import { ownCache, testCache } from '../support/encoder-cache.js';
import { assertSurvivesKills } from '../support/killed-runs.js';
import { writeClaims, writeRun } from '../support/written-run.js';

const support = join(dirname(dirname(fileURLToPath(import.meta.url))), 'support');
const preload = (name: string): NodeJS.ProcessEnv => ({ NODE_OPTIONS: `--import=file://${join(support, name)}` });
const newDir = (): Promise<string> => mkdtemp(join(tmpdir(), 'hopgate-'));
const cache = ['--cache-dir', testCache];

test('a run gets a vector of each question, claim text and evidence text, once, sorted by key', async () => {
  const run = await writeRun(join(await newDir(), 'run'), 5);
  const result = await hopgateJson(['embed', run.dir, '--claims', 'gold', '--evidence-text', 'sentence,title+sentence', ...cache]);
  const out = runFolder.embeddings(run.dir, 'minilm');
  assert.equal(result.out, out);
  // 5 questions; 10 titles; 45 sentences in two forms.
  assert.deepEqual(result.counts, { rows: 105, questions: 5, claims: 10, evidence: 90 });
  const vectors = await openVectors(out);
  for (const { question } of run.records) assert.ok(vectors.has('query', question));
  for (const claim of run.claims) assert.ok(vectors.has('query', claimText(claim, 'title')));
  for (const { title, text } of run.loops.flatMap((loop) => loop.sentences)) {
    for (const form of ['sentence', 'title+sentence'] as const) assert.ok(vectors.has('passage', evidenceText(title, text, form)));
  }
  assert.deepEqual(vectors.manifest.details, {
    encoder: vectors.identity,
    what: ['questions', 'claims', 'evidence'],
    claims: [{ name: 'gold', source: 'gold', claim_texts: ['title'] }],
    evidence_texts: ['title+sentence', 'sentence'],
  });
  assert.deepEqual(
    vectors.manifest.inputs.map((one) => one.name),
    ['records.arrow', 'trajectories.arrow', 'claims.arrow'],
  );
});

test('several claim texts stand in one table; flags may be repeated or comma lists, before the path too', async () => {
  const run = await writeRun(join(await newDir(), 'run'), 3);
  const out = join(await newDir(), 'out');
  const result = await hopgateJson([
    'embed',
    '--what',
    'claims',
    '--claim-text',
    'title',
    '--claim-text',
    'expected_claim,title+claim',
    run.dir,
    '--out',
    out,
    ...cache,
  ]);
  assert.deepEqual(result.counts, { rows: 18, claims: 18 });
  const vectors = await openVectors(out);
  assert.deepEqual(vectors.manifest.details.claims, [
    { name: 'gold', source: 'gold', claim_texts: ['expected_claim', 'title', 'title+claim'] },
  ]);
});

test('a claims folder and a JSON lines file of texts can be embedded by themselves', async () => {
  const dir = await newDir();
  const run = await writeRun(join(dir, 'run'), 2);
  const claims = await hopgateJson(['embed', runFolder.claims(run.dir, 'gold'), '--out', join(dir, 'claims'), ...cache]);
  assert.deepEqual(claims.counts, { rows: 6, claims: 4, questions: 2 });
  const file = join(dir, 'texts.jsonl');
  await writeFile(file, '{"text":"one","role":"query"}\n{"text":"one","role":"passage"}\n{"text":"one","role":"query"}\n');
  const texts = await hopgateJson(['embed', file, '--out', join(dir, 'texts'), '--format', 'jsonl', ...cache]);
  assert.deepEqual(texts.counts, { rows: 2, questions: 1, evidence: 1 });
});

test('warns where a run has no claims, and where a claim has no text', async () => {
  const run = await writeRun(join(await newDir(), 'run'), 1);
  await rm(join(run.dir, 'claims'), { recursive: true });
  const none = await hopgateJson(['embed', run.dir, ...cache]);
  assert.deepEqual(none.warnings, ['this run has no claims yet, so none were embedded']);
  await writeClaims(
    runFolder.claims(run.dir, 'gold'),
    run.claims.map((claim) => ({ ...claim, page: '' })),
  );
  const empty = await hopgateJson(['embed', run.dir, '--force', ...cache]);
  assert.deepEqual(empty.warnings, ['2 claims of gold have an empty text; their vector says nothing']);
});

test('bad input is exit 2 with one message, and leaves no finished folder', async () => {
  const dir = await newDir();
  const run = await writeRun(join(dir, 'run'), 1);
  const file = join(dir, 'texts.jsonl');
  await writeFile(file, '{"text":"one"}\n');
  const cases: [args: string[], message: string][] = [
    [
      [run.dir, '--encoder', 'nope'],
      'no encoder "nope": expected minilm, e5-base-v2, e5-large-v2, bge-base, bge-large, gte-base, or a folder with an ONNX sentence encoder',
    ],
    [
      [run.dir, '--claim-text', 'titel'],
      '--claim-text: got "titel", expected title, expected_claim, subquestion, title+claim, subquestion-or-title',
    ],
    [[run.dir, '--claims', 'heuristic'], `${join(run.dir, 'claims', 'heuristic')}: no such folder`],
    [
      [run.dir, '--claim-text', 'subquestion'],
      'row 0, question "q0": claim 0 has no sub-question: the dataset has no decomposition; choose another --claim-text',
    ],
    [
      [runFolder.claims(run.dir, 'gold'), '--what', 'evidence', '--out', join(dir, 'x')],
      '--what evidence: a claims folder has questions, claims',
    ],
    [[runFolder.claims(run.dir, 'gold')], '--out: only a run has a place of its own for embeddings; name a folder'],
    [[file, '--out', join(dir, 'x')], `${file}, line 1, field role: Invalid option: expected one of "query"|"passage"`],
    [[join(dir, 'nothing')], `${join(dir, 'nothing')}: no such folder`],
  ];
  for (const [args, message] of cases) {
    const ran = await hopgate(['embed', ...args, ...cache]);
    assert.deepEqual([ran.code, ran.stdout, ran.stderr], [2, '', `hopgate: ${message}\n`]);
  }
  await assert.rejects(readFile(join(run.dir, 'embeddings', 'minilm', 'manifest.json')));
});

test('P31: going on with another prefix is refused, since that is another encoder', async () => {
  const run = await writeRun(join(await newDir(), 'run'), 1);
  await hopgateJson(['embed', run.dir, ...cache]);
  const ran = await hopgate(['embed', run.dir, '--resume', '--query-prefix', 'query: ', ...cache]);
  assert.equal(ran.code, 2);
  assert.match(
    ran.stderr,
    /: holds a finished run with other settings \(--encoder: it had "minilm [0-9a-f]{32}", now "minilm [0-9a-f]{32}"\); choose another --out, or --force\n$/,
  );
});

test('P110: the built-in encoder is converted and used with every socket blocked', async () => {
  const dir = await newDir();
  const run = await writeRun(join(dir, 'run'), 2);
  const ran = await hopgate(['embed', run.dir, '--cache-dir', join(dir, 'cache'), '--model-dir', join(dir, 'models')], {
    env: preload('no-network.js'),
  });
  assert.deepEqual([ran.code, ran.stderr], [0, '']);
  await rm(join(dir, 'cache'), { recursive: true });
});

test('P110: the block itself works', async () => {
  const child = spawn(
    process.execPath,
    ['--input-type=module', '-e', 'await import("node:net").then((net) => net.connect(9, "127.0.0.1"))'],
    {
      env: { ...process.env, ...preload('no-network.js') },
    },
  );
  const code = await new Promise((resolve) => child.on('close', resolve));
  assert.equal(code, 1);
});

test('P61: without the native library embed says in one sentence what to do, and everything else works', async () => {
  const run = await writeRun(join(await newDir(), 'run'), 1);
  const ran = await hopgate(['embed', run.dir, ...cache], { env: preload('no-native-library.js') });
  assert.deepEqual(
    [ran.code, ran.stderr],
    [
      2,
      `hopgate: sentence encoders need @huggingface/transformers with onnxruntime-node, which cannot be loaded on ${process.platform} ${process.arch} ` +
        '(no onnxruntime_binding.node here): install again with "npm install --ignore-scripts hopgate" and without --omit=optional; ' +
        'onnxruntime-node has libraries for Linux, Windows and macOS on ARM, none for macOS on Intel or Alpine\n',
    ],
  );
  const help = await hopgate(['embed', '--help'], { env: preload('no-native-library.js') });
  assert.equal(help.code, 0);
});

test('killed ten times and resumed, embed gives the bytes of an undisturbed run', { timeout: 900_000 }, async (t) => {
  if (process.platform === 'win32') return t.skip('needs a system with process groups');
  const dir = await newDir();
  const run = await writeRun(join(dir, 'run'), 60);
  // Vectors of its own for each folder, so that every one is made.
  const flagsFor = async (out: string): Promise<string[]> => ['--cache-dir', await ownCache(join(dir, basename(out)))];
  await assertSurvivesKills(t, ['embed', run.dir], { flagsFor });
  await rm(dir, { recursive: true });
});

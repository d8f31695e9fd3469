import assert from 'node:assert/strict';
import { mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { InputError } from '../../src/core/errors.js';
import type { DevScores, GoldenScores } from '../../src/core/verifier-export.js';
import { checkVerifierFiles } from '../../src/core/verifier-model.js';
import { openVerifier, readVerifier } from '../../runtime/index.js';
import { ParityFailedError, importVerifier } from '../../train/index.js';
import { hopgate, hopgateJson } from '../support/cli.js';
import { temporaryFolder } from '../support/files.js';
import { changeExport, changeRows, copyOf, listFiles, tinyExport, writeGraph } from '../support/tiny-export.js';

let made: string;
before(async () => {
  made = await tinyExport();
});

test('P56: an export with external data is imported from another folder, listed, verified, and a flipped byte of any file is refused by name', async () => {
  const modelDir = join(await temporaryFolder(), 'models');
  const elsewhere = { cwd: await temporaryFolder() };
  const result = await hopgateJson(['verifier', 'import', made, '--name', 'tiny', '--model-dir', modelDir], elsewhere);
  const out = join(modelDir, 'verifiers', 'tiny');
  assert.equal(result.out, out);
  assert.deepEqual(result.counts, { golden: 6, dev: 9, variants: 2, refused: 0 });
  assert.deepEqual(result.warnings, ['the settings were not compared with the plan: no --job']);
  assert.deepEqual([result.variants, result.default_variant], [['fp32', 'int4'], 'fp32']);
  assert.deepEqual((await readdir(out, { recursive: true })).filter((one) => one.includes('.')).toSorted(), [
    'export.json',
    'golden.jsonl',
    'manifest.json',
    'model-card.md',
    'onnx/fp32/model.onnx',
    'onnx/fp32/model.onnx.data',
    'onnx/int4/model.onnx',
    'onnx/int4/model.onnx.data',
    'parity.json',
    'tokenizer/tokenizer.json',
    'tokenizer/tokenizer_config.json',
  ]);
  assert.deepEqual(JSON.parse(await readFile(join(out, 'parity.json'), 'utf8')), result.parity);
  const { stages } = result.parity as { stages: { stage: string; max_difference: number }[] };
  // Two orders of the same sums in 32-bit floats.
  for (const { max_difference: largest } of stages) assert.ok(largest <= 1e-4, String(largest));

  const listed = await hopgateJson(['models', 'list', '--model-dir', modelDir], elsewhere);
  assert.deepEqual(listed.verifiers, [
    { name: 'tiny', folder: out, base: 'tiny/Decoder', variants: ['fp32', 'int4'], default_variant: 'fp32', dev_macro_f1: 13 / 36 },
  ]);
  const verified = await hopgate(['models', 'verify', 'tiny', '--model-dir', modelDir], elsewhere);
  assert.deepEqual([verified.code, verified.stdout], [0, 'ok  tiny  10 files\n']);

  const { manifest } = await readVerifier(out);
  for (const { name, sha256 } of manifest.outputs) {
    const file = join(out, name);
    const bytes = await readFile(file);
    const damaged = Buffer.from(bytes);
    damaged[damaged.length >> 1] = (damaged[damaged.length >> 1] as number) ^ 1;
    await writeFile(file, damaged);
    const damage = (error: Error): boolean =>
      error instanceof InputError &&
      error.message.startsWith(`${file}: got sha256 `) &&
      error.message.endsWith(`, expected ${sha256} as in the manifest: the file was changed or damaged`);
    await assert.rejects(checkVerifierFiles(out, manifest), damage);
    // The decider that opens the other variant does not read this one's graph.
    if (name.startsWith('onnx/int4/')) await (await openVerifier(out)).close();
    else await assert.rejects(openVerifier(out), damage);
    if (name === 'onnx/fp32/model.onnx.data') {
      const refused = await hopgate(['models', 'verify', '--model-dir', modelDir], elsewhere);
      assert.equal(refused.code, 1);
      assert.match(refused.stderr, /onnx\/fp32\/model\.onnx\.data: got sha256 /);
    }
    await writeFile(file, bytes);
  }
  await checkVerifierFiles(out, manifest);
});

test('the same export gives the same bytes; a second import of the name is refused, and --force replaces it', async () => {
  const [one, two] = [await temporaryFolder(), await temporaryFolder()];
  const options = { seed: 13, name: 'tiny', variants: ['fp32'] as const };
  await importVerifier(made, { ...options, modelDir: one });
  await importVerifier(made, { ...options, modelDir: two });
  const manifest = (dir: string): Promise<string> => readFile(join(dir, 'verifiers/tiny/manifest.json'), 'utf8');
  assert.equal(await manifest(one), await manifest(two));
  assert.ok(!(await manifest(one)).includes(one), 'no path in the manifest');
  await assert.rejects(importVerifier(made, { ...options, modelDir: one }), {
    message: `${join(one, 'verifiers/tiny')}: is imported already; choose another --name, or --force to replace it`,
  });
  const other = await copyOf(made);
  await changeRows<GoldenScores>(other, 'golden.jsonl', (row) => ({ ...row, adapter: row.adapter.toReversed() }));
  await assert.rejects(importVerifier(other, { ...options, modelDir: one, force: true }), ParityFailedError);
  assert.equal(await manifest(one), await manifest(two), 'a failed replacement leaves the old one');
  await importVerifier(made, { ...options, variants: ['int4'], modelDir: one, force: true });
  assert.deepEqual(await readdir(join(one, 'verifiers/tiny/onnx')), ['int4']);
  assert.deepEqual(await readdir(join(one, 'verifiers')), ['tiny']);
});

test('an empty folder in an export is let be, and does not come with the verifier', async () => {
  const [folder, modelDir] = [await copyOf(made), await temporaryFolder()];
  await mkdir(join(folder, 'onnx', 'int8', 'parts'), { recursive: true });
  const { out } = await importVerifier(folder, { seed: 13, modelDir, variants: ['fp32'] });
  assert.deepEqual(await readdir(join(out, 'onnx')), ['fp32']);
});

test('a folder that a killed import left behind is not listed, and the next import clears it away', async () => {
  const modelDir = await temporaryFolder();
  await mkdir(join(modelDir, 'verifiers/.tiny.importing/.unfinished/onnx'), { recursive: true });
  await writeFile(join(modelDir, 'verifiers/.tiny.importing/.unfinished/settings.json'), '{}');
  assert.deepEqual((await hopgateJson(['models', 'list', '--model-dir', modelDir])).verifiers, []);
  await importVerifier(made, { seed: 13, name: 'tiny', variants: ['fp32'], modelDir });
  assert.deepEqual(await readdir(join(modelDir, 'verifiers')), ['tiny']);
});

test('P48: an export whose graph does not give the scores that the trainer measured is refused with exit 1, the report is printed, and models stays empty', async () => {
  const damaged = await copyOf(made);
  await writeGraph(damaged, 'fp32', 14);
  await rm(join(damaged, 'onnx/int4'), { recursive: true });
  await dropVariant(damaged, 'int4');
  const modelDir = join(await temporaryFolder(), 'models');
  const ran = await hopgate(['verifier', 'import', damaged, '--model-dir', modelDir]);
  assert.equal(ran.code, 1);
  assert.match(
    ran.stderr,
    /the parity gate failed, nothing is imported\nfp32: onnx to node: scores move by up to [\d.]+, expected at most 0\.0001/,
  );
  assert.match(ran.stdout, /^step +variant +golden rows +largest change +allowed +labels that flip \(margins\)/);
  assert.match(ran.stdout, /onnx to node +fp32 +6 +\S+ +0\.0001 .*FAILED/);
  await assert.rejects(readdir(modelDir), { code: 'ENOENT' });
});

test('P57: an int4 that flips labels is refused by name and the rest is imported; asked for by name, it fails the import', async () => {
  const damaged = await copyOf(made);
  await writeGraph(damaged, 'int4', 15);
  const modelDir = await temporaryFolder();
  const options = { seed: 13, name: 'tiny', modelDir };
  await assert.rejects(importVerifier(damaged, { ...options, variants: ['fp32', 'int4'] }), (error: Error) => {
    assert.ok(error instanceof ParityFailedError);
    assert.match(
      error.message,
      /^the parity gate failed, nothing is imported; --variants fp32 imports the rest\nint4: onnx to node: scores move by up to \S+, expected at most 0\.05, 6 of 6 labels flip \(margin before up to \S+\), expected at most 0, at margins up to 0\.05; merged to node: 6 of 6 labels flip \(margin before up to \S+\), expected at most 0, at margins up to 0\.25; macro-F1 on 9 dev rows is 0\.1667 in Node and 0\.3611 in the trainer, expected within 0\.005 \(labels that flip: 8\)$/,
    );
    return true;
  });
  assert.deepEqual(await readdir(modelDir), []);
  const { manifest, report } = await importVerifier(damaged, options);
  assert.deepEqual(Object.keys(report.refused), ['int4']);
  assert.equal(manifest.warnings[1], `int4 is refused: ${report.refused.int4}`);
  assert.deepEqual(await readdir(join(modelDir, 'verifiers/tiny/onnx')), ['fp32']);
  assert.ok(manifest.outputs.every(({ name }) => !name.includes('int4')));
});

test('some of the dev rows, evenly spread, are scored anew where that is asked for, and the manifest says so', async () => {
  const { manifest, report } = await importVerifier(made, { seed: 13, variants: ['fp32'], devRows: 3, modelDir: await temporaryFolder() });
  assert.deepEqual([manifest.counts.dev, report.dev[0]?.rows], [3, 3]);
  assert.equal(manifest.warnings[1], '3 of 9 dev rows were scored anew (--dev-rows)');
});

test('an import that is stopped leaves nothing behind', async () => {
  const modelDir = join(await temporaryFolder(), 'models');
  const abort = new AbortController();
  const stopped = importVerifier(made, { seed: 13, modelDir, signal: abort.signal, onProgress: () => abort.abort() });
  await assert.rejects(stopped, { name: 'AbortError' });
  await assert.rejects(readdir(modelDir), { code: 'ENOENT' });
});

test("figures that are not those of the dev rows' scores are refused: they were measured on something else", async () => {
  const damaged = await copyOf(made);
  await changeRows<DevScores>(damaged, 'dev-scores.jsonl', (row) => ({ ...row, label: 'partial' }));
  await assert.rejects(importVerifier(damaged, { seed: 13, modelDir: await temporaryFolder() }), (error: Error) => {
    assert.match(
      error.message,
      /export\.json, field metrics\.dev\.accuracy: got 0\.333\d+, but the scores in dev-scores\.jsonl give 0\.5555\d+$/,
    );
    return error instanceof InputError;
  });
});

async function dropVariant(folder: string, variant: string): Promise<void> {
  await changeExport(folder, ({ variants }) => ({
    variants: Object.fromEntries(Object.entries(variants).filter(([name]) => name !== variant)),
  }));
  await listFiles(folder);
}

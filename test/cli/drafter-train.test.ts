import assert from 'node:assert/strict';
import { mkdtemp, readFile, readdir, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { hopgate, hopgateJson } from '../support/cli.js';
import { assertSurvivesKills } from '../support/killed-runs.js';
import { patternQuestions } from '../support/word-encoder.js';

async function claimsFile(count: number): Promise<{ root: string; file: string }> {
  const root = await mkdtemp(join(tmpdir(), 'hopgate-drafter-'));
  const file = join(root, 'claims.jsonl');
  await writeFile(
    file,
    patternQuestions(count)
      .map((one) => `${JSON.stringify(one)}\n`)
      .join(''),
  );
  return { root, file };
}

async function folderBytes(dir: string): Promise<{ [name: string]: string }> {
  const names = (await readdir(dir)).toSorted();
  return Object.fromEntries(await Promise.all(names.map(async (name) => [name, (await readFile(join(dir, name))).toString('base64')])));
}

test('P74: killed ten times and resumed, it gives the bytes of an undisturbed run', { timeout: 900_000 }, async (t) => {
  const { root, file } = await claimsFile(100);
  // A checkpoint an epoch lets later attempts come further.
  const fit = ['--epochs', '30', '--patience', '0', '--checkpoint-every', '1', '--backend', 'wasm', '--learning-curve', '50'];
  await assertSurvivesKills(t, ['drafter', 'train', file, '--cache-dir', join(root, 'cache'), ...fit]);
});

test('its object says what ran, what was encoded and how good it is; a second training encodes nothing', async () => {
  const { root, file } = await claimsFile(60);
  const args = (out: string): string[] => [
    'drafter',
    'train',
    file,
    '--out',
    join(root, out),
    '--cache-dir',
    join(root, 'cache'),
    '--epochs',
    '2',
  ];
  const first = await hopgateJson(args('first'));
  assert.deepEqual(Object.keys(first).slice(0, 4), ['out', 'counts', 'quarantined', 'warnings']);
  assert.equal((first.counts as { parameters: number }).parameters, 502_211);
  assert.equal((first.encoded as { cached: number }).cached, 0);
  const second = await hopgateJson(args('second'));
  assert.deepEqual(second.encoded, { calls: 0, encoded: 0, cached: (first.encoded as { encoded: number }).encoded });
  assert.deepEqual(await folderBytes(join(root, 'first')), await folderBytes(join(root, 'second')));
});

test('P72: --backend gpu without the package is exit 2, and nothing that looks finished is left', async () => {
  const { root, file } = await claimsFile(6);
  const ran = await hopgate(['drafter', 'train', file, '--out', join(root, 'out'), '--cache-dir', join(root, 'cache'), '--backend', 'gpu']);
  assert.equal(ran.code, 2);
  assert.equal(ran.stderr, 'hopgate: --backend gpu: @tensorflow/tfjs-node-gpu is not installed; --backend wasm works everywhere\n');
  await assert.rejects(stat(join(root, 'out', 'manifest.json')), { code: 'ENOENT' });
});

test('numbers outside their range are refused by name', async () => {
  const { root, file } = await claimsFile(6);
  for (const [flags, message] of [
    [['--dropout', '1'], '--dropout: got 1, expected a number in [0, 0.95]'],
    [['--learning-rate', '0'], '--learning-rate: got 0, expected a number in [1e-9, 10]'],
    [['--batch', '0'], '--batch: got 0, expected a whole number of at least 1'],
    [['--slots', '9'], '--slots: got 9, expected an integer from 1 to 8'],
    [['--learning-curve', '10,x'], '--learning-curve: got "10,x", expected a comma list of integers of at least 1'],
  ] as const) {
    const ran = await hopgate(['drafter', 'train', file, '--out', join(root, 'out'), ...flags]);
    assert.deepEqual([ran.code, ran.stderr], [2, `hopgate: ${message}\n`]);
  }
});

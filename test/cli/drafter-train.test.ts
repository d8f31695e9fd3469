import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtemp, readFile, readdir, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { random } from '../../src/core/random.js';
import { hopgate, hopgateJson } from '../support/cli.js';
import { KILLS } from '../support/second-pass.js';
import { patternQuestions } from '../support/word-encoder.js';

const main = join(dirname(dirname(dirname(fileURLToPath(import.meta.url)))), 'src', 'cli', 'main.js');

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

/** Starts the command in a process group of its own and kills the group with SIGKILL after so many milliseconds; true when it was still running. */
async function killedAfter(args: readonly string[], ms: number): Promise<boolean> {
  const child = spawn(process.execPath, [main, ...args], { detached: true, stdio: 'ignore' });
  const closed = new Promise<NodeJS.Signals | null>((resolve) => {
    child.on('close', (_code, signal) => resolve(signal));
  });
  const timer = setTimeout(() => process.kill(-(child.pid as number), 'SIGKILL'), ms);
  const signal = await closed;
  clearTimeout(timer);
  return signal === 'SIGKILL';
}

test('P74: killed ten times and resumed, it gives the bytes of an undisturbed run', { timeout: 900_000 }, async () => {
  const { root, file } = await claimsFile(100);
  const args = (out: string): string[] => {
    const fit = ['--epochs', '30', '--patience', '0', '--checkpoint-every', '1', '--backend', 'wasm', '--learning-curve', '50'];
    return ['drafter', 'train', file, '--out', join(root, out), '--cache-dir', join(root, 'cache'), ...fit];
  };
  const started = Date.now();
  const whole = await hopgateJson(args('whole'));
  const took = Date.now() - started;
  assert.equal((whole.backend as { ran: string }).ran, 'wasm');
  const draw = random(13, 'kill');
  let kills = 0;
  for (let attempt = 0; attempt < KILLS; attempt++) {
    // From before the first epoch to well into the fit; a checkpoint an epoch lets later attempts come further.
    if (await killedAfter([...args('killed'), '--resume'], Math.round(took * (0.05 + 0.45 * draw.float())))) kills++;
  }
  assert.ok(kills >= Math.floor(KILLS / 2), `only ${kills} of ${KILLS} runs were still running when they were killed`);
  await hopgateJson([...args('killed'), '--resume']);
  assert.deepEqual(await folderBytes(join(root, 'killed')), await folderBytes(join(root, 'whole')));
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

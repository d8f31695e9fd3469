import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { writeBuiltinData } from '../../datasets/builtin/index.js';
import { hopgate, hopgateJson } from '../support/cli.js';
import { temporaryFolder } from '../support/files.js';

test('with a run of the training questions a drafter also learns margins; its manifest says how many questions, and with what weight', async () => {
  const root = await temporaryFolder();
  const data = await writeBuiltinData(join(root, 'data'), { seed: 13 });
  const { data: file, followups } = data['2wiki'];
  const run = join(root, 'training');
  await hopgateJson(['trajectories', 'run', file, '--agent', 'scripted', '--followups', followups, '--rows', '0..30', '--out', run]);
  await hopgateJson(['claims', 'build', run, '--source', 'gold']);
  const claims = join(run, 'claims', 'gold');
  const cache = ['--cache-dir', join(root, 'cache')];
  await hopgateJson(['embed', run, ...cache]);
  const train = (out: string, ...more: string[]): string[] => {
    const fit = ['--epochs', '3', '--batch', '8', '--backend', 'wasm', ...cache];
    return ['drafter', 'train', claims, '--out', join(root, out), ...fit, ...more];
  };

  const trained = await hopgateJson(train('margins', '--margin-run', run, '--margin-weight', '4'));
  // One of ten question texts is held out.
  assert.deepEqual(
    [(trained.counts as { [name: string]: number }).training, (trained.counts as { [name: string]: number }).margin_questions],
    [27, 27],
  );
  const manifest = JSON.parse(await readFile(join(root, 'margins', 'manifest.json'), 'utf8')) as { options: { [name: string]: unknown } };
  assert.deepEqual([manifest.options['margin-weight'], manifest.options['margin-evidence-text']], [4, 'title+sentence']);

  const plain = await hopgateJson(train('plain'));
  assert.equal('margin_questions' in (plain.counts as object), false);
  assert.notDeepEqual(await readFile(join(root, 'margins', 'drafter.onnx')), await readFile(join(root, 'plain', 'drafter.onnx')));

  const alone = await hopgate(train('alone', '--margin-weight', '4'));
  assert.deepEqual(
    [alone.code, alone.stderr.trim()],
    [2, 'hopgate: --margin-weight: expected --margin-run beside it, which names the evidence'],
  );

  // Rows of other questions: nothing to learn margins on.
  const other = join(root, 'other');
  await hopgateJson(['trajectories', 'run', file, '--agent', 'scripted', '--followups', followups, '--rows', '30..36', '--out', other]);
  await hopgateJson(['claims', 'build', other, '--source', 'gold']);
  await hopgateJson(['embed', other, ...cache]);
  const unmatched = await hopgate(train('unmatched', '--margin-run', other, '--quiet'));
  assert.deepEqual(
    [unmatched.code, unmatched.stderr.trim()],
    [
      2,
      `hopgate: ${join(claims, 'claims.arrow')}: --margin-run: none of the training questions is in these runs; questions are matched by their text`,
    ],
  );
});

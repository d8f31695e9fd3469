import assert from 'node:assert/strict';
import { mkdtemp, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { writeBuiltinData } from '../../datasets/builtin/index.js';
import { hopgate, hopgateJson } from '../support/cli.js';

/** A run of some rows of the built-in 2Wiki questions with gold claims and verdicts; with embeddings where it is to be measured on. */
async function makeRun(root: string, name: string, rows: string, embedded: boolean): Promise<string> {
  const data = await writeBuiltinData(join(root, 'data'), { seed: 13 });
  const dir = join(root, name);
  const { data: file, followups } = data['2wiki'];
  await hopgateJson(['trajectories', 'run', file, '--agent', 'scripted', '--followups', followups, '--rows', rows, '--out', dir]);
  await hopgateJson(['claims', 'build', dir, '--source', 'gold']);
  await hopgateJson(['decide', dir, '--decider', 'gold']);
  if (embedded) await hopgateJson(['embed', dir, '--cache-dir', join(root, 'cache')]);
  return dir;
}

test('a drafter is measured at training and by evaluate alike, and stands in the gate of calibrate and replay under its sha256', async () => {
  const root = await mkdtemp(join(tmpdir(), 'hopgate-drafter-'));
  const held = await makeRun(root, 'held', '0..25', true);
  const training = await makeRun(root, 'training', '25..60', false);
  const train = (out: string, ...more: string[]): string[] => {
    const fit = ['--epochs', '6', '--backend', 'wasm', '--cache-dir', join(root, 'cache')];
    return ['drafter', 'train', join(training, 'claims', 'gold'), '--out', join(root, out), ...fit, ...more];
  };
  const trained = await hopgateJson(train('drafter', '--run', held));
  const frontier = trained.frontier as { dataset: string; questions: number; drafter: number; claim_text: number }[];
  assert.deepEqual(
    frontier.map((one) => [one.dataset, one.questions]),
    [['2wiki', 25]],
  );
  const manifest = JSON.parse(await readFile(join(root, 'drafter', 'manifest.json'), 'utf8')) as {
    details: { label: string; claim_text: string };
  };
  assert.equal(manifest.details.label, 'gold-claim drafter (diagnostic)');
  assert.equal(manifest.details.claim_text, 'title');

  const evaluated = await hopgateJson(['drafter', 'evaluate', join(root, 'drafter'), held, '--out', join(root, 'evaluation')]);
  assert.deepEqual(evaluated.frontier, frontier);
  assert.equal(evaluated.beatsBaselines, trained.beatsBaselines);

  const drafted = ['--drafter', join(root, 'drafter'), '--resamples', '50', '--out', join(root, 'calibration')];
  const calibrated = await hopgateJson(['calibrate', held, '--decider', 'gold', '--claims', 'gold', ...drafted]);
  const own = (calibrated.frontier as { bars: { bar: number; call_cut: number }[] }[])[0]?.bars.find((one) => one.bar === 0.9);
  assert.equal(own?.call_cut, frontier[0]?.drafter);
  const profile = join(root, 'calibration', 'profile.json');
  const { drafter_sha256: sha256, claim_text: claimText } = JSON.parse(await readFile(profile, 'utf8')) as { [field: string]: unknown };
  assert.equal(sha256, evaluated.drafter_sha256);
  assert.equal(claimText, null);

  const replay = (out: string, ...more: string[]): string[] => [
    'replay', held, '--profile', profile, '--resamples', '50', '--out', join(root, out), ...more,
  ]; // prettier-ignore
  await hopgateJson(replay('replayed', '--drafter', join(root, 'drafter')));
  const without = await hopgate(replay('without'));
  assert.deepEqual(
    [without.code, without.stderr],
    [2, `hopgate: --drafter: expected the drafter that the profile was made with (sha256 ${String(sha256)})\n`],
  );
  await hopgateJson(train('other', '--seed', '14'));
  const other = await hopgate(replay('other-replay', '--drafter', join(root, 'other')));
  assert.equal(other.code, 2);
  assert.match(
    other.stderr,
    /drafter_sha256 differs: the profile was made with "[0-9a-f]{64}", this run uses "[0-9a-f]{64}"; --transfer applies the profile knowingly\n$/,
  );
});

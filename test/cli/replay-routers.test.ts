import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { hopgate, hopgateJson } from '../support/cli.js';
import { temporaryFolder } from '../support/files.js';
import { smallRun } from '../support/small-run.js';

test('replay --routers puts the gate beside every router, and leaves nothing behind where there is one dataset only', async () => {
  const runs = [await smallRun('hotpotqa', 0, 30), await smallRun('2wiki', 30, 60)];
  const common = ['--decider', 'gold', '--claims', 'gold', '--encoder', 'words', '--resamples', '40', '--tau', '0.5', '--routers'];
  const out = join(await temporaryFolder(), 'replay');
  const systems = 'gate,veto,skip-first-1,every-other,self-gating-2,oracle-self-gating';
  const replayed = await hopgateJson(['replay', ...runs, ...common, '--systems', systems, '--out', out]);
  const [first] = replayed.datasets as { systems: { label: string; fidelity: string; fidelity_note: string }[] }[];
  assert.deepEqual(first?.systems.map(({ label }) => label).join(), systems);
  assert.ok(first?.systems.every(({ fidelity, fidelity_note }) => /^(exact|approximate)$/.test(fidelity) && fidelity_note !== ''));
  const stored = JSON.parse(await readFile(join(out, 'routers.json'), 'utf8')) as {
    datasets: {
      dataset: string;
      rows: { label: string; frontier: { bar: number; call_cut: number }[] }[];
      random: { at: string; seeds: number }[];
    }[];
  };
  assert.deepEqual(stored.datasets.map(({ dataset }) => dataset), ['hotpotqa', '2wiki']); // prettier-ignore
  assert.deepEqual(
    stored.datasets[0]?.rows.map(({ label }) => label),
    ['gate', 'evidence-count', 'lexical', 'bm25-router', 'logistic', 'mlp', 'logistic+margin', 'mlp+margin', 'skip-first-k', 'every-other', 'self-gating', 'oracle-self-gating'],
  ); // prettier-ignore
  assert.deepEqual(stored.datasets[0]?.random.map(({ at, seeds }) => [at, seeds]), [['lodo', 20], ['frontier', 20]]); // prettier-ignore

  const alone = await hopgate(['replay', runs[0] as string, ...common, '--out', join(await temporaryFolder(), 'replay')]);
  assert.equal(alone.code, 2);
  assert.match(alone.stderr, /routers are thresholded on other datasets: got 1 dataset, expected at least two\n$/);
});

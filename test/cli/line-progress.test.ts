import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lineProgress } from '../../src/cli/line-progress.js';
import { hopgate } from '../support/cli.js';
import { fakeJob } from '../support/fake-job.js';

/** What is written while the work goes on by one step after another, each of so many milliseconds. */
function lines(steps: readonly number[], { total, ms }: { total: number | null; ms: number }): string[] {
  const said: string[] = [];
  let now = 0;
  const progress = lineProgress('train', (line) => said.push(line), { now: () => now });
  for (const step of steps) {
    now += ms;
    progress.update(step, total);
  }
  progress.done();
  return said;
}

const upTo = (last: number): number[] => Array.from({ length: last }, (_, at) => at + 1);

test('quick work is said at each tenth, and at its end', () => {
  assert.deepEqual(
    lines(upTo(1000), { total: 1000, ms: 1 }),
    [100, 200, 300, 400, 500, 600, 700, 800, 900, 1000].map((step) => `train ${step}/1000`),
  );
  // A tenth of 25 is 2.5 steps.
  assert.deepEqual(
    lines(upTo(25), { total: 25, ms: 1 }),
    [3, 6, 9, 12, 15, 18, 21, 24, 25].map((step) => `train ${step}/25`),
  );
});

test('slow work is said every 30 seconds, and so is work of unknown length', () => {
  assert.deepEqual(lines(upTo(70), { total: 1000, ms: 1000 }), ['train 30/1000', 'train 60/1000']);
  assert.deepEqual(lines(upTo(70), { total: null, ms: 1000 }), ['train 30', 'train 60']);
});

test('the same step again is not said twice', () => {
  assert.deepEqual(lines([1, 2, 2, 2], { total: 2, ms: 60_000 }), ['train 1/2', 'train 2/2']);
});

test('training says its steps where stderr is no terminal, and nothing with --quiet', async () => {
  const said = ({ stderr }: { stderr: string }): string[] => stderr.split('\n').filter((line) => line.startsWith('train'));
  assert.deepEqual(said(await hopgate(['verifier', 'train', await fakeJob({ steps: 20 })])), [
    'train',
    ...[2, 4, 6, 8, 10, 12, 14, 16, 18, 20].map((step) => `train ${step}/20`),
  ]);
  assert.deepEqual(said(await hopgate(['verifier', 'train', await fakeJob(), '--quiet'])), []);
});

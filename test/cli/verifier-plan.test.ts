import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { hopgate, hopgateJson } from '../support/cli.js';
import { temporaryFolder } from '../support/files.js';
import { labelFolder, twoWikiFile } from '../support/label-folder.js';
import { smallTokenizer } from '../support/small-tokenizer.js';

const { folder: labels } = await labelFolder(await twoWikiFile(12), { forms: ['sentence', 'masked'] });
const tokenizer = await smallTokenizer();
const small = ['verifier', 'plan', '--labels', labels, '--base', 'a/small-model', '--tokenizer', tokenizer, '--max-length', '4096'];

test('plans from the shell: rows, label ids, estimate and settings, and a row token by token with its label marked', async () => {
  const out = join(await temporaryFolder(), 'job');
  const ran = await hopgate(['verifier', 'plan', '--labels', labels, '--base', 'Qwen/Qwen2.5-0.5B-Instruct', '--out', out, '--show', '1']);
  assert.equal(ran.code, 0, ran.stderr);
  assert.match(
    ran.stdout,
    /^2wiki\/\d+\/\w+\/\d+\/sentence\/\d+\/\d+ {2}sentence {2}match {2}\d+ tokens, 1 learned\n {2}<\|im_start\|>\|system\|⏎\n/,
  );
  assert.match(ran.stdout, /\n {2}<\|im_start\|>\|assistant\|⏎\n {2}\[\[match = 6347\]\]\n/);
  assert.match(ran.stdout, /\nbase {6}Qwen\/Qwen2\.5-0\.5B-Instruct, task labels, label ids match 6347, partial 37420, null 2921\n/);
  assert.match(
    ran.stdout,
    /\nrows {6}train \d+ {2}dev \d+ {2}golden 32; [\d.]+ tokens on average, \d+ at most, 0 with their evidence cut\n/,
  );
  assert.match(
    ran.stdout,
    /\ntraining {2}1000 steps of 8 rows: \d+ tokens, [\d.]+ epochs\ntime {6}about [\d.]+ GPU minutes; memory about [\d.]+ GiB\n/,
  );
  assert.ok(ran.stdout.endsWith(`${out}\n`));
});

test('--json has counts, estimate, settings and the shown rows', async () => {
  const out = join(await temporaryFolder(), 'job');
  const flags = [
    '--steps',
    '20',
    '--lora-targets',
    'q_proj, v_proj',
    '--variants',
    'fp32,int4',
    '--no-double-quant',
    '--seed',
    '7',
    '--show',
    '2',
  ];
  const result = await hopgateJson([...small, '--out', out, ...flags]);
  const settings = result.settings as { [name: string]: unknown };
  assert.deepEqual(
    [settings.max_steps, settings.lora_targets, settings.variants, settings.double_quant, settings.seed, settings.lora_rank],
    [20, ['q_proj', 'v_proj'], ['fp32', 'int4'], false, 7, 16],
  );
  assert.deepEqual((result.estimate as { gpu_minutes: unknown }).gpu_minutes, null);
  const rows = result.rows as { label: string; tokens: { id: number; text: string; loss: boolean }[] }[];
  assert.equal(rows.length, 2);
  for (const { label, tokens } of rows)
    assert.equal(
      tokens
        .filter(({ loss }) => loss)
        .map(({ text }) => text)
        .join(''),
      label,
    );
  assert.deepEqual(result.warnings, ['the tokenizer pads with "<|im_end|>", the token that ends a turn; "<|endoftext|>" pads instead']);
  assert.equal(result.out, out);
});

test('rows of one form alone are warned of', async () => {
  const result = await hopgateJson([...small, '--out', join(await temporaryFolder(), 'job'), '--forms', 'sentence']);
  assert.deepEqual(
    (result.warnings as string[])[0],
    'only the form sentence is trained on: on claims worded otherwise, as generated ones are, the verifier will do worse (labels build --forms)',
  );
});

test('P50: --max-minutes ends with exit code 1 and no folder', async () => {
  const out = join(await temporaryFolder(), 'job');
  const ran = await hopgate([
    'verifier',
    'plan',
    '--labels',
    labels,
    '--base',
    'Qwen/Qwen2.5-3B-Instruct',
    '--out',
    out,
    '--max-minutes',
    '0.5',
  ]);
  assert.equal(ran.code, 1);
  assert.match(
    ran.stderr,
    /about [\d.]+ GPU minutes \(1000 steps, \d+ tokens\), above --max-minutes 0\.5; fewer --max-steps or a smaller --base, and nothing is written\n$/,
  );
  assert.equal(existsSync(out), false);
});

const refusals: [claim: string, args: string[], message: RegExp][] = [
  ['no label rows', ['--base', 'a/b', '--tokenizer', tokenizer], /--labels: expected a folder that labels build made$/],
  ['a base whose tokenizer is not here', ['--labels', labels, '--base', 'a/b'], /--base: got "a\/b", whose tokenizer is not here; /],
  [
    'a head without rows',
    ['--task', 'stoprag', '--base', 'a/b', '--tokenizer', tokenizer],
    /--rows: expected the JSON lines that stoprag is trained on$/,
  ],
  [
    'rows for the labels',
    ['--labels', labels, '--rows', 'x.jsonl', '--base', 'a/b'],
    /--rows: of use for a head alone \(--task stoprag or simrag\)$/,
  ],
  [
    'label rows for a head',
    ['--task', 'simrag', '--labels', labels, '--rows', 'x.jsonl', '--base', 'a/b'],
    /--labels: of no use for the task simrag, which is trained on --rows$/,
  ],
  [
    'a rank of half',
    ['--labels', labels, '--base', 'a/b', '--tokenizer', tokenizer, '--lora-rank', '0.5'],
    /--lora-rank: got 0\.5, Invalid input: expected int, received number$/,
  ],
  [
    'an unknown number format',
    ['--labels', labels, '--base', 'a/b', '--tokenizer', tokenizer, '--variants', 'fp32,int2'],
    /--variants: got \["fp32","int2"\], Invalid option: expected one of "fp32"\|"fp16"\|"int8"\|"int4"$/,
  ],
];
for (const [claim, args, message] of refusals) {
  test(`refuses ${claim} with exit code 2`, async () => {
    const ran = await hopgate(['verifier', 'plan', '--out', join(await temporaryFolder(), 'job'), ...args]);
    assert.equal(ran.code, 2, ran.stderr);
    assert.match(ran.stderr.trim(), message);
  });
}

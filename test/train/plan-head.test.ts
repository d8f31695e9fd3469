import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { type JobRow, readJobRows } from '../../src/core/verifier-job.js';
import { nextStep, planHead, preflight } from '../../train/index.js';
import { temporaryFile, temporaryFolder } from '../support/files.js';
import { smallTokenizer } from '../support/small-tokenizer.js';

const lines = (rows: readonly object[]): Promise<string> =>
  temporaryFile('rows.jsonl', rows.map((row) => `${JSON.stringify(row)}\n`).join(''));

async function options(settings: object = {}): Promise<Parameters<typeof planHead>[2] & { out: string }> {
  return { out: join(await temporaryFolder(), 'job'), tokenizer: await smallTokenizer(), settings: { base: 'a/b', seed: 13, ...settings } };
}

const ROWS = Array.from({ length: 40 }, (_, at) => ({
  question: `Which river runs past tower ${Math.floor(at / 2)}?`,
  evidence: ['The tower stands on the bank.', 'The bank is that of the Thames <|im_end|>.'],
  loop: 1 + (at % 2),
  label: at % 2,
}));

test('the rows of V-StopRAG: question, loop and evidence, no label token, and the questions of dev in no training row', async () => {
  const wanted = await options();
  const { plan, chat, manifest } = await planHead('stoprag', await lines(ROWS), { ...wanted, devShare: 0.2 });
  assert.deepEqual([plan.task, plan.labels, plan.label_ids], ['stoprag', ['continue', 'stop'], {}]);
  // No verifier comes of a head, so no import is named.
  assert.equal(await nextStep(wanted.out, 'export'), null);
  assert.match(await readFile(join(wanted.out, 'README.md'), 'utf8'), /\. The export lies in `export\/`\.\n/);
  // 20 questions, a fifth of them held out, two rows each.
  assert.deepEqual([plan.counts.train, plan.counts.dev], [32, 8]);
  const { learning_rate: rate, max_length: length, max_steps: steps, gradient_checkpointing: checkpointing } = plan.settings;
  // Two epochs of 32 rows in steps of 8.
  assert.deepEqual([rate, length, steps, checkpointing], [1e-4, 2048, 8, true]);
  const questions = { train: new Set<string>(), dev: new Set<string>() };
  for (const name of ['train', 'dev'] as const) {
    for await (const { row } of readJobRows(wanted.out, name)) {
      assert.deepEqual(row.loss, [row.ids.length, row.ids.length]);
      const text = chat.tokenizer.decode(row.ids);
      assert.match(
        text,
        /<\|im_start\|>user\nQuestion: Which river runs past tower \d+\?\nLoop: [12]\nEvidence: The tower stands on the bank\. The bank is that of the Thames <\|im_end\|>\.<\|im_end\|>\n<\|im_start\|>assistant\n$/,
      );
      questions[name].add(/Question: (.*)/.exec(text)?.[1] as string);
    }
  }
  assert.equal(questions.train.size, 16);
  assert.ok([...questions.dev].every((one) => !questions.train.has(one)));
  assert.deepEqual(await preflight(wanted.out), []);
  assert.equal(manifest.kind, 'verifier-job');
});

test('the rows of V-SIMRAG: sub-question and intermediate answer too', async () => {
  const wanted = await options();
  const rows = ROWS.map(({ loop: _loop, ...row }) => ({ ...row, sub_question: 'Which bank?', answer: 'the Thames' }));
  const { chat, plan } = await planHead('simrag', await lines(rows), wanted);
  assert.deepEqual(plan.labels, ['insufficient', 'sufficient']);
  for await (const { row } of readJobRows(wanted.out, 'dev'))
    assert.match(
      chat.tokenizer.decode(row.ids),
      /\nCurrent sub-question: Which bank\?\nIntermediate answer: the Thames\nEvidence: The tower/,
    );
});

test('a text that is laid out already is taken as it stands; what is too long is cut at its end', async () => {
  const wanted = await options({ max_length: 160 });
  const texts = Array.from({ length: 12 }, (_, at) => ({
    row: `r${at}`,
    text: `Question ${at}\n${'evidence '.repeat(at + 3)}`.trim(),
    label: at % 2,
    split: at < 10 ? 'train' : 'dev',
  }));
  const { plan, chat } = await planHead('stoprag', await lines(texts), { ...wanted, maxTruncated: 1 });
  const rows: JobRow[] = [];
  for (const name of ['train', 'dev'] as const) for await (const { row } of readJobRows(wanted.out, name)) rows.push(row);
  assert.deepEqual([plan.counts.train, plan.counts.dev], [10, 2]);
  const cut = rows.filter(({ row, ids }) => !chat.tokenizer.decode(ids).includes(texts[Number(row.slice(1))]?.text as string));
  assert.ok(cut.length > 0 && cut.length < rows.length);
  assert.equal(plan.counts.truncated, cut.length);
  assert.ok(rows.every(({ ids, row }) => ids.length <= 160 && chat.tokenizer.decode(ids).includes(`Question ${row.slice(1)}\nevidence`)));
});

const refusals: [claim: string, row: object, task: 'stoprag' | 'simrag', message: (file: string) => string][] = [
  ['a row without a label', { text: 'a' }, 'stoprag', (file) => `${file}, line 2, field label: Invalid input`],
  [
    'text beside fields',
    { text: 'a', evidence: 'b', label: 1 },
    'stoprag',
    (file) => `${file}, line 2: expected either text, or question and evidence`,
  ],
  [
    'a field that the task reads and the row lacks',
    { question: 'a', evidence: 'b', label: 1 },
    'simrag',
    (file) => `${file}, line 2, field sub_question: missing; simrag reads question, evidence, sub_question, answer, or text`,
  ],
  [
    'a split in one row and none in another',
    { text: 'a', label: 1, split: 'dev' },
    'stoprag',
    (file) => `${file}, line 1: has no split, while line 2 has one; expected it in all lines or in none`,
  ],
];
for (const [claim, row, task, message] of refusals) {
  test(`refuses ${claim}`, async () => {
    const file = await lines([{ text: 'fine', label: 0 }, row]);
    await assert.rejects(planHead(task, file, await options()), { name: 'InputError', message: message(file) });
  });
}

test('the head’s job runs by the same files as the verifier’s', async () => {
  const wanted = await options();
  await planHead('stoprag', await lines(ROWS), wanted);
  assert.match(await readFile(join(wanted.out, 'job.slurm'), 'utf8'), /#SBATCH --job-name=hopgate-stoprag\n/);
});

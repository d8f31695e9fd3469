import assert from 'node:assert/strict';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { sha256 } from '../../src/core/hash.js';
import { temporaryFolder } from '../support/files.js';
import { pythonOrSkip } from '../support/python.js';
import { type TinyJob, tinyHeadJob, tinyJob, writeTinyJob } from '../support/tiny-job.js';
import { type TrainerRun, runTrainer } from '../support/trainer.js';

test('a plan, a tokenizer and rows that would teach nothing, or the wrong thing, are each refused by name, without PyTorch', async (t) => {
  const python = pythonOrSkip(t, ['tokenizers']);
  if (python === undefined) return;
  // `import torch` fails here.
  const start = ['-c', 'import sys, runpy; sys.modules["torch"] = None; runpy.run_module("trainer", run_name="__main__", alter_sys=True)'];
  const check = (folder: string): Promise<TrainerRun> => runTrainer(python, ['check', '--job', folder], { start });
  const right = await check(await writeTinyJob(await temporaryFolder(), tinyJob('base')));
  assert.deepEqual([right.code, right.events], [0, [{ event: 'checked', train: 48, dev: 18, golden: 6 }]], right.stderr);
  const head = await check(await writeTinyJob(await temporaryFolder(), tinyHeadJob('base')));
  assert.equal(head.code, 0, head.stderr);

  const train = (job: TinyJob, at: number): TinyJob['rows']['train'][number] => job.rows.train[at] as TinyJob['rows']['train'][number];
  const faults: [kind: string, message: string, change: (job: TinyJob, folder: string) => void | (() => Promise<void>)][] = [
    [
      'empty-loss',
      'train.jsonl, line 2, row "t1", field loss: got [9, 9], expected a span of at least one token: this row would teach nothing',
      (job) => void (train(job, 1).loss = [9, 9]),
    ],
    [
      'label-mismatch',
      'train.jsonl, line 2, row "t1", field loss: got [1], expected [1, 2], the ids of "partial": the label is cut or another\'s',
      (job) => {
        const row = train(job, 1);
        row.ids.pop();
        row.loss = [row.ids.length - 1, row.ids.length];
      },
    ],
    [
      'row',
      'dev.jsonl, line 1, row "d0", field loss: got [30, 31], expected a span inside the 9 tokens, behind at least one of the prompt',
      (job) => void Object.assign(job.rows.dev[0] as object, { ids: [202, 20, 21, 22, 23, 24, 10, 202, 0], loss: [30, 31] }),
    ],
    [
      'outside-vocabulary',
      'train.jsonl, line 1, row "t0", field ids[1]: got 203, expected an id below the 203 of the vocabulary',
      (job) => void (train(job, 0).ids[1] = 203),
    ],
    [
      'too-long',
      'train.jsonl, line 3, row "t2", field ids: got 65, expected at most the 64 tokens of settings.max_length',
      (job) => void (train(job, 2).ids = [...Array.from({ length: 64 }, () => 20), 3]),
    ],
    [
      'padding-in-loss',
      'train.jsonl, line 1, row "t0", field loss: got [0, 200], expected no padding id 200',
      (job) => padLoss(train(job, 0), 200),
    ],
    [
      'end-in-loss',
      'train.jsonl, line 1, row "t0", field loss: got [0, 201], expected no end-of-turn id 201',
      (job) => padLoss(train(job, 0), 201),
    ],
    [
      'repeated-row',
      'train.jsonl, line 2, row "t0", field row: got "t0", expected an id that no other row has',
      (job) => void (train(job, 1).row = 't0'),
    ],
    [
      'row',
      'train.jsonl, line 1, row "t0", field label: got "maybe", expected one of match, partial, null',
      (job) => void (train(job, 0).label = 'maybe'),
    ],
    ['no-rows', 'train.jsonl: no row to train on', (job) => void (job.rows.train = [])],
    ['pad-is-eos', 'plan.json, field pad_id: got 201, expected another id than eos_id', (job) => void (job.plan.pad_id = 201)],
    [
      'equal-labels',
      'plan.json, field label_ids.null: got [0], expected other ids than those of "match"',
      (job) => void (job.plan.label_ids.null = [0]),
    ],
    [
      'padding-in-loss',
      'plan.json, field label_ids.null: got 200, expected no padding id',
      (job) => void (job.plan.label_ids.null = [3, 200]),
    ],
    [
      'end-in-loss',
      'plan.json, field label_ids.null: got 201, expected no end-of-turn id: it stays out of the loss',
      (job) => void (job.plan.label_ids.null = [3, 201]),
    ],
    [
      'label-text',
      'plan.json, field label_ids.match: the ids [0] decode to " match", expected "match"',
      // "Ġ" is how a byte-level tokenizer writes a space.
      (job) => void (job.vocabulary[0] = 'Ġmatch'),
    ],
    [
      'tokenizer',
      `tokenizer/tokenizer.json: got sha256 SHA, expected ${sha256('another')} as in plan.json: the tokenizer of another plan`,
      (job) => void (job.plan.tokenizer_sha256 = sha256('another')),
    ],
    [
      'settings',
      'plan.json, field settings.max_length: got 0, expected a whole number, at least 1',
      (job) => void (job.plan.settings.max_length = 0),
    ],
    ['settings', 'plan.json, field settings.seed: missing', (job) => void delete job.plan.settings.seed],
    [
      'settings',
      'plan.json, field settings.lora_dropout: got 1, expected a number at least 0 and below 1',
      (job) => void (job.plan.settings.lora_dropout = 1),
    ],
    [
      'settings',
      'plan.json, field settings.optimizer: got "sgd", expected one of auto, paged_adamw_8bit, adamw',
      (job) => void (job.plan.settings.optimizer = 'sgd'),
    ],
    [
      'settings',
      'plan.json, field settings.lora_targets: got ["lm_head"], expected projections inside the layers, without lm_head, which may be tied',
      (job) => void (job.plan.settings.lora_targets = ['lm_head']),
    ],
    [
      'settings',
      'plan.json, field settings.variants: got ["int8"], expected fp32, and each other at most once, of fp32, fp16, int8, int4',
      (job) => void (job.plan.settings.variants = ['int8']),
    ],
    ['plan', 'plan.json, field task: got "other", expected one of labels, stoprag, simrag', (job) => void (job.plan.task = 'other')],
    [
      'job-changed',
      'train.jsonl: got sha256 SHA, expected SHA as in the manifest: the file was changed or damaged',
      (_job, folder) => () => writeFile(join(folder, 'train.jsonl'), 'x'),
    ],
    ['job-changed', 'dev.jsonl: listed in the manifest, but missing', (_job, folder) => () => rm(join(folder, 'dev.jsonl'))],
    ['unfinished-job', 'FOLDER: no manifest.json: not a finished job folder', (_job, folder) => () => rm(join(folder, 'manifest.json'))],
  ];
  const results = await inPairs(faults, async ([, message, change]) => {
    const folder = await temporaryFolder();
    const job = tinyJob('base');
    const spoil = change(job, folder);
    const run = await check(await writeTinyJob(folder, job, spoil ?? undefined));
    const event = run.events.at(-1);
    const said = String(event?.message)
      .replace(folder, 'FOLDER')
      .replace(/got sha256 [0-9a-f]{64}/, 'got sha256 SHA');
    return [
      run.code,
      event?.event,
      event?.kind,
      message.includes('expected SHA') ? said.replace(/expected [0-9a-f]{64}/, 'expected SHA') : said,
    ];
  });
  assert.deepEqual(
    results,
    faults.map(([kind, message]) => [2, 'error', kind, message]),
  );
  const placed = await check(
    await writeTinyJob(
      await temporaryFolder(),
      withChange((job) => void (train(job, 1).loss = [9, 9])),
    ),
  );
  assert.deepEqual(
    { ...placed.events[0], message: '' },
    { event: 'error', kind: 'empty-loss', message: '', file: 'train.jsonl', line: 2, row: 't1', field: 'loss' },
  );
});

function withChange(change: (job: TinyJob) => unknown): TinyJob {
  const job = tinyJob('base');
  change(job);
  return job;
}

function padLoss(row: TinyJob['rows']['train'][number], id: number): void {
  row.ids.push(id);
  row.loss = [row.ids.length - 2, row.ids.length];
}

/** Two at a time, as many as there are cores. */
async function inPairs<A, B>(items: readonly A[], work: (item: A) => Promise<B>): Promise<B[]> {
  const results: B[] = [];
  for (let at = 0; at < items.length; at += 2) results.push(...(await Promise.all(items.slice(at, at + 2).map(work))));
  return results;
}

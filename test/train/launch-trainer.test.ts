import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cp, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { type TrainerLine, checkedJob, follow, launch } from '../../train/index.js';
import { temporaryFolder } from '../support/files.js';
import { quietly } from '../support/launched.js';
import { pythonOrSkip } from '../support/python.js';
import { smallTokenizer } from '../support/small-tokenizer.js';
import { verifierJob } from '../support/verifier-job.js';

/** Arguments: folder, size of the vocabulary. */
const TINY_BASE = `
import sys, torch, transformers
torch.manual_seed(7)
sizes = dict(vocab_size=int(sys.argv[2]), hidden_size=16, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2,
             num_key_value_heads=1, head_dim=8, max_position_embeddings=4096, tie_word_embeddings=True)
transformers.Qwen2ForCausalLM(transformers.Qwen2Config(**sizes)).save_pretrained(sys.argv[1])
`;

test('a planned job runs through its own run.sh and the real trainer, and its events are all understood', async (t) => {
  const python = pythonOrSkip(t, ['torch', 'transformers', 'peft', 'onnx', 'onnx_ir', 'onnxruntime']);
  if (python === undefined) return;
  const tokenizer = await smallTokenizer();
  const base = join(await temporaryFolder(), 'base');
  const { model } = JSON.parse(await readFile(join(tokenizer, 'tokenizer.json'), 'utf8')) as {
    model: { vocab: { [token: string]: number } };
  };
  const size = Math.max(...Object.values(model.vocab)) + 1;
  const written = spawnSync(python, ['-c', TINY_BASE, base, String(size)], { encoding: 'utf8' });
  assert.equal(written.status, 0, written.stderr);
  for (const name of ['tokenizer.json', 'tokenizer_config.json']) await cp(join(tokenizer, name), join(base, name));
  const settings = { base, max_steps: 2, checkpoint_every: 1, accumulation: 1, variants: ['fp32' as const] };
  const { dir } = await verifierJob({ questions: 12, forms: ['sentence'], golden: 3, tokenizer, settings });

  const lines: TrainerLine[] = [];
  const launched = await launch(dir, { environment: {}, python });
  const { training, made } = await follow(launched, quietly({ onLine: (line) => lines.push(line) }));
  const events = lines.flatMap((line) => ('event' in line ? [line.event] : []));
  assert.deepEqual(
    events.filter(({ event }) => event === 'stage').map((event) => (event as { name: string }).name),
    ['load', 'train', 'merge', 'export', 'dev'],
  );
  assert.deepEqual([training.step, training.of, training.checkpoint], [2, 2, 2]);
  assert.equal(training.dev?.macro_f1, made.metrics.dev.macro_f1);
  assert.equal(events.at(-1)?.event, 'done');
  // Whatever else the trainer prints is not an event that this version does not know.
  assert.deepEqual(
    lines.filter((line) => 'text' in line && line.text.startsWith('{"event"')),
    [],
  );
  assert.equal(made.metrics.steps, 2);
  await checkedJob(dir);
});

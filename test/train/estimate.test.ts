import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { type BaseShape, VERIFIER_DEFAULTS, baseShape, estimateRun } from '../../train/index.js';
import { temporaryFolder } from '../support/files.js';

const SETTINGS = { ...VERIFIER_DEFAULTS, base: 'a/b', seed: 13 };
const ROWS = { train: 4000, dev: 800, meanTokens: 150, longest: 300 };

test('the published shapes of Qwen2.5 have the published numbers of parameters', async () => {
  // Model cards, total and without embeddings, in billions: 0.5B 0.49 / 0.36, 1.5B 1.54 / 1.31, 3B 3.09 / 2.77, 7B 7.61 / 6.53, 14B 14.7 / 13.1,
  // 32B 32.5 / 31.0, 72B 72.7 / 70.0. Norms and biases, which are left out here, are below 0.1% of them.
  const published: [size: string, total: number, layers: number][] = [
    ['0.5B', 0.49, 0.36],
    ['1.5B', 1.54, 1.31],
    ['3B', 3.09, 2.77],
    ['7B', 7.61, 6.53],
    ['14B', 14.7, 13.1],
    ['32B', 32.5, 31],
    ['72B', 72.7, 70],
  ];
  for (const [size, total, layers] of published) {
    const shape = (await baseShape(`Qwen/Qwen2.5-${size}-Instruct`, [])) as BaseShape;
    const near = (got: number, expected: number): boolean => Math.abs(got / 1e9 - expected) / expected < 0.015;
    assert.ok(near(shape.layerParameters + shape.tableParameters, total), `${size}: ${shape.layerParameters + shape.tableParameters}`);
    assert.ok(near(shape.layerParameters, layers), `${size}: ${shape.layerParameters}`);
  }
});

test('a config.json beside the tokenizer says the shape; a name that is not known says none', async () => {
  const folder = await temporaryFolder();
  await writeFile(
    join(folder, 'config.json'),
    JSON.stringify({
      vocab_size: 100,
      hidden_size: 8,
      intermediate_size: 16,
      num_hidden_layers: 2,
      num_attention_heads: 4,
      num_key_value_heads: 2,
      tie_word_embeddings: true,
    }),
  );
  const shape = (await baseShape('a/model-of-70B', [await temporaryFolder(), folder])) as BaseShape;
  // A layer: q and o 8 × 8, k and v 8 × 4, gate, up and down 8 × 16: 64 + 64 + 32 + 32 + 3 · 128 = 576. One table of 100 × 8.
  assert.deepEqual([shape.layerParameters, shape.tableParameters, shape.source], [1152, 800, 'config.json']);
  assert.deepEqual(shape.widths.k_proj, 12);
  assert.equal(await baseShape('a/model-of-70B', [await temporaryFolder()]), undefined);
});

test('time is that of the operations, or of the layers where the rows are short', async () => {
  const shape = (await baseShape('Qwen/Qwen2.5-3B-Instruct', [])) as BaseShape;
  const parameters = shape.layerParameters + shape.tableParameters;
  const slow = estimateRun(ROWS, SETTINGS, shape, { teraflops: 1, layerMs: 0.001 });
  // 1,000 steps × 8 rows × 150 tokens, 4 operations a parameter; 800 dev rows × 150 tokens, 2 operations.
  const seconds = ((1000 * 8 * 150 * 4 + 800 * 150 * 2) * parameters) / 1e12;
  assert.equal(slow.tokens, 1_200_000);
  assert.equal(slow.epochs, 2);
  assert.equal(slow.gpu_minutes, Number((seconds / 60).toPrecision(3)));
  const short = estimateRun(ROWS, SETTINGS, shape, { teraflops: 1e6, layerMs: 5 });
  // 8,000 passes × 36 layers × 5 ms, and 100 forward passes at a third of it.
  assert.equal(short.gpu_minutes, Number((((8000 + 100 / 3) * 36 * 0.005) / 60).toPrecision(3)));
});

test('memory is that of the merge in 32-bit floats where it is the larger, and grows with row length, batch and optimiser', async () => {
  const shape = (await baseShape('Qwen/Qwen2.5-3B-Instruct', [])) as BaseShape;
  const of = (changes: object, rows = ROWS): number => estimateRun(rows, { ...SETTINGS, ...changes }, shape).memory_gib as number;
  // 4 bytes × 3.09 billion + 1 GiB.
  assert.equal(of({}), Number(((4 * (shape.layerParameters + shape.tableParameters)) / 1024 ** 3 + 1).toPrecision(3)));
  const large = { batch_size: 32 };
  assert.ok(of(large) > of({}));
  assert.ok(of(large, { ...ROWS, longest: 600 }) > of(large));
  assert.ok(of({ ...large, optimizer: 'adamw' }) > of(large));
  assert.ok(of({ ...large, quantisation: 'none' }) > of(large));
  assert.ok(of({ ...large, gradient_checkpointing: true }) < of(large));
});

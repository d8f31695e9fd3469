// Our batched encoder beside transformers.js called one sentence at a time, on the same model, the same sentences and in the same process.
// After compiling the tests: node build/bench/encode.js [sentences]
import { pipeline } from '@huggingface/transformers';
import { mkdtemp, rm } from 'node:fs/promises';
import { cpus, tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { minilmFolder } from '../runtime/encoders/minilm.js';
import { openEncoder } from '../runtime/index.js';
import { random } from '../src/core/random.js';

const WORDS =
  'the film river was directed by a composer from an old town and later named after its first duke in 1923 near northern lakes'.split(' ');
const ROUNDS = 3;

const count = Number(process.argv[2] ?? 600);
if (!(Number.isInteger(count) && count > 0)) throw new RangeError(`sentences: got ${process.argv[2]}, expected a positive integer`);
const cacheDir = await mkdtemp(join(tmpdir(), 'hopgate-bench-'));
try {
  await measure(sentences(count), cacheDir);
} finally {
  await rm(cacheDir, { recursive: true });
}

/** Six to forty words, about the lengths of Wikipedia's sentences. */
function sentences(n: number): string[] {
  const draw = random(13, 'bench encode');
  return Array.from({ length: n }, () => Array.from({ length: 6 + draw.int(35) }, () => WORDS[draw.int(WORDS.length)]).join(' '));
}

async function measure(texts: readonly string[], cacheDir: string): Promise<void> {
  const ours = await openEncoder('minilm', { cacheDir, modelDir: cacheDir });
  const { folder } = await minilmFolder(cacheDir);
  const theirs = await pipeline('feature-extraction', folder, { local_files_only: true, dtype: 'fp32', device: 'cpu' });
  const single: Float32Array[] = [];
  const arms = {
    batched: () => ours.encode(texts, 'passage'),
    'one at a time': async () => {
      single.length = 0;
      for (const text of texts) single.push((await theirs(text, { pooling: 'mean', normalize: true })).data as Float32Array);
      return single;
    },
  };
  // Once unmeasured, then in turn, so that a machine that warms up or is shared treats both alike; the best round of each counts.
  const best = { batched: Infinity, 'one at a time': Infinity };
  const vectors = { batched: await arms.batched(), 'one at a time': [...(await arms['one at a time']())] };
  for (let round = 0; round < ROUNDS; round++) {
    for (const arm of ['batched', 'one at a time'] as const) {
      const started = process.hrtime.bigint();
      await arms[arm]();
      best[arm] = Math.min(best[arm], Number(process.hrtime.bigint() - started) / 1e6);
    }
  }
  const difference = Math.max(
    ...vectors.batched.map((vector, at) =>
      vector.reduce((most, x, k) => Math.max(most, Math.abs(x - (vectors['one at a time'][at]?.[k] ?? NaN))), 0),
    ),
  );
  const [cpu] = cpus();
  console.log(
    `machine: ${cpus().length} × ${cpu?.model.trim() ?? 'unknown'}, ${(totalmem() / 2 ** 30).toFixed(0)} GiB, ${process.platform} ${process.arch}, Node ${process.version}`,
  );
  console.log(`${texts.length} sentences, all-MiniLM-L6-v2 fp32, best of ${ROUNDS} rounds`);
  for (const [arm, ms] of Object.entries(best)) {
    console.log(
      `  ${arm.padEnd(14)} ${(ms / texts.length).toFixed(2)} ms a sentence, ${((texts.length / ms) * 1000).toFixed(0)} sentences/s`,
    );
  }
  console.log(
    `  ratio ${(best['one at a time'] / best.batched).toFixed(2)}; largest difference of a component ${difference.toExponential(1)}`,
  );
  await Promise.all([ours.close(), theirs.dispose()]);
}

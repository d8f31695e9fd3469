// Exact dense search over Arrow files beside numpy over the same vectors, one thread each, in blocks of the same size: seconds of a pass for a
// million vectors. After compiling the tests: HOPGATE_TEST_PYTHON=… node build/bench/dense.js [vectors] [width] [queries]
import { spawnSync } from 'node:child_process';
import { mkdtemp, open, rm, writeFile } from 'node:fs/promises';
import { cpus, tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { writeArrow } from '../src/core/arrow.js';
import { passageVectorColumns } from '../src/core/corpus.js';
import { random } from '../src/core/random.js';
import { searchVectors } from '../src/retrieval/index.js';

/** Rows of a record batch: what is in memory at once. */
const BLOCK = 4096;
const TOP = 3;
const ROUNDS = 3;

const [count, width, queries] = [argument(2, 200_000), argument(3, 384), argument(4, 8)];
const folder = await mkdtemp(join(tmpdir(), 'hopgate-bench-'));
try {
  await measure();
} finally {
  await rm(folder, { recursive: true });
}

function argument(at: number, fallback: number): number {
  const value = Number(process.argv[at] ?? fallback);
  if (!(Number.isInteger(value) && value > 0)) throw new RangeError(`got ${process.argv[at]}, expected a positive integer`);
  return value;
}

function* unitVectors(n: number, name: string): Generator<Float32Array> {
  const draw = random(13, name);
  for (let at = 0; at < n; at++) {
    const one = Float32Array.from({ length: width }, () => draw.float() - 0.5);
    const length = Math.sqrt(one.reduce((sum, x) => sum + x * x, 0));
    yield one.map((x) => x / length);
  }
}

async function measure(): Promise<void> {
  const [arrowFile, rawFile, queryFile] = [join(folder, 'vectors.arrow'), join(folder, 'vectors.f32'), join(folder, 'queries.f32')];
  const raw = await open(rawFile, 'w');
  async function* rows(): AsyncGenerator<{ vector: Float32Array }> {
    for (const vector of unitVectors(count, 'vectors')) {
      await raw.write(new Uint8Array(vector.buffer));
      yield { vector };
    }
  }
  await writeArrow(arrowFile, passageVectorColumns, rows());
  await raw.close();
  const asked = [...unitVectors(queries, 'queries')];
  await writeFile(queryFile, Buffer.concat(asked.map((one) => new Uint8Array(one.buffer))));

  const files = [{ path: arrowFile, numberOf: (row: number) => row }];
  let best = Infinity;
  let found: number[][] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const { hits, seconds } = await searchVectors(files, asked, { column: 'vector', top: TOP });
    best = Math.min(best, seconds);
    found = hits.map((one) => one.map(({ number }) => number));
  }
  const [cpu] = cpus();
  console.log(
    `machine: ${cpus().length} × ${cpu?.model.trim() ?? 'unknown'}, ${(totalmem() / 2 ** 30).toFixed(0)} GiB, ${process.platform} ${process.arch}, Node ${process.version}`,
  );
  console.log(`${count} vectors of ${width} numbers, ${queries} queries a pass, top ${TOP}, best of ${ROUNDS} rounds`);
  const perMillion = (seconds: number): string => ((seconds / count) * 1e6).toFixed(2);
  console.log(`  hopgate ${perMillion(best)} s a million vectors; peak memory ${(process.resourceUsage().maxRSS / 1024).toFixed(0)} MiB`);
  const python = process.env.HOPGATE_TEST_PYTHON ?? join('.venv', 'bin', 'python');
  const one = { OMP_NUM_THREADS: '1', OPENBLAS_NUM_THREADS: '1', MKL_NUM_THREADS: '1' };
  const ran = spawnSync(python, [join('bench', 'dense.py'), rawFile, String(width), queryFile, String(BLOCK), String(TOP)], {
    encoding: 'utf8',
    env: { ...process.env, ...one },
  });
  if (ran.status !== 0) {
    console.log(`  numpy was not measured: ${ran.error?.message ?? ran.stderr.trim()}`);
    return;
  }
  const theirs = JSON.parse(ran.stdout) as { seconds: number; rows: number[][] };
  // Scores of 32-bit floats may order near-equal rows otherwise; the best row has to be the same.
  const same = found.filter((rowsOf, at) => rowsOf[0] === theirs.rows[at]?.[0]).length;
  console.log(
    `  numpy   ${perMillion(theirs.seconds)} s a million vectors; ratio ${(best / theirs.seconds).toFixed(2)}; the same best row for ${same} of ${queries} queries`,
  );
}

/**
 * Label building beside Python's json with the same counting loop. `node build/bench/labels.js [MB]` makes an invented file of that size
 * (100), counts its candidates with both, builds the rows, and prints speeds, peak memory and the machine. Every measurement is a process
 * of its own; the fastest of three counts.
 */
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { arch, cpus, platform, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { buildLabels, labelCandidates, openRecords } from '../datasets/index.js';
import { LABELS } from '../src/core/labels.js';
import { repositoryRoot } from '../test/support/root.js';
import { writeSyntheticHotpotqa } from '../test/support/synthetic-hotpotqa.js';

interface Measured {
  candidates: { match: number; partial: number; null: number };
  seconds: number;
  /** Largest resident size in bytes. */
  peak: number;
}

const run = promisify(execFile);
const self = fileURLToPath(import.meta.url);
const python = process.env.HOPGATE_TEST_PYTHON ?? 'python3';
const [what = '100', file = '', out = ''] = process.argv.slice(2);

if (what === 'count' || what === 'build') process.stdout.write(JSON.stringify(await (what === 'count' ? counting() : building())));
else await compare(Number(what));

async function counting(): Promise<Measured> {
  const candidates = { match: 0, partial: 0, null: 0 };
  return measured(async () => {
    for await (const record of (await openRecords(file)).records) {
      const found = labelCandidates(record);
      for (const label of LABELS) candidates[label] += found[label].length;
    }
    return candidates;
  });
}

async function building(): Promise<Measured> {
  return measured(async () => (await buildLabels(await openRecords(file), { out, force: true })).candidates);
}

async function measured(work: () => Promise<Measured['candidates']>): Promise<Measured> {
  const started = performance.now();
  const candidates = await work();
  return { candidates, seconds: (performance.now() - started) / 1000, peak: process.resourceUsage().maxRSS * 1024 };
}

async function compare(megabytes: number): Promise<void> {
  if (!(megabytes > 0)) throw new RangeError(`size in MB: got ${what}, expected a number above 0`);
  const folder = await mkdtemp(join(tmpdir(), 'hopgate-bench-'));
  try {
    const input = join(folder, 'synthetic.json');
    const { bytes, questions } = await writeSyntheticHotpotqa(input, { bytes: megabytes * 1e6 });
    const [model = 'unknown processor'] = cpus().map((cpu) => cpu.model);
    process.stdout.write(`${model}, ${cpus().length} cores, ${platform()} ${arch()}, Node ${process.versions.node}\n`);
    process.stdout.write(`${(bytes / 1e6).toFixed(0)} MB, ${questions} questions\n\n`);
    const count = await fastest(process.execPath, [self, 'count', input]);
    const build = await fastest(process.execPath, [self, 'build', input, join(folder, 'labels')]);
    const other = await fastest(python, [join(repositoryRoot, 'bench', 'labels.py'), input]).catch((error: Error) => error);
    row('hopgate, count candidates', count, bytes);
    row('hopgate, build rows', build, bytes);
    if (other instanceof Error) {
      process.stdout.write(`Python json: not measured (${other.message.split('\n')[0]})\n`);
      return;
    }
    row('Python json, count candidates', other, bytes);
    const agree = JSON.stringify(other.candidates) === JSON.stringify(count.candidates);
    process.stdout.write(`\ncounting: ${(other.seconds / count.seconds).toFixed(1)} times as fast as Python, `);
    process.stdout.write(`${(other.peak / count.peak).toFixed(1)} times less memory; counts ${agree ? 'agree' : 'DIFFER'}\n`);
    if (!agree) process.exitCode = 1;
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function fastest(command: string, args: readonly string[]): Promise<Measured> {
  let best: Measured | undefined;
  for (let time = 0; time < 3; time++) {
    const { stdout } = await run(command, args);
    const one = JSON.parse(stdout) as Measured;
    if (!best || one.seconds < best.seconds) best = one;
  }
  return best as Measured;
}

function row(name: string, { seconds, peak }: Measured, bytes: number): void {
  const speed = `${(bytes / 1e6 / seconds).toFixed(1)} MB/s`;
  process.stdout.write(`${name.padEnd(32)} ${speed.padStart(12)} ${`${(peak / 1e6).toFixed(0)} MB peak`.padStart(14)}\n`);
}

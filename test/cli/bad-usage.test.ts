import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { hopgate, hopgateJson } from '../support/cli.js';
import { temporaryFile, temporaryFolder } from '../support/files.js';
import { hotpotqaQuestions } from '../support/hotpotqa-file.js';

let file: string;
let run: string;

before(async () => {
  file = await temporaryFile('small.json', JSON.stringify(hotpotqaQuestions(6)));
  run = join(await temporaryFolder(), 'run');
  await hopgateJson(['trajectories', 'run', file, '--agent', 'chain', '--out', run]);
});

async function refuses(args: readonly string[], message: string, options: { cwd?: string } = {}): Promise<void> {
  const { code, stdout, stderr } = await hopgate(args, options);
  assert.deepEqual({ code, stdout, stderr }, { code: 2, stdout: '', stderr: `hopgate: ${message}\n` }, args.join(' '));
}

test('a seed that is no exact whole number is refused with the text as given, and nothing is written', async () => {
  const out = join(await temporaryFolder(), 'out');
  const build = (seed: string): string[] => ['claims', 'build', file, '--source', 'gold', '--out', out, '--seed', seed];
  for (const seed of ['abc', 'Infinity', '', '0x10']) await refuses(build(seed), `--seed: got ${JSON.stringify(seed)}, expected a number`);
  for (const seed of ['1e30', '1.5'])
    await refuses(build(seed), `--seed: got ${JSON.stringify(seed)}, expected a whole number of at most 2^53 − 1`);
  await assert.rejects(readdir(out), { code: 'ENOENT' });
});

test('a number flag that is empty, infinite or no number is refused with the text as given', async () => {
  const out = join(await temporaryFolder(), 'out');
  const trajectories = ['trajectories', 'run', file, '--agent', 'chain', '--out', out];
  await refuses([...trajectories, '--k1', 'Infinity'], '--k1: got "Infinity", expected a number');
  await refuses([...trajectories, '--k1', ''], '--k1: got "", expected a number');
  await refuses([...trajectories, '--b', ' '], '--b: got " ", expected a number');
  await refuses([...trajectories, '--budget', 'six'], '--budget: got "six", expected a number');
  await refuses([...trajectories, '--budget', '2.5'], '--budget: got 2.5, expected a whole number of at least 1');
  await refuses([...trajectories, '--b', '1', '--b', '0'], '--b: given 2 times, expected once');
  await refuses(['labels', 'build', file, '--out', out, '--dev-share', ''], '--dev-share: got "", expected a number');
  await refuses(['replay', run, '--out', out, '--tau', ''], '--tau: got "", expected a number');
});

test('an empty --out is refused instead of standing for the current folder', async () => {
  const cwd = await temporaryFolder();
  await refuses(['claims', 'build', file, '--source', 'gold', '--out', ''], '--out: got "", expected a folder', { cwd });
  await refuses(['decide', run, '--decider', 'gold', '--out', ''], '--out: got "", expected a folder', { cwd });
  assert.deepEqual(await readdir(cwd), []);
});

test('a side file that is missing or a folder is named', async () => {
  const [out, folder] = [join(await temporaryFolder(), 'out'), await temporaryFolder()];
  const missing = join(folder, 'nosuch.jsonl');
  const flags: string[][] = [
    ['trajectories', 'run', file, '--agent', 'scripted', '--out', out, '--followups'],
    ['decide', run, '--decider', 'file', '--verdicts'],
    ['labels', 'build', file, '--out', out, '--subset'],
    ['data', 'doctor', file, '--subset'],
  ];
  for (const args of flags) {
    await refuses([...args, missing], `${missing}: no such file`);
    await refuses([...args, folder], `${folder}: is a folder, expected a file`);
  }
});

test('what the operating system refuses is one sentence with the path, not a stack', async () => {
  const below = join(file, 'out');
  const { code, stderr } = await hopgate(['claims', 'build', file, '--source', 'gold', '--out', below]);
  assert.equal(code, 2);
  assert.equal(stderr, `hopgate: ${join(below, '.unfinished')}: a part of the path is a file, expected a folder\n`);
  const long = join(await temporaryFolder(), 'x'.repeat(300));
  const named = await hopgate(['claims', 'build', file, '--source', 'gold', '--out', long]);
  assert.equal(named.code, 2);
  assert.match(named.stderr, /^hopgate: .*x.\.unfinished: the name is too long\n$/);
});

test('--force does not turn a run into a folder of claims', async () => {
  await refuses(
    ['claims', 'build', run, '--source', 'gold', '--out', run, '--force'],
    `${run}: holds what trajectories run made (kind trajectories); --force replaces only what claims build made; choose another --out`,
  );
});

test('--force on a run says which folders went with it', async () => {
  const own = join(await temporaryFolder(), 'run');
  const args = ['trajectories', 'run', file, '--agent', 'chain', '--out', own];
  await hopgateJson(args);
  await hopgateJson(['claims', 'build', own, '--source', 'gold']);
  const { code, stderr } = await hopgate([...args, '--force', '--json']);
  assert.equal(code, 0);
  assert.ok(stderr.includes(`${join(own, 'claims', 'gold')}: removed with the run that it was made from\n`), stderr);
});

test('a deeply nested record is quarantined and the others stand', async () => {
  const deep = `${'['.repeat(50_000)}${']'.repeat(50_000)}`;
  const [good] = hotpotqaQuestions(1);
  const fields = ['_id', 'question', 'answer', 'context', 'supporting_facts', 'type', 'level', 'extra', 'question_decomposition'];
  for (const field of fields) {
    const record = JSON.stringify({ ...good, _id: 'deep', [field]: 'HERE' }).replace('"HERE"', deep);
    const mixed = await temporaryFile('deep.json', `[${record},\n${JSON.stringify(good)}]`);
    const out = join(await temporaryFolder(), 'out');
    const built = await hopgateJson(['labels', 'build', mixed, '--dataset', 'hotpotqa', '--out', out]);
    assert.ok((built.rows as { train: number; dev: number }).train + (built.rows as { dev: number }).dev > 0, field);
    const seen = await hopgateJson(['data', 'doctor', mixed, '--dataset', 'hotpotqa']);
    const skipped = Object.values(seen.quarantined as { [reason: string]: number }).reduce((sum, n) => sum + n, 0);
    assert.ok(skipped <= 1 && (seen.counts as { records: number }).records + skipped >= 1, field);
  }
});

test('the name of a folder below a run cannot lead out of it', async () => {
  const out = join(await temporaryFolder(), 'out');
  const calibrate = (decider: string, claims: string): string[] => [
    'calibrate',
    run,
    '--decider',
    decider,
    '--claims',
    claims,
    '--out',
    out,
  ];
  const expected = 'expected letters, digits, ".", "_" or "-"';
  await refuses(calibrate('../verdicts/gold', 'gold'), `--decider: got "../verdicts/gold", ${expected}`);
  await refuses(calibrate('gold', ''), `--claims: got "", ${expected}`);
  await refuses([...calibrate('gold', 'gold'), '--encoder', '..'], `--encoder: got "..", ${expected}`);
});

test('a common flag that changes nothing for a command is warned of', async () => {
  const { warnings } = await hopgateJson(['data', 'doctor', file, '--out', 'nowhere', '--seed=14']);
  assert.deepEqual((warnings as string[]).slice(0, 2), [
    '--seed is of no effect: this command draws nothing',
    '--out is of no effect: this command writes no folder',
  ]);
});

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { temporaryFolder } from '../support/files.js';
import { verifierJob } from '../support/verifier-job.js';

/** Stands for a Python: says how many GPUs there are, and else how it was called. */
const PYTHON = `#!/usr/bin/env bash
if [ "$1" = -c ]; then echo "$GPUS"; exit 0; fi
printf '%s\\n' "$PWD" "$PYTHONPATH" "$@"
exit "$EXIT"
`;

let [job, folder] = ['', ''];
before(async () => {
  ({ dir: job } = await verifierJob());
  folder = await temporaryFolder();
  await mkdir(join(folder, 'bin'));
  await writeFile(join(folder, 'bin', 'fake-python'), PYTHON);
  await chmod(join(folder, 'bin', 'fake-python'), 0o755);
});

function runScript(args: readonly string[], { gpus = 0, exit = 0 } = {}): { code: number | null; lines: string[]; stderr: string } {
  const env = { ...process.env, GPUS: String(gpus), EXIT: String(exit) };
  const ran = spawnSync('bash', [join(job, 'run.sh'), ...args], { cwd: folder, env, encoding: 'utf8' });
  return { code: ran.status, lines: ran.stdout.trim().split('\n'), stderr: ran.stderr };
}

test('run.sh starts the trainer in the job’s folder, with the paths that the caller meant', () => {
  const { code, lines } = runScript(['--python', 'bin/fake-python', '--out', 'my export', '--resume']);
  assert.equal(code, 0);
  assert.deepEqual(lines, [job, job, '-m', 'trainer', 'run', '--job', job, '--out', join(folder, 'my export'), '--resume']);
});

test('run.sh writes to export, without --resume, where it is not told otherwise', () => {
  assert.deepEqual(runScript(['--python', 'bin/fake-python']).lines.slice(2), [
    '-m',
    'trainer',
    'run',
    '--job',
    job,
    '--out',
    join(job, 'export'),
  ]);
});

test('run.sh takes all GPUs where there is more than one, and gives back the trainer’s exit code', () => {
  const { code, lines } = runScript(['--python', 'bin/fake-python'], { gpus: 4, exit: 2 });
  assert.equal(code, 2);
  assert.deepEqual(lines.slice(2, 8), ['-m', 'torch.distributed.run', '--standalone', '--nproc_per_node', '4', '-m']);
});

test('run.sh refuses what it does not know, and a Python that is none', () => {
  const usage = '\nusage: bash run.sh [--python PY] [--out DIR] [--resume]\n';
  assert.deepEqual([runScript(['--fast']).code, runScript(['--fast']).stderr], [2, `run.sh: got --fast, which is no option${usage}`]);
  assert.deepEqual(runScript(['--out']).stderr, `run.sh: expected a folder after --out${usage}`);
  const none = runScript(['--python', 'no-such-python']);
  assert.deepEqual([none.code, none.stderr], [2, 'run.sh: no-such-python is no Python that can be run\n']);
});

test('both scripts are valid bash', () => {
  for (const name of ['run.sh', 'job.slurm']) {
    const { status, stderr } = spawnSync('bash', ['-n', join(job, name)], { encoding: 'utf8' });
    assert.equal(status, 0, stderr);
  }
});

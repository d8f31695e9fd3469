import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';

import { repositoryRoot } from './root.js';
import { skippedInSecondPass } from './second-pass.js';

/**
 * A Python that has the modules named, for comparing with another implementation: HOPGATE_TEST_PYTHON, else .venv/bin/python in the
 * checkout (`python3 -m venv .venv && .venv/bin/pip install -r test/requirements.txt`); undefined after skipping the test with the reason.
 */
export function pythonOrSkip(t: TestContext, modules: readonly string[] = []): string | undefined {
  // What PyTorch and a cluster do does not hang on the version of Node, and takes the longest.
  if ((modules.includes('torch') || modules.includes('ray')) && skippedInSecondPass(t)) return undefined;
  const python = process.env.HOPGATE_TEST_PYTHON ?? join(repositoryRoot, '.venv', 'bin', 'python');
  const reason = whyNot(python, modules);
  if (reason === undefined) return python;
  t.skip(`needs python: ${reason}`);
  return undefined;
}

// Without paths, so that the list of skips names each reason once, whatever the machine.
function whyNot(python: string, modules: readonly string[]): string | undefined {
  if (!existsSync(python)) return 'neither HOPGATE_TEST_PYTHON nor .venv/bin/python is there (packages: test/requirements.txt)';
  const find = 'import sys, importlib.util as u; print(" ".join(m for m in sys.argv[1:] if u.find_spec(m) is None))';
  const found = spawnSync(python, ['-c', find, ...modules], { encoding: 'utf8' });
  if (found.status !== 0) return `the one found does not run: ${found.error?.message ?? found.stderr.trim()}`;
  const missing = found.stdout.trim();
  return missing === '' ? undefined : `the one found lacks ${missing} (pip install -r test/requirements.txt)`;
}

/** Runs `test/python/NAME` with the input as JSON on stdin and parses its stdout as JSON. */
export function runPython(python: string, name: string, input: unknown): unknown {
  const script = join(repositoryRoot, 'test', 'python', name);
  const run = spawnSync(python, [script], { input: JSON.stringify(input), encoding: 'utf8', maxBuffer: 1 << 28 });
  assert.equal(run.status, 0, run.error?.message ?? run.stderr);
  return JSON.parse(run.stdout) as unknown;
}

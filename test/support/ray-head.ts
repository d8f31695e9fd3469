import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { TestContext } from 'node:test';
import { pythonOrSkip } from './python.js';
import { repositoryRoot } from './root.js';

export interface RayHead {
  address: string;
  /** What the head asks for. */
  token: string;
  python: string;
}

let head: Promise<RayHead> | undefined;

let end: (() => Promise<void>) | undefined;

/** A real Ray head on this machine, one for the test file, which ends it with `after(endRayHead)`; undefined after skipping the test with the reason. */
export async function rayHeadOrSkip(t: TestContext): Promise<RayHead | undefined> {
  const python = pythonOrSkip(t, ['ray', 'aiohttp_cors']);
  if (python === undefined) return undefined;
  head ??= start(python);
  return head;
}

export async function endRayHead(): Promise<void> {
  await end?.();
}

async function start(python: string): Promise<RayHead> {
  const token = randomBytes(16).toString('hex');
  // A short path: Ray's sockets lie below it, and their names have a limit of 107 characters.
  const folder = await mkdtemp(join(tmpdir(), 'hg-'));
  const child = spawn(python, [join(repositoryRoot, 'test', 'python', 'ray_head.py'), folder, token], { stdio: ['pipe', 'pipe', 'pipe'] });
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  end = async () => {
    child.stdin.end();
    await ended;
  };
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text));
  for await (const line of createInterface({ input: child.stdout })) {
    const { address } = JSON.parse(line) as { address: string };
    return { address, token, python };
  }
  throw new Error(`the Ray head did not start:\n${errors}`);
}

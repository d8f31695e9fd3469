import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readFile, readdir } from 'node:fs/promises';
import { join, relative } from 'node:path';
import type { TestContext } from 'node:test';
import { sha256 } from '../../src/core/hash.js';
import { random } from '../../src/core/random.js';
import { commandFile, hopgateJson } from './cli.js';
import { temporaryFolder } from './files.js';
import { KILLS } from './second-pass.js';

export interface KillHooks {
  /** More flags of the runs into one folder, the same each time. */
  flagsFor?: (out: string) => Promise<string[]>;
  /** Behind the undisturbed run. */
  onCalm?: () => void;
  onEnd?: (done: { kills: number; wholeRuns: number }) => void;
}

/**
 * Runs a command undisturbed, then again with `--resume` until ten kills of its process group (fewer in a second pass), at drawn moments, have come in time; every
 * time that it gets to its end its folder is compared with the undisturbed one byte for byte, and it starts anew in another folder.
 */
export async function assertSurvivesKills(t: TestContext, args: readonly string[], hooks: KillHooks = {}): Promise<void> {
  const folder = await temporaryFolder();
  const calm = join(folder, 'calm');
  const started = performance.now();
  await hopgateJson([...args, ...((await hooks.flagsFor?.(calm)) ?? []), '--out', calm]);
  const took = performance.now() - started;
  const expected = await hashesOf(calm);
  hooks.onCalm?.();
  const draw = random(13, 'kill');
  let [inTime, attempt] = [0, 0];
  for (; inTime < KILLS; attempt++) {
    assert.ok(attempt < 10 * KILLS, `only ${inTime} of ${attempt} kills came before the run had ended`);
    const out = join(folder, `killed-${attempt - inTime}`);
    const own = (await hooks.flagsFor?.(out)) ?? [];
    const child = spawn(process.execPath, [commandFile, ...args, ...own, '--out', out, '--resume'], { detached: true, stdio: 'ignore' });
    const ended = new Promise<NodeJS.Signals | null>((resolve) => child.once('close', (_code, signal) => resolve(signal)));
    const timer = setTimeout(() => killGroup(child.pid as number), draw.float() * took);
    if ((await ended) === 'SIGKILL') inTime++;
    else assert.deepEqual(await hashesOf(out), expected);
    clearTimeout(timer);
  }
  const last = join(folder, `killed-${attempt - inTime}`);
  await hopgateJson([...args, ...((await hooks.flagsFor?.(last)) ?? []), '--out', last, '--resume']);
  assert.deepEqual(await hashesOf(last), expected);
  hooks.onEnd?.({ kills: inTime, wholeRuns: attempt - inTime + 1 });
  t.diagnostic(`${inTime} kills, ${attempt - inTime + 1} runs to the end; undisturbed ${(took / 1000).toFixed(1)} s`);
}

function killGroup(leader: number): void {
  try {
    process.kill(-leader, 'SIGKILL');
  } catch (error) {
    // It had ended by itself.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

async function hashesOf(folder: string): Promise<string[]> {
  const files = (await readdir(folder, { recursive: true, withFileTypes: true })).filter((one) => one.isFile());
  const names = files.map((one) => relative(folder, join(one.parentPath, one.name))).toSorted();
  return Promise.all(names.map(async (name) => `${name} ${sha256(await readFile(join(folder, name)))}`));
}

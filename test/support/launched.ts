import { type ChildProcess, spawn } from 'node:child_process';
import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Following } from '../../train/index.js';
import { commandFile } from './cli.js';

/** The command as a process that a test can kill. */
export interface Driver {
  child: ChildProcess;
  /** All that it has said on stderr. */
  said(): string;
  /** Resolves once stderr holds this; rejects when the process ends without it, or when it does not come for so long that it never will. */
  until(wanted: RegExp): Promise<void>;
  /** Its exit code, null after a signal. */
  ended: Promise<number | null>;
}

const WAIT_MS = 300_000;

export function driver(args: readonly string[], env: NodeJS.ProcessEnv = {}): Driver {
  const child = spawn(process.execPath, [commandFile, ...args], { stdio: ['ignore', 'ignore', 'pipe'], env: { ...process.env, ...env } });
  let text = '';
  let heard: () => void = () => undefined;
  child.stderr.setEncoding('utf8').on('data', (piece: string) => {
    text += piece;
    heard();
  });
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  return {
    child,
    said: () => text,
    until: async (wanted) => {
      await new Promise<void>((resolve, reject) => {
        heard = () => {
          if (wanted.test(text)) resolve();
        };
        heard();
        void ended.then(() => reject(new Error(`ended without ${String(wanted)}:\n${text}`)));
        setTimeout(() => reject(new Error(`waited ${WAIT_MS / 1000} s for ${String(wanted)}:\n${text}`)), WAIT_MS).unref();
      });
    },
    ended,
  };
}

/** The id of what was launched from a job folder. */
export async function launchedId(job: string): Promise<string> {
  return (JSON.parse(await readFile(join(job, '.launch.json'), 'utf8')) as { id: string }).id;
}

/** Numbers of the processes whose arguments hold the text; where there is no /proc, none can be found. */
export async function processesWith(text: string): Promise<string[]> {
  const found: string[] = [];
  for (const pid of (await readdir('/proc').catch(() => [])).filter((name) => /^\d+$/.test(name))) {
    if ((await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).includes(text)) found.push(pid);
  }
  return found;
}

/** Follows without showing anything; what is given takes the place of silence. */
export function quietly(over: Partial<Following> = {}): Following {
  const nothing = (): void => undefined;
  return {
    signal: new AbortController().signal,
    onInterrupt: 'stop',
    onLine: nothing,
    onStatus: nothing,
    onFetch: nothing,
    onWarning: nothing,
    onLeft: nothing,
    ...over,
  };
}

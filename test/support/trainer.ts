import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { join } from 'node:path';
import { repositoryRoot } from './root.js';

export interface TrainerEvent {
  [name: string]: unknown;
  event: string;
}

export interface TrainerRun {
  code: number | null;
  signal: NodeJS.Signals | null;
  events: TrainerEvent[];
  stderr: string;
}

export interface TrainerOptions {
  /** Called with each event as it comes; the signal that it returns is sent to the trainer. */
  onEvent?: ((event: TrainerEvent) => NodeJS.Signals | undefined) | undefined;
  /** Arguments of Python before those of the trainer; default `-m trainer`. */
  start?: readonly string[];
}

/** Runs the real trainer on one thread. */
export async function runTrainer(python: string, args: readonly string[], options: TrainerOptions = {}): Promise<TrainerRun> {
  const child = spawn(python, [...(options.start ?? ['-m', 'trainer']), ...args], {
    cwd: join(repositoryRoot, 'train'),
    env: { ...process.env, OMP_NUM_THREADS: '1', MKL_NUM_THREADS: '1', PYTHONDONTWRITEBYTECODE: '1' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const run: TrainerRun = { code: null, signal: null, events: [], stderr: '' };
  child.stderr.setEncoding('utf8').on('data', (text: string) => (run.stderr += text));
  createInterface({ input: child.stdout }).on('line', (line) => {
    const event = JSON.parse(line) as TrainerEvent;
    run.events.push(event);
    const signal = options.onEvent?.(event);
    if (signal) child.kill(signal);
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => resolve({ ...run, code, signal, stderr: run.stderr }));
  });
}

import { Presets, SingleBar } from 'cli-progress';
import type { Progress, Terminal } from './command.js';
import { lineProgress } from './line-progress.js';

const SHOW_AFTER_MS = 2000;

export function makeTerminal(options: { json: boolean; quiet: boolean; signal: AbortSignal }): Terminal {
  const { json, quiet, signal } = options;
  return {
    json,
    quiet,
    signal,
    print: (text) => {
      if (!json) process.stdout.write(`${text}\n`);
    },
    warn: (text) => {
      process.stderr.write(`warning: ${text}\n`);
    },
    note: (text) => {
      if (!quiet) process.stderr.write(`${text}\n`);
    },
    progress: (label, { lines = false } = {}) => {
      if (!quiet && process.stderr.isTTY) return bar(label);
      return !quiet && lines ? lineProgress(label, (line) => process.stderr.write(`${line}\n`)) : { update: nothing, done: nothing };
    },
  };
}

function nothing(): void {}

function bar(label: string): Progress {
  const started = Date.now();
  let shown: SingleBar | undefined;
  return {
    update: (done, total) => {
      if (!shown) {
        if (Date.now() - started < SHOW_AFTER_MS) return;
        const format =
          total === null ? `${label} {value} · {duration_formatted}` : `${label} {bar} {value}/{total} · {rate}/s · {eta_formatted} left`;
        shown = new SingleBar({ format, stream: process.stderr, clearOnComplete: true, hideCursor: true }, Presets.shades_classic);
        shown.start(total ?? 0, done, { rate: '–' });
      }
      const seconds = (Date.now() - started) / 1000;
      shown.update(done, { rate: (done / seconds).toFixed(1) });
    },
    done: () => shown?.stop(),
  };
}

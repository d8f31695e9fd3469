import type { Progress } from './command.js';

/** Work that shows no tenth of itself for so long is still said to go on, in milliseconds. */
const LONGEST_SILENCE_MS = 30_000;

/**
 * Progress for logs and pipes, where no bar can be drawn: a line once a tenth of the work was done since the last one, or 30 seconds have
 * passed, and at its end. `now` gives milliseconds.
 */
export function lineProgress(label: string, write: (line: string) => void, { now = Date.now }: { now?: () => number } = {}): Progress {
  let said = { done: 0, at: now() };
  return {
    update: (done, total) => {
      if (done === said.done) return;
      const tenth = total !== null && (done - said.done >= total / 10 || done === total);
      if (!tenth && now() - said.at < LONGEST_SILENCE_MS) return;
      said = { done, at: now() };
      write(`${label} ${done}${total === null ? '' : `/${total}`}`);
    },
    done: () => undefined,
  };
}

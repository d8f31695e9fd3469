import type { Terminal } from './command.js';

/** One bar at a time: a new stage ends the one before. */
export function stagedProgress(terminal: Terminal): { update(stage: string, done: number, total: number | null): void; done(): void } {
  let current: { stage: string; bar: ReturnType<Terminal['progress']> } | undefined;
  return {
    update: (stage, done, total) => {
      if (current?.stage !== stage) {
        current?.bar.done();
        current = { stage, bar: terminal.progress(stage) };
      }
      current.bar.update(done, total);
    },
    done: () => {
      current?.bar.done();
      current = undefined;
    },
  };
}

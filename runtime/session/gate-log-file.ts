import { appendFileSync, closeSync, fstatSync, openSync, readSync, writeSync } from 'node:fs';
import type { GateEvent } from '../../src/core/gate-log.js';
import { fromSystem } from '../../src/core/errors.js';

/** Where a gate's events go. `write` never throws: a full disk must not stop an agent; it is counted. */
export interface GateLogSink {
  write(event: GateEvent): void;
  /** Events that could not be written, and the last reason. */
  readonly lost: { readonly events: number; readonly reason: string | null };
  close(): void;
}

/**
 * Appends a gate's events to a file of JSON lines, each written whole before `write` returns. A line that an earlier process left torn is ended
 * first. Throws InputError where the file cannot be opened for writing.
 */
export function gateLogFile(path: string): GateLogSink {
  let file: number;
  try {
    file = openSync(path, 'a+', 0o600);
    const { size } = fstatSync(file);
    const last = Buffer.alloc(1);
    if (size > 0 && readSync(file, last, 0, 1, size - 1) === 1 && last[0] !== 0x0a) writeSync(file, '\n');
  } catch (error) {
    throw fromSystem(error, path);
  }
  const lost = { events: 0, reason: null as string | null };
  let [torn, closed] = [false, false];
  const lose = (reason: string): void => {
    lost.events++;
    lost.reason = reason;
  };
  return {
    lost,
    write: (event) => {
      // The number of a closed file may be another file's by now.
      if (closed) return lose('the log was closed before');
      try {
        // Synchronous: for lines this short the way through the thread pool takes many times longer than the write. A line may have been written in part.
        appendFileSync(file, `${torn ? '\n' : ''}${JSON.stringify(event)}\n`);
        torn = false;
      } catch (error) {
        torn = true;
        lose((error as Error).message);
      }
    },
    close: () => {
      if (!closed) closeSync(file);
      closed = true;
    },
  };
}

/** Keeps the events in memory. */
export function gateLogMemory(): GateLogSink & { readonly events: readonly GateEvent[] } {
  const events: GateEvent[] = [];
  return { events, lost: { events: 0, reason: null }, write: (event) => events.push(event), close: () => undefined };
}

import { KnownFailure } from './gate-errors.js';

/** A signal that aborts when time is up, or when an outer one does. */
export interface TimeLimit {
  readonly signal: AbortSignal;
  /** Rejects when the signal aborts, although the work may not heed it. */
  race<T>(work: Promise<T>): Promise<T>;
  clear(): void;
}

/** The longest delay of a timer. */
const LONGEST = 2 ** 31 - 1;

export function timeLimit(ms: number, outer: AbortSignal | undefined): TimeLimit {
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(new KnownFailure(`no answer within ${ms} ms`)), Math.min(ms, LONGEST));
  const abort = (): void => controller.abort(outer?.reason);
  outer?.addEventListener('abort', abort, { once: true });
  if (outer?.aborted) abort();
  const { signal } = controller;
  return {
    signal,
    race: (work) => orAborted(work, signal),
    clear: () => {
      clearTimeout(timer);
      outer?.removeEventListener('abort', abort);
    },
  };
}

/** Ends the waiting and not the work, which may be shared with others. */
export function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason as Error);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}

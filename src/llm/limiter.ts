/** Runs pieces of work, at most `most` at once, in the order in which they came; one that is aborted while it waits is never begun. */
export type Limiter = <T>(work: () => Promise<T>, signal?: AbortSignal) => Promise<T>;

export function limiter(most: number): Limiter {
  const waiting: (() => void)[] = [];
  let running = 0;
  const free = (): void => {
    const next = waiting.shift();
    // Its place goes straight to the next one, so that none who comes meanwhile gets before it.
    if (next) next();
    else running--;
  };
  const place = (signal: AbortSignal | undefined): Promise<void> => {
    if (running < most) {
      running++;
      return Promise.resolve();
    }
    return new Promise((resolve, reject) => {
      const begin = (): void => {
        signal?.removeEventListener('abort', leave);
        resolve();
      };
      const leave = (): void => {
        waiting.splice(waiting.indexOf(begin), 1);
        reject(signal?.reason as Error);
      };
      signal?.addEventListener('abort', leave, { once: true });
      waiting.push(begin);
    });
  };
  return async (work, signal) => {
    signal?.throwIfAborted();
    await place(signal);
    try {
      return await work();
    } finally {
      free();
    }
  };
}

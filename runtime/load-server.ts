import type * as server from './server/index.js';

/** The HTTP service. Its door is opened by this alone, so that nobody who only wants the gate loads a web server. */
export function loadServer(): Promise<typeof server> {
  return import('./server/index.js');
}

import { InputError } from './errors.js';
import type { Manifest } from './manifest.js';

/**
 * Refuses claims that were regenerated from evidence (`details.after_loop`) where claims have to hold from the first loop on. Throws
 * InputError.
 */
export function refuseAfterLoop(folder: string, { details }: Manifest): void {
  if (typeof details.after_loop !== 'number') return;
  throw new InputError(
    `these claims were made after loop ${details.after_loop}, from what had been found by then, and have no margin and no verdict before it; ` +
      'a gate, a decider and a drafter need claims of the question alone (claims build without --after-loop)',
    { file: folder },
  );
}

import type { Manifest } from '../core/manifest.js';
import type { CommandResult } from './command.js';

/** What a command prints of a finished folder: the same for a run that has just ended and for one that `--resume` found finished. */
export function resultOf(out: string, manifest: Manifest): CommandResult {
  return { out, counts: manifest.counts, quarantined: manifest.quarantined, warnings: manifest.warnings };
}

import { join } from 'node:path';

/**
 * A run is a folder of kind `trajectories` (its own tables: `trajectories`, and `records`, the questions as they were read), with the
 * folders that were made from it below it. Each of those is a finished output folder with a manifest of its own.
 */
export const runFolder = {
  claims: (run: string, source: string): string => join(run, 'claims', source),
  embeddings: (run: string, encoder: string): string => join(run, 'embeddings', encoder),
  verdicts: (run: string, decider: string): string => join(run, 'verdicts', decider),
};

import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Kind } from './manifest.js';

/**
 * A run is a folder of kind `trajectories` (its own tables: `trajectories`, and `records`, the questions as they were read), with the
 * folders that were made from it below it. Each of those is a finished output folder with a manifest of its own.
 */
export const runFolder = {
  claims: (run: string, source: string): string => join(run, 'claims', source),
  embeddings: (run: string, encoder: string): string => join(run, 'embeddings', encoder),
  verdicts: (run: string, decider: string): string => join(run, 'verdicts', decider),
  extractions: (run: string, extractor: string): string => join(run, 'extractions', extractor),
};

/** The name of a model, which may be a repository's or a path's end, as the name of a folder below a run. */
export function folderNameOf(model: string): string {
  return model.replace(/[^\w.-]+/g, '-').replace(/^[^\w]+/, '');
}

/** The folders that stand where those made from a run stand, in order of their names, with the kind that each should be of. */
export async function derivedFolders(run: string): Promise<{ folder: string; kind: Kind }[]> {
  const found: { folder: string; kind: Kind }[] = [];
  for (const kind of ['claims', 'embeddings', 'verdicts', 'extractions'] as const) {
    const entries = await readdir(join(run, kind), { withFileTypes: true }).catch(() => []);
    for (const name of entries
      .filter((one) => one.isDirectory())
      .map((one) => one.name)
      .toSorted())
      found.push({ folder: runFolder[kind](run, name), kind });
  }
  return found;
}

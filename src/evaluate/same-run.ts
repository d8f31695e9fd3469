import { join } from 'node:path';
import { InputError } from '../core/errors.js';
import { hashFile } from '../core/hash.js';
import { MANIFEST_NAME, type Manifest } from '../core/manifest.js';

/** A run's folder with its own manifest. */
export interface RunFolderManifest {
  folder: string;
  manifest: Manifest;
}

/** An artefact that lies below a run. */
export interface RunPart {
  folder: string;
  /** Its name in the run: `gold` of `RUN/claims/gold`. */
  name: string;
  manifest: Manifest;
}

/**
 * Claims belong to a run when they were built from its records table, or from the very files that it was made from: their inputs are among
 * those. Throws InputError otherwise, since rows and ids of another file would pair claims with questions that they were not built for.
 */
export function checkClaimsOfRun(run: RunFolderManifest, claims: RunPart): void {
  // Claims that were made after some loop were also made from the trajectories.
  const tables = run.manifest.outputs.filter((one) => /^(?:records|trajectories)\./.test(one.name));
  const known = new Set([...tables, ...run.manifest.inputs].map((one) => one.sha256));
  const { inputs } = claims.manifest;
  if (inputs.length > 0 && inputs.every((one) => known.has(one.sha256))) return;
  const source = claims.manifest.options.source;
  const flag = typeof source === 'string' ? source : claims.name;
  throw new InputError(
    `claims of another run: built neither from this run's records nor from its source file; build them again with "hopgate claims build ${run.folder} --source ${flag} --force"`,
    { file: claims.folder },
  );
}

/** Verdicts belong to the run whose manifest is among their inputs: it holds the hash of the trajectories. Throws InputError otherwise. */
export async function checkVerdictsOfRun(run: RunFolderManifest, verdicts: RunPart): Promise<void> {
  if (await isMadeOf(run, verdicts)) return;
  const decider = verdicts.manifest.options.decider;
  const flags = `--decider ${typeof decider === 'string' ? decider : verdicts.name}${decider === verdicts.name ? '' : ` --name ${verdicts.name}`}`;
  throw new InputError(
    `verdicts of another run: decided on other trajectories; decide again with "hopgate decide ${run.folder} ${flags} --force"`,
    { file: verdicts.folder },
  );
}

/** Extractions belong to the run whose manifest is among their inputs. Throws InputError otherwise. */
export async function checkExtractionsOfRun(run: RunFolderManifest, extractions: RunPart): Promise<void> {
  if (await isMadeOf(run, extractions)) return;
  throw new InputError(
    `answers of another run: extracted from other trajectories; extract again with "hopgate extract ${run.folder} --name ${extractions.name} --force"`,
    { file: extractions.folder },
  );
}

async function isMadeOf(run: RunFolderManifest, part: RunPart): Promise<boolean> {
  const { sha256 } = await hashFile(join(run.folder, MANIFEST_NAME));
  return part.manifest.inputs.some((one) => one.sha256 === sha256);
}

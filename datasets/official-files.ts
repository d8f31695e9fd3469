import { z } from 'zod';
import { InputError, shown } from '../src/core/errors.js';
import { type FetchOptions, type FetchedFile, fetchFiles, fileName, pinFields } from '../src/core/pinned-files.js';
import { packageFile } from '../src/core/product.js';
import { readRegistry } from '../src/core/registry-file.js';
import { DATASETS } from '../src/core/records.js';

const entry = z.strictObject({
  name: z.string(),
  dataset: z.enum(DATASETS),
  file: fileName,
  version: z.string().nullable(),
  licence: z.string(),
  /** The dataset's own documentation, which names the address. */
  source: z.string(),
  /** Null where the host cannot be read by a program, or cannot go on with a broken download; `by_hand` then says what to do. */
  address: z.url({ protocol: /^https?$/ }).nullable(),
  ...pinFields,
  by_hand: z.string().nullable(),
});
const registry = z.strictObject({
  files: z.array(entry.refine((one) => (one.address === null) !== (one.by_hand === null), 'expected either an address or by_hand')),
});

/** An official file of a dataset, as `datasets/official-files.json` describes it. */
export type OfficialFile = z.infer<typeof entry>;

/** Reads a registry, by default the shipped one (another one names a mirror). Throws InputError that names the field. */
export function readOfficialFiles(file: string = packageFile('datasets/official-files.json')): OfficialFile[] {
  return readRegistry(file, registry).files;
}

/** The files of a name: one file, or all of a dataset. Throws InputError that lists what there is. */
export function chosenFiles(files: readonly OfficialFile[], name: string): OfficialFile[] {
  const exact = files.filter((one) => one.name === name);
  const chosen = exact.length > 0 ? exact : files.filter((one) => one.dataset === name);
  if (chosen.length > 0) return chosen;
  const names = new Set(files.flatMap((one) => [one.dataset, one.name]));
  throw new InputError(`got ${shown(name)}, expected one of ${[...names].join(', ')}`);
}

/** Fetches those of the files that have an address into a folder. Throws InputError as `fetchFiles` does. */
export async function fetchOfficial(folder: string, files: readonly OfficialFile[], options: FetchOptions = {}): Promise<FetchedFile[]> {
  const pinned = files.flatMap(({ file, address, sha256, bytes, version }) =>
    address === null ? [] : [{ name: file, address, sha256, bytes, revision: version }],
  );
  return fetchFiles(folder, pinned, options);
}

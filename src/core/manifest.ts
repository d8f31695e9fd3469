import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { parsedJson } from './parse.js';
import { InputError } from './errors.js';
import { hashFile } from './hash.js';

export const MANIFEST_NAME = 'manifest.json';
/** Stands in an output folder while it is being made. */
export const UNFINISHED_NAME = '.unfinished';

/** The kinds of output folders (architecture.md §4). */
export const KINDS = [
  'records',
  'corpus',
  'labels',
  'claims',
  'embeddings',
  'trajectories',
  'verdicts',
  'extractions',
  'replay',
  'report',
  'drafter',
  'drafter-evaluation',
  'small-verifier',
  'small-verifier-evaluation',
  'verifier-job',
  'verifier',
  'verifier-scores',
  'verifier-evaluation',
  'calibration',
  'demo',
  'trial',
] as const;
export type Kind = (typeof KINDS)[number];

const fileEntry = z.strictObject({ name: z.string(), sha256: z.string().regex(/^[0-9a-f]{64}$/), bytes: z.int().nonnegative() });
export type FileEntry = z.infer<typeof fileEntry>;

const manifestSchema = z.strictObject({
  kind: z.enum(KINDS),
  format_version: z.literal(1),
  product: z.strictObject({ name: z.string(), version: z.string() }),
  command: z.string(),
  /** Options that change the result, by flag name; no path, no `resume`, nothing about how progress is shown. */
  options: z.record(z.string(), z.json()),
  seed: z.int(),
  inputs: z.array(fileEntry),
  outputs: z.array(fileEntry),
  counts: z.record(z.string(), z.json()),
  quarantined: z.record(z.string(), z.int()),
  warnings: z.array(z.string()),
  /** What a reader of this kind needs besides its rows: the encoder's identity, the splitter, the dataset's name. */
  details: z.record(z.string(), z.json()),
});
export type Manifest = z.infer<typeof manifestSchema>;

/**
 * What is about to be written as a manifest, checked by the form that every reader asks for. Throws InputError that names the field: an
 * unreadable manifest would make a folder look finished that nothing can open.
 */
export function checkedManifest(manifest: Manifest): Manifest {
  const parsed = manifestSchema.safeParse(manifest);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  throw new InputError(`not to be kept in a manifest: ${issue?.message ?? 'invalid'}`, { field: issue?.path.join('.') });
}

/** A value that a manifest can hold. */
export type Json = z.infer<ReturnType<typeof z.json>>;

/** Reads a folder's manifest. Throws InputError when the folder is unfinished (no manifest) or the manifest is of another kind or form. */
export async function readManifest(folder: string, kind?: Kind | readonly Kind[]): Promise<Manifest> {
  const file = join(folder, MANIFEST_NAME);
  let content: string;
  try {
    content = await readFile(file, 'utf8');
  } catch {
    const names = await readdir(folder).catch(() => undefined);
    if (!names) throw new InputError('no such folder', { file: folder });
    const hint = names.includes(UNFINISHED_NAME) ? ': the run that makes it was interrupted; the same command with --resume goes on' : '';
    throw new InputError(`no manifest.json, so not a finished output folder of this product${hint}`, { file: folder });
  }
  const manifest = parsedJson(manifestSchema, content, { file });
  const kinds = kind === undefined ? undefined : [kind].flat();
  if (kinds && !kinds.includes(manifest.kind)) {
    throw new InputError(
      `got a folder of kind ${JSON.stringify(manifest.kind)}, expected ${kinds.map((one) => JSON.stringify(one)).join(' or ')}`,
      { file },
    );
  }
  return manifest;
}

/**
 * The sha256 of a folder's table, by which the same rows are known again: options and warnings of two manifests may differ. Throws
 * InputError where it has no such table.
 */
export function tableSha256(folder: string, manifest: Manifest, table: string): string {
  const entry = manifest.outputs.find((one) => one.name === `${table}.arrow` || one.name === `${table}.jsonl`);
  if (entry) return entry.sha256;
  throw new InputError(`no table ${JSON.stringify(table)} in this folder of kind ${JSON.stringify(manifest.kind)}`, { file: folder });
}

/**
 * Checks every output file of a folder as `checkedFile` does, read or not: a folder of which one file was changed is not what was made.
 * `needed` have to be among them.
 */
export async function checkOutputs(folder: string, manifest: Manifest, needed: readonly string[] = []): Promise<void> {
  for (const name of new Set([...needed, ...manifest.outputs.map((one) => one.name)])) await checkedFile(folder, manifest, name);
}

/**
 * Checks that an output file of a folder is byte for byte what its manifest says, and returns its path. Arrow's reader does not notice
 * damage, so every reader of an artefact comes through here first.
 */
export async function checkedFile(folder: string, manifest: Manifest, name: string): Promise<string> {
  const file = join(folder, name);
  const entry = manifest.outputs.find((one) => one.name === name);
  if (!entry) throw new InputError(`not listed in the manifest; it has ${manifest.outputs.map((one) => one.name).join(', ')}`, { file });
  let got: { sha256: string; bytes: number };
  try {
    got = await hashFile(file);
  } catch {
    throw new InputError('listed in the manifest, but missing', { file });
  }
  if (got.bytes !== entry.bytes) throw new InputError(`got ${got.bytes} bytes, expected ${entry.bytes} as in the manifest`, { file });
  if (got.sha256 !== entry.sha256)
    throw new InputError(`got sha256 ${got.sha256}, expected ${entry.sha256} as in the manifest: the file was changed or damaged`, {
      file,
    });
  return file;
}

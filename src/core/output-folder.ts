import { randomBytes } from 'node:crypto';
import { constants, copyFile, mkdir, readFile, readdir, rename, rm, rmdir, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join, resolve, sep } from 'node:path';
import { writeArrow } from './arrow.js';
import type { Columns, Row } from './columns.js';
import { InputError, fromSystem } from './errors.js';
import { canonicalJson, hashFile } from './hash.js';
import { type Journal, openJournal } from './journal.js';
import { writeJsonl } from './jsonl.js';
import { type Json, MANIFEST_NAME, type Kind, type Manifest, UNFINISHED_NAME, checkedManifest, readManifest } from './manifest.js';
import { product } from './product.js';
import { derivedFolders } from './run-folder.js';

export type TableFormat = 'arrow' | 'jsonl';

export interface OutputSettings {
  dir: string;
  kind: Kind;
  /** The command's name, `labels build`. */
  command: string;
  /** Every option that changes the result; no paths. */
  options: { [name: string]: Json };
  seed: number;
  /** Files that are read; the manifest takes their base names, hashes and sizes. */
  inputs: readonly string[];
  /** Go on with an interrupted run of the same settings; a finished one is left as it is. */
  resume?: boolean | undefined;
  /** Throw away what a finished run of the same command, or an interrupted one, left here. */
  force?: boolean | undefined;
}

export interface Conclusion {
  counts: { [name: string]: Json };
  quarantined?: { [reason: string]: number };
  warnings?: readonly string[];
  details?: { [name: string]: Json };
}

/**
 * A folder that is unfinished until `finish` has renamed every file into place and written the manifest, last. Until then all work
 * stands in its subfolder `.unfinished`, so nothing half-written can be taken for a result.
 */
export interface OutputFolder {
  readonly dir: string;
  /** The manifest of an earlier finished run with the same settings, when `resume` was asked for: there is nothing left to do. */
  readonly finished: Manifest | undefined;
  /** Folders made from the replaced run that `force` removed with it. */
  readonly removed: readonly string[];
  /** Path under which a file that does not belong to the result may be kept until the folder is finished. */
  temporary(name: string): string;
  journal<T>(name: string, parse: (value: unknown) => T): Promise<Journal<T>>;
  /** Writes `name.arrow` or `name.jsonl` and returns the number of rows. */
  table<C extends Columns>(name: string, columns: C, rows: Iterable<Row<C>> | AsyncIterable<Row<C>>, format: TableFormat): Promise<number>;
  jsonl(name: string, rows: Iterable<unknown> | AsyncIterable<unknown>): Promise<number>;
  file(name: string, content: string | Uint8Array): Promise<void>;
  /** Takes over a file as it is. */
  copy(name: string, from: string): Promise<void>;
  /** Counts a file that an interrupted run had already made as one of the result; false where it is not there. */
  keep(name: string): Promise<boolean>;
  /** Takes a file out again. */
  drop(name: string): Promise<void>;
  finish(conclusion: Conclusion): Promise<Manifest>;
  /**
   * Takes back what this run left, when its input turns out to be no use: there is nothing to resume then. A folder with an entry in one of its
   * journals or its ledger stays: that work, or its price, cannot be had again for nothing.
   */
  discard(): Promise<void>;
}

export async function openOutputFolder(settings: OutputSettings): Promise<OutputFolder> {
  const { dir } = settings;
  const work = join(dir, UNFINISHED_NAME);
  const inputs = await Promise.all(
    settings.inputs.map(async (file) => ({
      name: basename(file),
      ...(await hashFile(file).catch((error: unknown) => unreadable(error, file))),
    })),
  );
  const identity = { kind: settings.kind, command: settings.command, options: settings.options, seed: settings.seed, inputs };
  checkedManifest(manifestOf(identity, [], { counts: {} }));
  const removed: string[] = [];
  const finished = await earlierRun(settings, identity, { work, removed });
  const outputs: string[] = [];
  const target = (name: string): string => {
    if (!outputs.includes(name)) outputs.push(name);
    return join(work, name);
  };
  return {
    dir,
    finished,
    removed,
    temporary: (name) => join(work, name),
    journal: (name, parse) => openJournal(join(work, name), parse),
    table: (name, columns, rows, format) =>
      format === 'arrow' ? writeArrow(target(`${name}.arrow`), columns, rows) : writeJsonl(target(`${name}.jsonl`), rows),
    jsonl: (name, rows) => writeJsonl(target(name), rows),
    file: async (name, content) => {
      await mkdir(dirname(target(name)), { recursive: true });
      await writeFile(target(name), content);
    },
    copy: async (name, from) => {
      await mkdir(dirname(target(name)), { recursive: true });
      // Shares the bytes where the file system can: models have gigabytes.
      await copyFile(from, target(name), constants.COPYFILE_FICLONE);
    },
    keep: async (name) => (await exists(join(work, name))) && target(name) !== '',
    drop: async (name) => {
      await rm(target(name), { force: true });
      outputs.splice(outputs.indexOf(name), 1);
    },
    finish: async (conclusion) => {
      const entries: Manifest['outputs'] = [];
      for (const name of outputs.toSorted()) {
        entries.push({ name, ...(await hashFile(join(work, name))) });
      }
      const manifest = checkedManifest(manifestOf(identity, entries, conclusion));
      for (const { name } of entries) {
        await mkdir(dirname(join(dir, name)), { recursive: true });
        await rename(join(work, name), join(dir, name));
      }
      await writeFileAtomic(join(dir, MANIFEST_NAME), manifestText(manifest));
      await rm(work, { recursive: true, force: true });
      return manifest;
    },
    discard: async () => {
      if (await holdsEntries(work)) return;
      await rm(work, { recursive: true, force: true });
      // Only an empty folder goes.
      await rmdir(dir).catch(() => undefined);
    },
  };
}

/** Writes a whole file under a temporary name beside it and renames it, so that no reader ever sees half of it. */
export async function writeFileAtomic(path: string, content: string | Uint8Array): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  // Not the process's number alone: one process may write the same file twice at once.
  const temporary = `${path}.${process.pid}-${randomBytes(4).toString('hex')}.tmp`;
  await writeFile(temporary, content);
  await rename(temporary, path);
}

type Identity = Pick<Manifest, 'kind' | 'command' | 'options' | 'seed' | 'inputs'>;

function manifestOf(identity: Identity, outputs: Manifest['outputs'], conclusion: Conclusion): Manifest {
  return {
    ...identity,
    format_version: 1,
    product: product(),
    outputs,
    counts: conclusion.counts,
    quarantined: conclusion.quarantined ?? {},
    warnings: [...(conclusion.warnings ?? [])],
    details: conclusion.details ?? {},
  };
}

function manifestText(manifest: Manifest): string {
  // Sorted keys: the order in which a command happened to name its counts is not part of the result.
  return `${JSON.stringify(JSON.parse(canonicalJson(manifest)), null, 2)}\n`;
}

async function earlierRun(
  settings: OutputSettings,
  identity: Identity,
  { work, removed }: { work: string; removed: string[] },
): Promise<Manifest | undefined> {
  const { dir, resume, force } = settings;
  const settingsFile = join(work, SETTINGS);
  const wanted = canonicalJson({ ...identity, product: product() });
  await refuseForeignWork(settings, work);
  if (await exists(join(dir, MANIFEST_NAME))) {
    const old = await ownManifest(dir);
    if (force) {
      if (old.kind !== settings.kind || old.command !== settings.command)
        throw new InputError(
          `holds what ${old.command} made (kind ${old.kind}); --force replaces only what ${settings.command} made; choose another --out`,
          { file: dir },
        );
      await rm(work, { recursive: true, force: true });
      await mkdir(work, { recursive: true });
      await rename(join(dir, MANIFEST_NAME), join(work, REPLACED));
    } else {
      if (!resume) throw new InputError('already holds a finished run; choose another --out, or --force to replace it', { file: dir });
      const same = canonicalJson({
        kind: old.kind,
        command: old.command,
        options: old.options,
        seed: old.seed,
        inputs: old.inputs,
        product: old.product,
      });
      if (same !== wanted)
        throw new InputError(`holds a finished run with other settings (${difference(same, wanted)}); choose another --out, or --force`, {
          file: dir,
        });
      // A kill between the manifest and the clean-up leaves the work folder behind.
      await rm(work, { recursive: true, force: true });
      return old;
    }
  }
  if (await exists(join(work, REPLACED))) {
    await removeOutputs(dir, join(work, REPLACED));
    if (settings.kind === 'trajectories') removed.push(...(await removeDerived(dir)));
    await rm(join(work, REPLACED));
  }
  if (force || !(await holdsWork(work))) await rm(work, { recursive: true, force: true });
  if (await exists(settingsFile)) {
    if (!resume) throw new InputError('holds an interrupted run; --resume goes on with it, --force starts again', { file: dir });
    const old = await readFile(settingsFile, 'utf8');
    if (old !== wanted)
      throw new InputError(`holds an interrupted run with other settings (${difference(old, wanted)}); --force starts again`, {
        file: dir,
      });
    return undefined;
  }
  await mkdir(work, { recursive: true });
  await writeFileAtomic(settingsFile, wanted);
  return undefined;
}

/** Who made an interrupted run. */
export type Maker = Pick<Manifest, 'kind' | 'command'>;

/**
 * The run that was interrupted in a folder: undefined where there is none, null where what stands in `.unfinished` is no run of this
 * product.
 */
export async function interruptedRun(dir: string): Promise<Maker | null | undefined> {
  const work = join(dir, '.unfinished');
  if (!(await exists(work))) return undefined;
  // A kill between moving a replaced run's manifest here and writing the settings leaves the manifest alone.
  for (const name of [SETTINGS, REPLACED]) {
    const text = await readFile(join(work, name), 'utf8').catch(() => undefined);
    if (text === undefined) continue;
    const made = makerOf(text);
    if (made) return made;
  }
  return (await holdsWork(work)) ? null : undefined;
}

function makerOf(text: string): Maker | undefined {
  try {
    const { kind, command } = JSON.parse(text) as Partial<Maker>;
    return kind === undefined || command === undefined ? undefined : { kind, command };
  } catch {
    return undefined;
  }
}

/** An interrupted run is gone on with, or thrown away under `--force`, by its own command alone. */
async function refuseForeignWork({ dir, kind, command }: OutputSettings, work: string): Promise<void> {
  const made = await interruptedRun(dir);
  if (made === undefined || (made?.kind === kind && made.command === command)) return;
  if (!(await holdsWork(work)) && !(await exists(join(work, REPLACED)))) return;
  const what =
    made === null ? 'files in .unfinished that are no run of this product' : `an interrupted run of ${made.command} (kind ${made.kind})`;
  throw new InputError(`holds ${what}; --force replaces only what ${command} made; choose another --out`, { file: dir });
}

function difference(oldText: string, newText: string): string {
  const before = JSON.parse(oldText) as { [key: string]: unknown };
  const now = JSON.parse(newText) as { [key: string]: unknown };
  for (const key of Object.keys(now)) {
    const { path, was, is } = firstChange(before[key], now[key]);
    if (canonicalJson(was) === canonicalJson(is)) continue;
    const [outer, ...inner] = key === 'options' ? path : [key, ...path];
    const place = outer === undefined ? key : key === 'options' ? `--${outer}` : outer;
    return `${place}${inner.length === 0 ? '' : ` (${inner.join('.')})`}: it had ${canonicalJson(was)}, now ${canonicalJson(is)}`;
  }
  return 'a setting that is no longer asked for';
}

/** The innermost field of two objects that differs first; a list is one value, and so is what only one of them has. */
function firstChange(was: unknown, is: unknown, path: readonly string[] = []): { path: readonly string[]; was: unknown; is: unknown } {
  const objects = [was, is].every((one) => typeof one === 'object' && one !== null && !Array.isArray(one));
  const [a, b] = [was, is] as { [name: string]: unknown }[] as [{ [name: string]: unknown }, { [name: string]: unknown }];
  const name = objects
    ? [...Object.keys(b), ...Object.keys(a)].find((one) => canonicalJson(a[one] ?? null) !== canonicalJson(b[one] ?? null))
    : undefined;
  return name === undefined ? { path, was: was ?? null, is: is ?? null } : firstChange(a[name], b[name], [...path, name]);
}

function unreadable(error: unknown, file: string): never {
  throw fromSystem(error, file);
}

/** In the work folder: what the interrupted run was asked for. */
const SETTINGS = 'settings.json';
/** The manifest of a run that `--force` replaces is moved here first: its list of files is followed to the end even after a kill. */
const REPLACED = 'replaced.json';

async function ownManifest(dir: string): Promise<Manifest> {
  return readManifest(dir).catch((error: unknown) => {
    if (!(error instanceof InputError)) throw error;
    throw new InputError('holds a manifest.json that is no finished run of this product, and it stays; choose another --out', {
      file: dir,
    });
  });
}

/** Removes the files that a manifest lists, as far as they lie inside the folder, and the subfolders that this leaves empty. */
async function removeOutputs(dir: string, manifestFile: string): Promise<void> {
  const { outputs } = JSON.parse(await readFile(manifestFile, 'utf8')) as Pick<Manifest, 'outputs'>;
  for (const { name } of outputs) {
    const path = resolve(dir, name);
    if (!path.startsWith(resolve(dir) + sep)) continue;
    await rm(path, { force: true });
    if (dirname(path) !== resolve(dir)) await rmdir(dirname(path)).catch(() => undefined);
  }
}

/** Removes the finished folders that were made from a run; what else lies there stays. */
async function removeDerived(run: string): Promise<string[]> {
  const removed: string[] = [];
  for (const { folder, kind } of await derivedFolders(run)) {
    const made = await readManifest(folder, kind).catch(() => undefined);
    if (made === undefined) continue;
    await rm(folder, { recursive: true, force: true });
    removed.push(folder);
  }
  return removed;
}

/** Whether finished questions, or calls that were paid for, are on record. */
async function holdsEntries(work: string): Promise<boolean> {
  for (const name of await readdir(work).catch(() => []))
    if (/\.(journal|ledger)$/.test(name) && (await stat(join(work, name))).size > 0) return true;
  return false;
}

/** Whether an interrupted run has left anything to go on with: settings and empty journals alone are nothing. */
async function holdsWork(work: string): Promise<boolean> {
  const entries = await readdir(work, { withFileTypes: true }).catch(() => []);
  for (const entry of entries) {
    if (entry.name.startsWith(SETTINGS) || entry.name === REPLACED) continue;
    if (entry.isDirectory() || (await stat(join(work, entry.name))).size > 0) return true;
  }
  return false;
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

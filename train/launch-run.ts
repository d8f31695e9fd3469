import { readdir, rm } from 'node:fs/promises';
import { resolve } from 'node:path';
import { CheckFailedError, InputError } from '../src/core/errors.js';
import type { OnProgress } from '../src/core/progress.js';
import type { VerifierExport } from '../src/core/verifier-export.js';
import { holdsExport, removeExport } from './export-files.js';
import { type JobFolder, checkedJob } from './job-files.js';
import { preflight, refuseFaults } from './preflight.js';
import { localLauncher } from './launch-local.js';
import { rayLauncher } from './launch-ray.js';
import { type LaunchRecord, newJobId, readLaunchRecord, writeLaunchRecord } from './launch-record.js';
import { type JobHandle, type JobStatus, type Launcher, hasEnded } from './launch.js';
import { rayAddress, rayClient } from './ray-client.js';
import { type TrainerLine, type Training, newTraining } from './trainer-events.js';

export interface LaunchOptions {
  /** Default: that of the last launch from this folder, else local. */
  launcher?: 'local' | 'ray' | undefined;
  /** Folder of the export; default: `export` in the job's folder. */
  out?: string | undefined;
  python?: string | undefined;
  /** Of Ray's dashboard; default: that of the last launch, else RAY_API_SERVER_ADDRESS. */
  address?: string | undefined;
  storage?: string | undefined;
  gpus?: number | undefined;
  /** A job to follow by its id instead of starting one. */
  attach?: string | undefined;
  resume?: boolean | undefined;
  force?: boolean | undefined;
  environment: NodeJS.ProcessEnv;
}

/** A job that was started or found, and how to wait for it. */
export interface Launched {
  handle: JobHandle;
  launcher: 'local' | 'ray';
  address: string | null;
  /** Found instead of started. */
  attached: boolean;
  out: string;
}

/**
 * Starts a job's training, or finds it where it was launched already: a driver that was killed is replaced by the same command. The record
 * in the job's folder is written before the job starts. Throws InputError where a finished, failed or other job stands in the way.
 */
export async function launch(dir: string, options: LaunchOptions): Promise<Launched> {
  const job = await checkedJob(dir);
  const record = await readRecord(dir, options);
  const settings = settingsOf(dir, options, record);
  const launcher = openLauncher(dir, settings);
  const found = (handle: JobHandle): Launched => ({ ...settings, handle, attached: true });
  const start = async (id: string, run: string, after?: string): Promise<Launched> => {
    const { address, storage, localOut: out } = settings;
    refuseFaults(await preflight(dir), dir);
    await launcher.ready();
    await writeLaunchRecord(dir, { format: 1, launcher: settings.launcher, id, run, job_sha256: job.sha256, address, storage, out });
    const { python, gpus, resume = false } = options;
    return { ...settings, attached: false, handle: await launcher.start({ job, id, run, out, python, gpus, after, resume }) };
  };
  if (options.attach !== undefined) return found(await existing(launcher, options.attach, settings));
  if (record !== undefined && options.force !== true) {
    checkSame(dir, { record, job, options });
    const handle = await launcher.find(record.id);
    // The driver was killed between the record and the start.
    if (handle === null) return start(record.id, record.run);
    const { state } = await handle.status();
    if (state !== 'failed' && state !== 'stopped') return found(handle);
    if (options.resume !== true)
      throw new InputError(`job ${record.id} ${wordsOf(state)}; --resume goes on from its last checkpoint, --force starts again`, {
        file: dir,
      });
    return start(newJobId(job.sha256), record.run, record.id);
  }
  if (record !== undefined && record.launcher === settings.launcher && record.address === settings.address) {
    const old = await launcher.find(record.id);
    if (old !== null && !hasEnded(await old.status()))
      throw new InputError(`job ${record.id} is still running; --stop ends it`, { file: dir });
  }
  await emptied(settings.out, { force: options.force === true, begun: record?.out === settings.out });
  const id = newJobId(job.sha256);
  return start(id, id);
}

/** The job that was launched from this folder, or that `attach` names. Throws InputError where there is none. */
export async function launchedJob(dir: string, options: LaunchOptions): Promise<Launched> {
  const record = await readRecord(dir, options);
  const settings = settingsOf(dir, options, record);
  const id = options.attach ?? record?.id;
  if (id === undefined) throw new InputError('nothing was launched from this folder', { file: dir });
  return { ...settings, attached: true, handle: await existing(openLauncher(dir, settings), id, settings) };
}

export interface Following {
  signal: AbortSignal;
  /** What an abort does to the job. */
  onInterrupt: 'stop' | 'leave';
  onLine: (line: TrainerLine, training: Training) => void;
  onStatus: (status: JobStatus) => void;
  onFetch: OnProgress;
  onWarning: (warning: string) => void;
  /** Called after an abort, with what was done to the job, in a sentence. */
  onLeft: (sentence: string) => void;
}

/**
 * Follows a job to its end and brings its export. Throws InputError where the trainer refused its input, CheckFailedError where the job
 * failed or was stopped.
 */
export async function follow({ handle, out }: Launched, following: Following): Promise<{ training: Training; made: VerifierExport }> {
  const training = newTraining();
  let status: JobStatus;
  try {
    const lines = handle.lines({ signal: following.signal, onStatus: following.onStatus });
    for (;;) {
      const next = await lines.next();
      if (next.done === true) {
        status = next.value;
        break;
      }
      training.take(next.value);
      following.onLine(next.value, training);
    }
  } catch (error) {
    if (!following.signal.aborted) throw error;
    if (following.onInterrupt === 'stop') {
      const yet = await handle.stop();
      following.onLeft(`job ${handle.id} ${yet === null ? `is stopped; ${checkpointWords(training)}` : `is not stopped yet: ${yet}`}`);
    } else following.onLeft(`job ${handle.id} goes on without this command; --attach ${handle.id}, or the same command, follows it again`);
    throw error;
  }
  if (status.state !== 'succeeded') throw failureOf(handle.id, status, training);
  return {
    training,
    made: await handle.fetchExport(out, { signal: following.signal, onProgress: following.onFetch, onWarning: following.onWarning }),
  };
}

/** An export is written into an empty folder. What a launch from this job began there goes with `force`; of others only a finished export does. */
async function emptied(out: string, { force, begun }: { force: boolean; begun: boolean }): Promise<void> {
  if (force && begun) {
    for (const folder of [out, `${out}.work`]) await rm(folder, { recursive: true, force: true });
    return;
  }
  if (await holdsExport(out)) {
    if (!force) throw new InputError('already holds a finished export; choose another --out, or --force to replace it', { file: out });
    await removeExport(out);
    return;
  }
  const left = await readdir(out).catch(() => []);
  if (left.length > 0) throw new InputError(`holds ${left[0]}, expected an empty folder or none; choose another --out`, { file: out });
}

interface Settings {
  launcher: 'local' | 'ray';
  address: string | null;
  storage: string | null;
  out: string;
  /** Where a local job writes its export to: later attempts go on with what lies there, wherever the export is wanted. */
  localOut: string;
  client: ReturnType<typeof rayClient> | undefined;
}

function settingsOf(dir: string, options: LaunchOptions, record: LaunchRecord | undefined): Settings {
  const launcher = options.launcher ?? record?.launcher ?? 'local';
  const out = resolve(options.out ?? record?.out ?? `${dir}/export`);
  const localOut = options.force === true ? out : (record?.out ?? out);
  if (launcher === 'local') {
    for (const name of ['address', 'storage', 'gpus'] as const) {
      if (options[name] !== undefined)
        throw new InputError(
          `--${name} belongs to --launcher ray${name === 'gpus' ? '; here a job takes the graphics processors that CUDA_VISIBLE_DEVICES shows it' : ''}`,
        );
    }
    return { launcher, address: null, storage: null, out, localOut, client: undefined };
  }
  const address = options.address ?? record?.address ?? options.environment.RAY_API_SERVER_ADDRESS;
  if (address === undefined)
    throw new InputError("--address: name Ray's dashboard, like http://127.0.0.1:8265 (or set RAY_API_SERVER_ADDRESS)");
  const client = rayClient(address, options.environment);
  const storage = options.storage ?? (options.force === true ? undefined : record?.storage) ?? null;
  return { launcher, address: client.address, storage: storage === null ? null : resolve(storage), out, localOut, client };
}

function openLauncher(dir: string, { client, storage, localOut }: Settings): Launcher {
  return client === undefined ? localLauncher(dir, localOut) : rayLauncher(client, { storage: storage ?? undefined });
}

/** A record that cannot be read stands in nobody's way who names the job, or wants another. */
async function readRecord(dir: string, options: LaunchOptions): Promise<LaunchRecord | undefined> {
  return readLaunchRecord(dir).catch((error: unknown) => {
    if (options.attach !== undefined || options.force === true) return undefined;
    throw error;
  });
}

async function existing(launcher: Launcher, id: string, { address }: Settings): Promise<JobHandle> {
  const handle = await launcher.find(id);
  if (handle === null) throw new InputError(`no job ${id} ${address === null ? 'was launched from this folder' : `at ${address}`}`);
  return handle;
}

function checkSame(dir: string, { record, job, options }: { record: LaunchRecord; job: JobFolder; options: LaunchOptions }): void {
  const other =
    options.launcher !== undefined && options.launcher !== record.launcher
      ? `with --launcher ${record.launcher}`
      : options.address !== undefined && rayAddress(options.address) !== record.address
        ? `at ${record.address ?? 'this machine'}`
        : options.storage !== undefined && resolve(options.storage) !== record.storage
          ? `with ${record.storage === null ? 'no --storage' : `--storage ${record.storage}`}`
          : record.job_sha256 === job.sha256
            ? undefined
            : 'from an earlier plan in this folder';
  if (other !== undefined)
    throw new InputError(`job ${record.id} was launched ${other}; --attach ${record.id} follows it, --force launches this one`, {
      file: dir,
    });
}

function failureOf(id: string, { state, message, exitCode }: JobStatus, training: Training): Error {
  if (training.error !== undefined && exitCode === 2) return new InputError(`job ${id}: the trainer refused its input: ${training.error}`);
  const why = training.error ?? (exitCode === null ? message : undefined) ?? training.lastText;
  const code = exitCode === null ? '' : ` (exit code ${exitCode})`;
  return new CheckFailedError(`job ${id} ${wordsOf(state)}${code}${why === undefined ? '' : `: ${why}`}; ${checkpointWords(training)}`);
}

function checkpointWords({ checkpoint }: Training): string {
  return checkpoint === undefined
    ? 'it wrote no checkpoint: --resume goes on from an earlier attempt, where there was one, else from the beginning'
    : `--resume goes on from the checkpoint of step ${checkpoint}`;
}

function wordsOf(state: JobStatus['state']): string {
  return state === 'failed' ? 'failed' : state === 'stopped' ? 'was stopped' : `is ${state}`;
}

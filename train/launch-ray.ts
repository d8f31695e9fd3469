import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { InputError } from '../src/core/errors.js';
import { sha256 } from '../src/core/hash.js';
import { fetchExport, folderSource } from './export-files.js';
import { packJob } from './job-archive.js';
import { type JobHandle, type JobState, type JobStatus, type Launcher, followOutput, hasEnded } from './launch.js';
import { LARGEST_PACKAGE, type RayClient, type RayJob, type RAY_STATES, onNodeOf } from './ray-client.js';
import { logSource } from './ray-log-source.js';
import { shellWord } from './shell-word.js';

export interface RayLauncherOptions {
  /** Folder that the cluster's nodes and this machine see under one path; exports and checkpoints are written there. */
  storage: string | undefined;
  /** Default 1000. */
  pollMs?: number | undefined;
}

/** What a submitted job says about itself, so that it can be attached to from a machine that did not submit it. */
const METADATA = { run: 'hopgate_run', storage: 'hopgate_storage' };

/** How long a stopped job has for its last checkpoint before Ray kills it; Ray's own default is 3 s. */
const GRACE_S = 20;

/** A job that has not started may be about to: so long a stop waits for it, in milliseconds. */
const WAITING_MS = 5000;

/**
 * Runs jobs on a Ray cluster through its Jobs API: the job folder is uploaded as the working directory, `bash run.sh` is the entry point. It
 * writes to STORAGE/RUN, or without a storage to the home folder of the node that it runs on, from where its files come through the log.
 */
export function rayLauncher(client: RayClient, { storage, pollMs = 1000 }: RayLauncherOptions): Launcher {
  return {
    ready: async () => {
      await client.version();
      if (storage !== undefined) await seenHere(storage);
    },
    start: async ({ job, id, run, python, resume, after, gpus }) => {
      const packed = await packJob(job);
      if (packed.length > LARGEST_PACKAGE)
        throw new InputError(
          `packed it has ${packed.length} bytes, and Ray takes at most ${LARGEST_PACKAGE}; --launcher bundle makes an archive to carry there, or plan fewer rows`,
          { file: job.dir },
        );
      const uri = await client.upload(`_ray_pkg_${sha256(packed).slice(0, 32)}.zip`, packed);
      const words = ['bash', 'run.sh', '--out', remoteFolder(run, storage)];
      if (python !== undefined) words.push('--python', shellWord(python));
      if (resume) words.push('--resume');
      const before = after === undefined || storage !== undefined ? null : await client.job(after);
      await client.submit({
        entrypoint: words.join(' '),
        submission_id: id,
        runtime_env: { working_dir: uri, env_vars: { RAY_JOB_STOP_WAIT_TIME_S: String(GRACE_S) } },
        metadata: { [METADATA.run]: run, ...(storage !== undefined && { [METADATA.storage]: storage }) },
        ...(gpus !== undefined && { entrypoint_num_gpus: gpus }),
        ...onNodeOf(before),
      });
      return rayHandle(client, id, pollMs);
    },
    find: async (id) => ((await client.job(id)) === null ? null : rayHandle(client, id, pollMs)),
  };
}

function rayHandle(client: RayClient, id: string, pollMs: number): JobHandle {
  const job = async (): Promise<RayJob> => {
    const found = await client.job(id);
    if (found === null) throw new InputError(`${client.address}: no longer knows job ${id}; a cluster that starts anew forgets its jobs`);
    return found;
  };
  const status = async (): Promise<JobStatus> => statusOf(await job());
  return {
    id,
    status,
    lines: (options) => {
      const read = async (mark: number): Promise<{ text: string; mark: number }> => {
        const text = await client.logs(id);
        return { text: text.slice(mark), mark: Math.max(mark, text.length) };
      };
      return followOutput({ status, read }, { ...options, pollMs });
    },
    stop: async () => {
      const { state } = await status();
      await client.stop(id);
      const until = Date.now() + (state === 'pending' ? WAITING_MS : GRACE_S * 1000 + 60_000);
      while (!hasEnded(await status())) {
        if (Date.now() > until)
          return state === 'pending'
            ? 'it waits for resources, and Ray ends such a job when it could start, or when it has waited too long (15 minutes by default)'
            : `${client.address} has been asked to end it, and has not`;
        await wait(500);
      }
      return null;
    },
    fetchExport: async (out, options) => {
      const ran = await job();
      const run = ran.metadata?.[METADATA.run];
      if (run === undefined) throw new InputError(`job ${id}: was not submitted by this command`);
      const storage = ran.metadata?.[METADATA.storage];
      if (storage === undefined)
        return fetchExport(logSource(client, { id, folder: remoteFolder(run, undefined), ran, options }), out, options);
      await seenHere(storage);
      return fetchExport(folderSource(join(storage, run)), out, options);
    },
  };
}

/** The folder of a run's export on the cluster, as a word of a shell there. */
function remoteFolder(run: string, storage: string | undefined): string {
  return storage === undefined ? `"\${HOME:-/tmp}"/.hopgate/jobs/${run}/export` : shellWord(join(storage, run));
}

async function seenHere(storage: string): Promise<void> {
  const found = await stat(storage).catch(() => undefined);
  if (!found?.isDirectory())
    throw new InputError('--storage: no such folder here; cluster and this machine have to see it under the same path', { file: storage });
}

const STATES: { readonly [state in (typeof RAY_STATES)[number]]: JobState } = {
  PENDING: 'pending',
  RUNNING: 'running',
  STOPPED: 'stopped',
  SUCCEEDED: 'succeeded',
  FAILED: 'failed',
};

function statusOf({ status, message, driver_exit_code: exitCode }: RayJob): JobStatus {
  // Of a failed job Ray's message is the end of its log, which has been shown by then.
  return { state: STATES[status], message: message?.split('\n')[0]?.trim() || null, exitCode: exitCode ?? null };
}

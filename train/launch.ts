import { setTimeout as wait } from 'node:timers/promises';
import type { OnProgress } from '../src/core/progress.js';
import type { VerifierExport } from '../src/core/verifier-export.js';
import type { JobFolder } from './job-files.js';
import { type TrainerLine, lineReader } from './trainer-events.js';

/** Ways to run a job: here, on a Ray cluster, or not at all but packed to be carried elsewhere. */
export const LAUNCHERS = ['local', 'ray', 'bundle'] as const;
export type LauncherName = (typeof LAUNCHERS)[number];

export type JobState = 'pending' | 'running' | 'succeeded' | 'failed' | 'stopped';

export interface JobStatus {
  state: JobState;
  /** In one line, what the launcher knows beside the state. */
  message: string | null;
  /** Of the job's command; null while it runs, or where it ended without one. */
  exitCode: number | null;
}

export interface JobRequest {
  job: JobFolder;
  id: string;
  /** Names the folder that the job writes to: attempts that go on from each other's checkpoints have the same. */
  run: string;
  /** Folder of the export on this machine; a launcher that runs elsewhere brings it here with `fetchExport`. */
  out: string;
  /** Interpreter that has the packages; without it run.sh makes an environment of its own. */
  python: string | undefined;
  /** Go on from the last checkpoint of the same run. */
  resume: boolean;
  /** The attempt before, where there was one: its checkpoints may lie on the machine that it ran on. */
  after: string | undefined;
  /** Graphics processors to wait for and reserve; only a cluster can. */
  gpus: number | undefined;
}

/** Where jobs run. The job goes on when this process ends, and is found again by its id. */
export interface Launcher {
  /** Throws InputError where no job could be started; asked before anything is written. */
  ready(): Promise<void>;
  /** Starts a job, or finds it where one of this id is there already. */
  start(request: JobRequest): Promise<JobHandle>;
  /** Null where there is no job of this id. */
  find(id: string): Promise<JobHandle | null>;
}

export interface JobHandle {
  readonly id: string;
  status(): Promise<JobStatus>;
  /** The job's output from its beginning, followed to its end; then its last status. */
  lines(options: FollowOptions): AsyncGenerator<TrainerLine, JobStatus>;
  /** Ends the job and returns when it has ended: null, or in a sentence why it has not yet. */
  stop(): Promise<string | null>;
  /** Brings the export of a job that succeeded into `out`, every file checked by its sha256, export.json last. */
  fetchExport(out: string, options: FetchOptions): Promise<VerifierExport>;
}

export interface FollowOptions {
  /** Ends the following, not the job. */
  signal?: AbortSignal | undefined;
  /** Called when the state, or what is said of a job that waits, has changed. */
  onStatus?: ((status: JobStatus) => void) | undefined;
}

export interface FetchOptions {
  signal?: AbortSignal | undefined;
  /** Bytes that are here, and all. */
  onProgress?: OnProgress | undefined;
  onWarning?: ((warning: string) => void) | undefined;
}

export interface OutputSource {
  status(): Promise<JobStatus>;
  /** The output behind the mark that the last call gave; 0 is the beginning. */
  read(mark: number): Promise<{ text: string; mark: number }>;
}

export function hasEnded({ state }: JobStatus): boolean {
  return state === 'succeeded' || state === 'failed' || state === 'stopped';
}

const LONGEST_POLL_MS = 5000;

/** Follows a job by asking again and again: first every `pollMs`, less often while nothing comes. */
export async function* followOutput(
  source: OutputSource,
  { signal, onStatus, pollMs }: FollowOptions & { pollMs: number },
): AsyncGenerator<TrainerLine, JobStatus> {
  const reader = lineReader();
  let [mark, pause] = [0, pollMs];
  let shown: JobStatus | undefined;
  for (;;) {
    signal?.throwIfAborted();
    // The status first: what is read after the job's end is whole.
    const status = await source.status();
    if (status.state !== shown?.state || (status.state === 'pending' && status.message !== shown.message)) onStatus?.(status);
    shown = status;
    const { text, mark: next } = await source.read(mark);
    yield* reader.push(text);
    if (hasEnded(status)) {
      yield* reader.end();
      return status;
    }
    pause = next > mark ? pollMs : Math.min(LONGEST_POLL_MS, pause * 1.3);
    mark = next;
    await wait(pause, undefined, { signal });
  }
}

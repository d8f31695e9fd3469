import { execFile, spawn } from 'node:child_process';
import { constants } from 'node:fs';
import { type FileHandle, mkdir, open, readFile, writeFile } from 'node:fs/promises';
import { resolve, join } from 'node:path';
import { StringDecoder } from 'node:string_decoder';
import { setTimeout as wait } from 'node:timers/promises';
import { promisify } from 'node:util';
import { InputError } from '../src/core/errors.js';
import { checkExport, fetchExport, folderSource } from './export-files.js';
import { type JobHandle, type JobStatus, type Launcher, followOutput, hasEnded } from './launch.js';

/** Where a job's output, process number and exit code stand, beside the job. */
const FOLDER = '.launch';

/**
 * Waits for the job's command and leaves its exit code in a file, whoever started it being gone by then. The process number is written by
 * the process itself, and only if no other has: two drivers cannot both start one job. On SIGTERM it waits for the command to end.
 */
const KEEPER = `
set -C
echo "$$" > "$0.pid" || exit 97
set +C
trap : TERM
"$@" > "$0.log" 2>&1 < /dev/null
code=$?
echo "$code" > "$0.exit.tmp" && mv "$0.exit.tmp" "$0.exit"
`;

/** How long a job may take to end after SIGTERM before it is killed, in milliseconds: a checkpoint is written on the way out. */
const GRACE_MS = 20_000;

/** Runs a job on this machine, in a process group of its own that outlives this process. `record` is the folder of the job. */
export function localLauncher(jobDir: string, out: string, { pollMs = 300 }: { pollMs?: number | undefined } = {}): Launcher {
  const handle = (id: string): JobHandle => localHandle(resolve(jobDir, FOLDER, id), { id, out, pollMs });
  return {
    ready: () => Promise.resolve(),
    start: async ({ job, id, out: target, python, resume }) => {
      const base = resolve(jobDir, FOLDER, id);
      await mkdir(join(jobDir, FOLDER), { recursive: true });
      const command = ['bash', 'run.sh', ...(python === undefined ? [] : ['--python', python]), '--out', resolve(target)];
      if (resume) command.push('--resume');
      const child = spawn('bash', ['-c', KEEPER, base, ...command], { cwd: job.dir, detached: true, stdio: 'ignore' });
      await new Promise<void>((started, failed) => {
        child.once('spawn', started);
        child.once('error', (error: NodeJS.ErrnoException) =>
          failed(error.code === 'ENOENT' ? new InputError('--launcher local needs bash, which is not on the path') : error),
        );
      });
      child.unref();
      while ((await textOf(`${base}.pid`)) === undefined && child.exitCode === null) await wait(10);
      return handle(id);
    },
    find: async (id) => ((await textOf(resolve(jobDir, FOLDER, `${id}.pid`))) === undefined ? null : handle(id)),
  };
}

function localHandle(base: string, { id, out, pollMs }: { id: string; out: string; pollMs: number }): JobHandle {
  const status = async (): Promise<JobStatus> => {
    const alive = await keeperIs(base);
    const code = await textOf(`${base}.exit`);
    if (code !== undefined) {
      if ((await textOf(`${base}.stop`)) !== undefined && code !== '0') return { state: 'stopped', message: null, exitCode: Number(code) };
      return { state: code === '0' ? 'succeeded' : 'failed', message: null, exitCode: Number(code) };
    }
    if (alive) return { state: 'running', message: null, exitCode: null };
    if ((await textOf(`${base}.stop`)) !== undefined) return { state: 'stopped', message: null, exitCode: null };
    return { state: 'failed', message: 'its process is gone without an exit code: it was killed', exitCode: null };
  };
  return {
    id,
    status,
    lines: async function* (options) {
      const output = await openOutput(`${base}.log`);
      try {
        return yield* followOutput({ status, read: output.read }, { ...options, pollMs });
      } finally {
        await output.close();
      }
    },
    stop: async () => {
      if (hasEnded(await status())) return null;
      await writeFile(`${base}.stop`, '');
      const pid = Number(await textOf(`${base}.pid`));
      signalGroup(pid, 'SIGTERM');
      const until = Date.now() + GRACE_MS;
      while (Date.now() < until && !hasEnded(await status())) await wait(50);
      signalGroup(pid, 'SIGKILL');
      while (!hasEnded(await status())) await wait(50);
      return null;
    },
    fetchExport: async (target, options) => {
      if (resolve(target) === resolve(out)) return checkExport(target, options);
      return fetchExport(folderSource(out), target, options);
    },
  };
}

/** Whether the keeper of a job still lives: its number may be another process's by now, so its arguments are looked at too. */
async function keeperIs(base: string): Promise<boolean> {
  const pid = Number(await textOf(`${base}.pid`));
  if (!(pid > 0)) return false;
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
  }
  const fromProc = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => undefined);
  if (fromProc !== undefined) return fromProc.includes(base);
  const { stdout } = await promisify(execFile)('ps', ['-o', 'args=', '-p', String(pid)]).catch(() => ({ stdout: '' }));
  return stdout.includes(base);
}

function signalGroup(leader: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-leader, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

async function openOutput(
  file: string,
): Promise<{ read: (mark: number) => Promise<{ text: string; mark: number }>; close: () => Promise<void> }> {
  let handle: FileHandle | undefined;
  const decoder = new StringDecoder('utf8');
  const buffer = Buffer.alloc(1 << 20);
  return {
    read: async (mark) => {
      handle ??= await open(file, constants.O_RDONLY).catch(() => undefined);
      if (handle === undefined) return { text: '', mark };
      let [text, at] = ['', mark];
      for (;;) {
        const { bytesRead } = await handle.read(buffer, 0, buffer.length, at);
        if (bytesRead === 0) return { text, mark: at };
        text += decoder.write(buffer.subarray(0, bytesRead));
        at += bytesRead;
      }
    },
    close: async () => handle?.close(),
  };
}

async function textOf(file: string): Promise<string | undefined> {
  const text = await readFile(file, 'utf8').catch(() => undefined);
  return text?.trim();
}

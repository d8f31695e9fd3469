import { join, resolve } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { rayClient, shellWord } from '../../train/index.js';
import { shardFolder } from '../core/corpus.js';
import { CheckFailedError, InputError, fromSystem } from '../core/errors.js';
import { canonicalJson, hashFile, sha256 } from '../core/hash.js';
import { readManifest } from '../core/manifest.js';
import type { CommandResult, CommonFlags, Terminal } from './command.js';
import { type EncoderFlags, encoderFlagNames } from './encoder-flags.js';
import { wholeNumber } from './number-flags.js';

export interface RayShardFlags {
  ray?: string;
  shards?: number;
  'ray-command': string;
}

export const rayShardOptions = {
  ray: {
    type: 'string',
    describe: "address of a Ray cluster's dashboard, which runs --shards jobs; FILE and --out have to be the same there",
  },
  shards: { type: 'number', describe: '--ray: shards, a job each' },
  'ray-command': { type: 'string', default: 'hopgate', describe: '--ray: the command on the cluster, as a shell has it' },
} as const;

interface EmbedFlags extends CommonFlags, RayShardFlags, EncoderFlags {
  file: string;
}

/** How often the jobs' states are asked for. */
const POLL_MS = 2000;

/**
 * Runs every shard of `corpus embed` as a job of a Ray cluster that sees this machine's paths, and waits for them. The same command again
 * attaches to jobs that are there, and submits the failed and stopped ones anew with --resume, so that finished parts stay, as well as those
 * that a cluster has for done although their shard is not there; with --force all of them. Ctrl-C leaves the jobs running.
 *
 * @throws CheckFailedError when a shard's job failed, with the end of its log, or ended without a shard of this file
 */
export async function embedOnRay(
  flags: EmbedFlags,
  { out, partRows, terminal }: { out: string; partRows: number; terminal: Terminal },
): Promise<CommandResult> {
  const of = wholeNumber('shards', flags.shards);
  if (of > 99_999) throw new InputError(`--shards: got ${of}, expected at most 99999`);
  const client = rayClient(flags.ray as string, process.env);
  await client.version();
  const file = await hashFile(flags.file).catch((error: unknown) => {
    throw fromSystem(error, flags.file);
  });
  const jobs = Array.from({ length: of }, (_, index) => {
    const words = shardWords(flags, { out, partRows, shard: `${index}/${of}` });
    return { index, entrypoint: `${flags['ray-command']} ${words.map(shellWord).join(' ')}`, id: jobId(words, file.sha256) };
  });
  const isMade = (index: number): Promise<boolean> => holdsShard(join(out, shardFolder(index, of)), file.sha256);
  const open = new Map<string, number>();
  for (const { id: first, index, entrypoint } of jobs) {
    terminal.signal.throwIfAborted();
    // A new attempt has an id of its own: what is left of a job that has just failed would end another one of its name.
    for (let attempt = 1; ; attempt++) {
      const id = attempt === 1 ? first : `${first}-${attempt}`;
      const status = (await client.job(id))?.status;
      if (status === 'FAILED' || status === 'STOPPED') continue;
      if (status === 'SUCCEEDED' && (flags.force || !(await isMade(index)))) continue;
      if (status === undefined) await client.submit({ entrypoint, submission_id: id });
      open.set(id, index);
      break;
    }
  }
  terminal.note(`${of} jobs on ${client.address}: ${jobs[0]?.id} …`);
  const bar = terminal.progress('shards', { lines: true });
  const failed: { index: number; log: string }[] = [];
  try {
    while (open.size > 0) {
      for (const [id, index] of open) {
        const job = await client.job(id);
        if (job === null) throw new InputError(`${client.address}: no longer knows job ${id}; a cluster that starts anew forgets its jobs`);
        if (job.status === 'PENDING' || job.status === 'RUNNING') continue;
        open.delete(id);
        if (job.status !== 'SUCCEEDED') failed.push({ index, log: (await client.logs(id)).trim().slice(-400) || (job.message ?? '') });
        bar.update(of - open.size, of);
      }
      if (open.size > 0) await wait(POLL_MS, undefined, { signal: terminal.signal });
    }
  } finally {
    bar.done();
  }
  const [first] = failed.toSorted((a, b) => a.index - b.index);
  if (first)
    throw new CheckFailedError(
      `${failed.length} of ${of} shards failed; the same command goes on with them (${shardFolder(first.index, of)}: ${first.log})`,
    );
  for (const { index } of jobs) {
    if (await isMade(index)) continue;
    const folder = join(out, shardFolder(index, of));
    throw new CheckFailedError(
      `the job of a shard succeeded, but ${folder} holds no shard of this file: does the cluster see this machine's paths?`,
    );
  }
  terminal.print(`${of} shards in ${out}`);
  return { out, counts: { shards: of }, quarantined: {}, warnings: [] };
}

function shardWords(flags: EmbedFlags, { out, partRows, shard }: { out: string; partRows: number; shard: string }): string[] {
  const words = [
    'corpus',
    'embed',
    resolve(flags.file),
    '--out',
    resolve(out),
    '--shard',
    shard,
    '--part-rows',
    String(partRows),
    '--seed',
    String(flags.seed),
  ];
  // Every shard's encoder is told what this command was.
  for (const name of encoderFlagNames) if (flags[name] !== undefined) words.push(`--${name}`, flags[name]);
  return [...words, flags.force ? '--force' : '--resume', '--quiet'];
}

/** One job for one shard of one command on one file, whoever submits it; whether it is made anew is no part of it. */
function jobId(words: readonly string[], file: string): string {
  const lasting = words.filter((word) => word !== '--force' && word !== '--resume');
  return `hopgate-corpus-${sha256(canonicalJson([...lasting, file])).slice(0, 24)}`;
}

/** Whether a finished shard of a file with this sha256 lies there. */
async function holdsShard(folder: string, file: string): Promise<boolean> {
  const manifest = await readManifest(folder, 'corpus').catch(() => undefined);
  return manifest?.inputs.some((one) => one.sha256 === file) ?? false;
}

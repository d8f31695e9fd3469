import { resolve } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { rayClient, shellWord } from '../../train/index.js';
import { shardFolder } from '../core/corpus.js';
import { CheckFailedError, InputError } from '../core/errors.js';
import { canonicalJson, sha256 } from '../core/hash.js';
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
 * attaches to jobs that are there, and submits the failed and stopped ones anew with --resume, so that finished parts stay. Ctrl-C leaves the
 * jobs running.
 *
 * @throws CheckFailedError when a shard's job failed; the message has the end of its log
 */
export async function embedOnRay(
  flags: EmbedFlags,
  { out, partRows, terminal }: { out: string; partRows: number; terminal: Terminal },
): Promise<CommandResult> {
  const of = wholeNumber('shards', flags.shards);
  if (of > 99_999) throw new InputError(`--shards: got ${of}, expected at most 99999`);
  const client = rayClient(flags.ray as string, process.env);
  await client.version();
  const jobs = Array.from({ length: of }, (_, index) => {
    const words = shardWords(flags, { out, partRows, shard: `${index}/${of}` });
    return { index, entrypoint: `${flags['ray-command']} ${words.map(shellWord).join(' ')}`, id: jobId(words) };
  });
  for (const { id, entrypoint } of jobs) {
    terminal.signal.throwIfAborted();
    const known = await client.job(id);
    if (known && ['FAILED', 'STOPPED'].includes(known.status)) await client.remove(id);
    await client.submit({ entrypoint, submission_id: id });
  }
  terminal.note(`${of} jobs on ${client.address}: ${jobs[0]?.id} …`);
  const bar = terminal.progress('shards', { lines: true });
  const open = new Map(jobs.map((one) => [one.id, one]));
  const failed: { index: number; log: string }[] = [];
  try {
    while (open.size > 0) {
      for (const { id, index } of open.values()) {
        const job = await client.job(id);
        if (job === null) throw new InputError(`${client.address}: no longer knows job ${id}; a cluster that starts anew forgets its jobs`);
        if (job.status === 'PENDING' || job.status === 'RUNNING') continue;
        open.delete(id);
        if (job.status !== 'SUCCEEDED') failed.push({ index, log: (await client.logs(id)).trim().slice(-400) });
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
  return [...words, '--resume', '--quiet'];
}

/** One job for one shard of one command, whoever submits it. */
function jobId(words: readonly string[]): string {
  return `hopgate-corpus-${sha256(canonicalJson(words)).slice(0, 24)}`;
}

import { randomBytes } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { z } from 'zod';
import { InputError } from '../src/core/errors.js';
import type { ExportSource, FileRange } from './export-files.js';
import type { FetchOptions } from './launch.js';
import { type RayClient, type RayJob, onNodeOf } from './ray-client.js';
import { shellWord } from './shell-word.js';

/** Bytes of files that one job prints: small enough for its log to be answered in one piece. */
const BYTES_A_JOB = 16 * 1024 ** 2;
/** From here on the user is told that this is the slow way, in bytes. */
const LARGE = 256 * 1024 ** 2;
/** A job that only prints starts within seconds, unless its node is gone. */
const WAIT_MS = 120_000;

/** Prints ranges of files as JSON lines; -1 bytes are all. Any Python 3 runs it. */
const PRINTER = `
import base64, json, os, sys
folder = sys.argv[1]
for path, offset, count in json.loads(sys.argv[2]):
    with open(os.path.join(folder, path), "rb") as file:
        file.seek(offset)
        while count != 0:
            data = file.read(786432 if count < 0 else min(count, 786432))
            if not data:
                break
            count -= len(data) if count > 0 else 0
            print(json.dumps({"hopgate_piece": path, "base64": base64.b64encode(data).decode()}), flush=True)
`;

const piece = z.strictObject({ hopgate_piece: z.string(), base64: z.base64() });

export interface LogSourceSettings {
  /** Of the job that made the export. */
  id: string;
  /** As a word of a shell on the node. */
  folder: string;
  ran: RayJob;
  options: FetchOptions;
}

/**
 * An export on the disk of the node that made it, for clusters that share no folder with this machine: small jobs on that node print its
 * files in base64, and their logs are read. The logs stay on the node as long as Ray keeps logs.
 */
export function logSource(client: RayClient, { id, folder, ran, options }: LogSourceSettings): ExportSource {
  const print = (ranges: readonly FileRange[]): AsyncGenerator<z.infer<typeof piece>> => {
    const wanted = JSON.stringify(ranges.map(({ path, offset, bytes }) => [path, offset, bytes]));
    return printed(client, {
      id: `${id}-fetch-${randomBytes(4).toString('hex')}`,
      entrypoint: `python3 -c ${shellWord(PRINTER)} ${folder} ${shellWord(wanted)}`,
      ran,
      options,
    });
  };
  return {
    manifest: async () => {
      let text = '';
      for await (const { base64 } of print([{ path: 'export.json', offset: 0, bytes: -1 }]))
        text += Buffer.from(base64, 'base64').toString('latin1');
      return Buffer.from(text, 'latin1').toString('utf8');
    },
    read: async function* (ranges) {
      const total = ranges.reduce((sum, { bytes }) => sum + bytes, 0);
      if (total > LARGE)
        options.onWarning?.(
          `${Math.round(total / 1024 ** 2)} MiB come through the log of small jobs on the cluster, in base64; a folder that both sides see (--storage) spares that`,
        );
      for (const batch of batches(ranges)) {
        for await (const { hopgate_piece: path, base64 } of print(batch)) yield { path, bytes: Buffer.from(base64, 'base64') };
      }
    },
  };
}

async function* printed(
  client: RayClient,
  { id, entrypoint, ran, options }: { id: string; entrypoint: string; ran: RayJob; options: FetchOptions },
): AsyncGenerator<z.infer<typeof piece>> {
  await client.submit({ entrypoint, submission_id: id, ...onNodeOf(ran) });
  let ended = false;
  try {
    const until = Date.now() + WAIT_MS;
    let job = await client.job(id);
    while (job?.status === 'PENDING' || job?.status === 'RUNNING') {
      options.signal?.throwIfAborted();
      if (job.status === 'PENDING' && Date.now() > until)
        throw new InputError(
          `${client.address}: the node that ran the job and has its files starts nothing (${job.message ?? 'no message'})`,
        );
      await wait(300);
      job = await client.job(id);
    }
    ended = true;
    const log = await client.logs(id);
    if (job?.status !== 'SUCCEEDED') {
      const said = log.trim().split('\n').at(-1) ?? '';
      throw new InputError(`${client.address}: job ${id}, which reads the export, ended as ${job?.status ?? 'unknown'}: ${said}`);
    }
    for (const line of log.split('\n')) {
      if (line.startsWith('{"hopgate_piece"')) yield piece.parse(JSON.parse(line));
    }
  } finally {
    // The way out of an interruption does not wait for the cluster; a job that has not ended cannot be taken off its list.
    await (ended ? client.remove(id) : client.stop(id)).catch(() => undefined);
  }
}

/** Ranges cut and grouped, in their order. */
function* batches(ranges: readonly FileRange[]): Generator<FileRange[]> {
  let [batch, room] = [[] as FileRange[], BYTES_A_JOB];
  for (const { path, offset, bytes } of ranges) {
    for (let done = 0; done < bytes;) {
      const part = Math.min(room, bytes - done);
      batch.push({ path, offset: offset + done, bytes: part });
      done += part;
      room -= part;
      if (room > 0) continue;
      yield batch;
      [batch, room] = [[], BYTES_A_JOB];
    }
  }
  if (batch.length > 0) yield batch;
}

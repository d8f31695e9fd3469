import { closeSync, openSync, renameSync, writeFileSync } from 'node:fs';
import { mkdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { z } from 'zod';
import { InputError } from './errors.js';
import { product } from './product.js';
import type { OnProgress } from './progress.js';

export interface DownloadOptions {
  /** Attempts in a row that may bring no new byte before it is given up; default 5. */
  retries?: number | undefined;
  /** Wait before the second attempt, in milliseconds; doubled each time, at most 30 s. Default 500. */
  backoffMs?: number | undefined;
  /** A connection without a byte for this long, in milliseconds, counts as cut; default 60,000. */
  idleMs?: number | undefined;
  signal?: AbortSignal | undefined;
  /** Bytes that are here and the size of the file, null where the host does not say it. */
  onProgress?: OnProgress | undefined;
}

export interface PartialFile {
  /** Where the bytes stand, all of them. */
  part: string;
  /** The commit that the host says it served (`x-repo-commit`), null where it says none. */
  revision: string | null;
}

/**
 * Fetches `url` into `path` + `.part` and gives it back once it is whole; the caller looks at it and calls `keepDownload`. Bytes of an
 * earlier, interrupted attempt are kept when the host confirms by ETag or Last-Modified (`If-Range`) that the file is still the same; a host
 * that cannot do that, or that ignores ranges, is read from the start. A cut connection, a silent one, 408, 429 and 5xx are tried again.
 * Throws InputError for other answers, and when the attempts are used up; what has come so far stays for the next time.
 */
export async function download(url: string, path: string, options: DownloadOptions = {}): Promise<PartialFile> {
  const { retries = 5, backoffMs = 500 } = options;
  const part = `${path}.part`;
  await mkdir(dirname(path), { recursive: true });
  let failures = 0;
  for (;;) {
    const before = await sizeOf(part);
    try {
      return { part, revision: await attempt(url, part, options) };
    } catch (error) {
      options.signal?.throwIfAborted();
      if (!(error instanceof Interrupted)) throw error;
      const here = await sizeOf(part);
      failures = here > before ? 1 : failures + 1;
      if (failures > retries)
        throw new InputError(
          `${url}: cannot be fetched (${error.message}), tried ${failures} times without a new byte; ${here} bytes are kept, and the same command goes on`,
        );
      await wait(Math.min(30_000, Math.max(error.retryAfterMs, backoffMs * 2 ** (failures - 1))), undefined, { signal: options.signal });
    }
  }
}

/** Moves a finished download to its place. */
export async function keepDownload(path: string): Promise<void> {
  await rename(`${path}.part`, path);
  await rm(`${path}.part.json`, { force: true });
}

/** Throws away what has been fetched of a file. */
export async function dropDownload(path: string): Promise<void> {
  await rm(`${path}.part`, { force: true });
  await rm(`${path}.part.json`, { force: true });
}

/** Something that may go better next time. */
class Interrupted extends Error {
  readonly retryAfterMs: number;

  constructor(message: string, retryAfterMs = 0) {
    super(message);
    this.name = 'Interrupted';
    this.retryAfterMs = retryAfterMs;
  }
}

/** What is known of a part file: which file it is the beginning of. */
const partState = z.strictObject({
  url: z.string(),
  /** A strong ETag or a Last-Modified date, as the host gave it; null where it gave neither. */
  validator: z.string().nullable(),
  bytes: z.int().nonnegative().nullable(),
  revision: z.string().nullable(),
});
type PartState = z.infer<typeof partState>;

async function attempt(url: string, part: string, options: DownloadOptions): Promise<string | null> {
  const known = await readState(url, part);
  const offset = known?.validator ? await sizeOf(part) : 0;
  if (known && offset > 0 && offset === known.bytes) return known.revision;
  const idle = new AbortController();
  const idleMs = options.idleMs ?? 60_000;
  const timer = setTimeout(() => idle.abort(), idleMs);
  try {
    const signal = options.signal ? AbortSignal.any([options.signal, idle.signal]) : idle.signal;
    const { response, revision } = await request(url, { offset, validator: known?.validator ?? null, signal });
    timer.refresh();
    const total = response.status === 206 && known ? continuedTotal(response, offset, known) : undefined;
    if (known && total !== undefined) {
      await append(response, part, { from: offset, total, timer, options });
      return known.revision;
    }
    if (response.status === 206 || response.status === 416) {
      await response.body?.cancel();
      if (response.status === 416 && response.headers.get('content-range') === `bytes */${offset}`) return known?.revision ?? null;
      await rm(`${part}.json`, { force: true });
      throw new Interrupted('the host now has another file than the one that was begun');
    }
    refuseOtherContent(url, response);
    const state: PartState = { url, validator: validatorOf(response), bytes: lengthOf(response), revision };
    // Emptied first: a kill between these lines must not leave old bytes under a new description. All at once, since a connection that
    // breaks before its content is asked for takes with it what has arrived.
    writeFileSync(part, '');
    writeFileSync(`${part}.json.tmp`, `${JSON.stringify(state)}\n`);
    renameSync(`${part}.json.tmp`, `${part}.json`);
    await append(response, part, { from: 0, total: state.bytes, timer, options });
    return revision;
  } catch (error) {
    if (idle.signal.aborted) throw new Interrupted(`no byte for ${idleMs / 1000} s`);
    // What fetch throws when a connection cannot be made or breaks.
    if (error instanceof TypeError) throw new Interrupted(reasonOf(error));
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

async function append(
  response: Response,
  part: string,
  { from, total, timer, options }: { from: number; total: number | null; timer: NodeJS.Timeout; options: DownloadOptions },
): Promise<void> {
  const descriptor = openSync(part, 'a');
  let here = from;
  try {
    for await (const chunk of response.body ?? []) {
      timer.refresh();
      // Synchronous for the same reason: what waits in the stream when a connection breaks is lost.
      writeFileSync(descriptor, chunk as Uint8Array);
      here += (chunk as Uint8Array).length;
      options.onProgress?.(here, total);
    }
  } finally {
    closeSync(descriptor);
  }
  if (total !== null && here !== total) throw new Interrupted(`the connection ended after ${here} of ${total} bytes`);
}

const MOST_REDIRECTS = 10;

/** Asks for a file and follows redirects by hand, since the hub names its commit only in the first answer. */
async function request(
  url: string,
  { offset, validator, signal }: { offset: number; validator: string | null; signal: AbortSignal },
): Promise<{ response: Response; revision: string | null }> {
  const headers: { [name: string]: string } = { 'accept-encoding': 'identity', 'user-agent': `${product().name}/${product().version}` };
  if (offset > 0 && validator !== null) Object.assign(headers, { range: `bytes=${offset}-`, 'if-range': validator });
  let at = new URL(url);
  let revision: string | null = null;
  for (let redirects = 0; redirects <= MOST_REDIRECTS; redirects++) {
    const response = await fetch(at, { headers, signal, redirect: 'manual' });
    revision ??= response.headers.get('x-repo-commit');
    const { status } = response;
    if ([200, 206, 416].includes(status)) return { response, revision };
    await response.body?.cancel();
    const location = response.headers.get('location');
    if (status >= 300 && status < 400 && location !== null) {
      const next = new URL(location, at);
      if (at.protocol === 'https:' && next.protocol !== 'https:') throw new InputError(`${url}: leads away from https, to ${next.href}`);
      at = next;
      continue;
    }
    const answer = `the host answered ${status}${response.statusText === '' ? '' : ` ${response.statusText}`}`;
    if (status === 408 || status === 429 || status >= 500) {
      const seconds = Number(response.headers.get('retry-after') ?? 0);
      throw new Interrupted(answer, Number.isFinite(seconds) ? seconds * 1000 : 0);
    }
    throw new InputError(`${url}: ${answer}`);
  }
  throw new InputError(`${url}: more than ${MOST_REDIRECTS} redirects`);
}

/**
 * Size of the file that an answer of 206 goes on with, behind the bytes that are here; undefined where it is another file, or where neither
 * this answer nor the first one says how long the file is: a range that ends early would then pass for the end of the file.
 */
function continuedTotal(response: Response, offset: number, known: PartState): number | undefined {
  const [, from, said] = /^bytes (\d+)-\d+\/(\d+|\*)$/.exec(response.headers.get('content-range') ?? '') ?? [];
  const total = said === undefined || said === '*' ? known.bytes : Number(said);
  if (Number(from) !== offset || total === null || (known.bytes !== null && total !== known.bytes)) return undefined;
  const now = validatorOf(response);
  return now === null || now === known.validator ? total : undefined;
}

/** Throws InputError for a web page (a login, an error) and for content whose end would look like a cut: neither length nor chunks. */
function refuseOtherContent(url: string, response: Response): void {
  const { headers } = response;
  const type = (headers.get('content-type') ?? '').toLowerCase();
  if (/^(text\/html|application\/xhtml)/.test(type))
    throw new InputError(`${url}: got a web page (content-type ${type}), expected a file; the host may ask for a login first`);
  if (headers.get('content-length') === null && headers.get('transfer-encoding') === null)
    throw new InputError(`${url}: the host says neither how long the file is nor where it ends, so that a cut would go unnoticed`);
}

/** A weak ETag promises nothing about single bytes (RFC 9110, 13.1.5). */
function validatorOf(response: Response): string | null {
  const etag = response.headers.get('etag');
  if (etag !== null && !etag.startsWith('W/')) return etag;
  return response.headers.get('last-modified');
}

function lengthOf(response: Response): number | null {
  const length = response.headers.get('content-length');
  // Of packed content the length says nothing: fetch unpacks it.
  return length === null || (response.headers.get('content-encoding') ?? 'identity') !== 'identity' ? null : Number(length);
}

async function readState(url: string, part: string): Promise<PartState | undefined> {
  const content = await readFile(`${part}.json`, 'utf8').catch(() => undefined);
  if (content === undefined) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(content);
  } catch {
    return undefined;
  }
  const state = partState.safeParse(value);
  return state.success && state.data.url === url ? state.data : undefined;
}

function reasonOf(error: Error): string {
  const { cause } = error;
  return cause instanceof Error && cause.message !== '' ? `${error.message}: ${cause.message}` : error.message;
}

async function sizeOf(path: string): Promise<number> {
  return (await stat(path).catch(() => ({ size: 0 }))).size;
}

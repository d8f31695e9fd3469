import { setTimeout as wait } from 'node:timers/promises';
import { InputError, shown } from '../core/errors.js';

export interface PostOptions {
  /** Sent as a bearer token; whatever the server says of it, it is in no error. */
  apiKey?: string | undefined;
  /** Milliseconds that one request may take, its reply included. Default 60,000. */
  timeoutMs?: number | undefined;
  /** How often a request is sent again, after 429 or 5xx alone. Default 4. */
  retries?: number | undefined;
  /** First pause before it; each further one is twice as long, and at least what `Retry-After` asks for, never over a minute. Default 500 ms. */
  backoffMs?: number | undefined;
  /** Bytes of a reply at most. Default 32 MiB. */
  maxReplyBytes?: number | undefined;
  signal?: AbortSignal | undefined;
}

/** What stood between a request and its reply, for good; the message begins with the address. */
export class PostError extends Error {
  /** The reply's status, null where there was none or it was not the fault. */
  readonly status: number | null;

  constructor(message: string, status: number | null = null) {
    super(message);
    this.name = 'PostError';
    this.status = status;
  }
}

const MAX_REPLY_BYTES = 32 * 1024 * 1024;
/** Of a reply that is no success: enough for what it says. */
const MAX_ERROR_BYTES = 16 * 1024;
const LONGEST_PAUSE_MS = 60_000;
/** Shorter keys are the stand-ins that local servers are given ("EMPTY"); a reply may hold such a word by chance. */
const SECRET_LENGTH = 12;

/**
 * Sends JSON and returns the JSON of the reply. Only 429 and 5xx are sent again, `retries` times at most, so that the whole takes no longer than
 * (retries + 1) × timeoutMs and the pauses. A reply is read no further than its bound.
 *
 * @throws PostError; the signal's reason
 */
export async function postJson(address: string, body: unknown, options: PostOptions = {}): Promise<unknown> {
  const { apiKey, retries = 4, backoffMs = 500, signal } = options;
  const text = JSON.stringify(body);
  for (let failures = 0; ; failures++) {
    signal?.throwIfAborted();
    const { response, reply } = await send(address, text, options);
    if (response.ok) return jsonOf(address, response, reply, apiKey);
    const again = response.status === 429 || response.status >= 500;
    if (!again || failures >= retries) {
      const tries = failures === 0 ? '' : ` after ${failures + 1} tries`;
      throw new PostError(`${address}: status ${response.status}${tries}: ${shown(withoutKey(reply, apiKey), 200)}`, response.status);
    }
    const pause = Math.max(askedPause(response.headers.get('retry-after')), backoffMs * 2 ** failures);
    await wait(Math.min(LONGEST_PAUSE_MS, pause), undefined, { signal }).catch((error: unknown) => {
      signal?.throwIfAborted();
      throw error;
    });
  }
}

/**
 * The full address of one of a server's services (`chat/completions`). `url` may end in `/v1` or leave it out; where its path names another
 * version, it is taken as it is.
 *
 * @throws InputError that names the flag
 */
export function serviceAddress(flag: string, url: string, service: string): string {
  let parsed: URL;
  try {
    parsed = new URL(url);
  } catch {
    throw new InputError(`${flag}: got ${shown(url)}, expected an address such as http://localhost:8000`);
  }
  if (!/^https?:$/.test(parsed.protocol)) throw new InputError(`${flag}: got ${shown(url)}, expected http or https`);
  if (parsed.username !== '' || parsed.password !== '')
    throw new InputError(`${flag}: got an address with a password in it, expected the key in the environment`);
  if (parsed.search !== '') throw new InputError(`${flag}: got an address with a query, expected the server's base address`);
  const path = parsed.pathname.replace(/\/+$/, '');
  return `${parsed.origin}${path}${/\/v\d[^/]*(\/|$)/.test(path) ? '' : '/v1'}/${service}`;
}

/**
 * The key in an environment variable: a flag's value would be seen in the list of processes. Undefined where the default variable is not set.
 *
 * @throws InputError that never shows it
 */
export function keyFromEnvironment(
  flag: string,
  variable: string | undefined,
  environment: NodeJS.ProcessEnv = process.env,
): string | undefined {
  const value = environment[variable ?? DEFAULT_KEY_VARIABLE];
  if (value === undefined || value === '') {
    if (variable === undefined) return undefined;
    throw new InputError(`${flag}: got ${shown(variable)}, which the environment does not have`);
  }
  // A header with other characters would be refused by an error that shows the key.
  if (!/^[\x21-\x7e]+$/.test(value))
    throw new InputError(`${flag}: the value of ${variable ?? DEFAULT_KEY_VARIABLE} has blanks or characters that no key has`);
  return value;
}

export const DEFAULT_KEY_VARIABLE = 'HOPGATE_API_KEY';

async function send(
  address: string,
  body: string,
  { apiKey, timeoutMs = 60_000, maxReplyBytes = MAX_REPLY_BYTES, signal }: PostOptions,
): Promise<{ response: Response; reply: string }> {
  const ended = new AbortController();
  const timer = setTimeout(() => ended.abort(LATE), timeoutMs);
  const onAbort = (): void => ended.abort();
  signal?.addEventListener('abort', onAbort, { once: true });
  let began = false;
  try {
    const response = await fetch(address, {
      method: 'POST',
      body,
      headers: {
        'content-type': 'application/json',
        accept: 'application/json',
        ...(apiKey !== undefined && { authorization: `Bearer ${apiKey}` }),
      },
      // It would carry the key elsewhere.
      redirect: 'error',
      signal: ended.signal,
    });
    began = true;
    return { response, reply: await boundedText(address, response, response.ok ? maxReplyBytes : MAX_ERROR_BYTES) };
  } catch (error) {
    signal?.throwIfAborted();
    if (error instanceof PostError) throw error;
    if (ended.signal.aborted) throw new PostError(`${address}: no ${began ? 'whole reply' : 'answer'} within ${timeoutMs / 1000} s`);
    const { cause, message } = error as { cause?: { code?: string; message?: string }; message: string };
    const what = withoutKey(cause?.code ?? cause?.message ?? message, apiKey);
    throw new PostError(`${address}: ${began ? `the connection broke off within the reply (${what})` : what}`);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', onAbort);
  }
}

const LATE = new Error('too late');

/** Of a success all or nothing; of any other reply its beginning. */
async function boundedText(address: string, response: Response, limit: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    if (bytes > limit && response.ok) throw new PostError(`${address}: a reply of over ${limit} bytes, which is not read on`);
    chunks.push(chunk);
    if (bytes > limit) break;
  }
  return Buffer.concat(chunks).toString('utf8');
}

function jsonOf(address: string, response: Response, reply: string, apiKey: string | undefined): unknown {
  if (apiKey !== undefined && apiKey.length >= SECRET_LENGTH && reply.includes(apiKey))
    throw new PostError(`${address}: a reply that repeats the key, which is not kept`);
  const type = response.headers.get('content-type') ?? '';
  if (!/^application\/(.+\+)?json\b/i.test(type))
    throw new PostError(`${address}: got content type ${shown(type)} (${shown(withoutKey(reply, apiKey), 60)}), expected application/json`);
  try {
    return JSON.parse(reply);
  } catch {
    throw new PostError(`${address}: got ${shown(withoutKey(reply, apiKey), 60)}, expected JSON`);
  }
}

/** A server may repeat the key that it refuses. */
function withoutKey(text: string, apiKey: string | undefined): string {
  if (apiKey === undefined || apiKey === '') return text;
  const forms = [apiKey, JSON.stringify(apiKey).slice(1, -1), encodeURIComponent(apiKey), Buffer.from(apiKey).toString('base64')];
  return forms.reduce((left, form) => left.replaceAll(form, '…'), text);
}

/** `Retry-After` in milliseconds, given as seconds or as a date; 0 where it is neither. */
function askedPause(header: string | null): number {
  if (header === null) return 0;
  const seconds = /^\s*\d+(\.\d+)?\s*$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now();
  return Number.isFinite(seconds) ? Math.max(0, seconds) : 0;
}

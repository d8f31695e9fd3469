import { setTimeout as wait } from 'node:timers/promises';
import { InputError, shown } from '../core/errors.js';
import { serverAddress, shownAddress } from '../core/server-address.js';

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

/** What stood between a request and its reply, for good; the message begins with the address, its query left out. */
export class PostError extends Error {
  /** The reply's status, null where there was none or it was not the fault. */
  readonly status: number | null;
  /** Whether the server may have done the work: it answered with success, or was given up while it was at it. */
  readonly worked: boolean;

  constructor(message: string, { status = null, worked = false }: { status?: number | null; worked?: boolean } = {}) {
    super(message);
    this.name = 'PostError';
    this.status = status;
    this.worked = worked;
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
  const where = shownAddress(address);
  const secrets = secretsOf(address, apiKey);
  const text = JSON.stringify(body);
  for (let failures = 0; ; failures++) {
    signal?.throwIfAborted();
    const { response, reply } = await send(address, text, options);
    if (response.ok) return jsonOf(where, response, reply, { apiKey, secrets });
    const again = response.status === 429 || response.status >= 500;
    if (!again || failures >= retries) {
      const tries = failures === 0 ? '' : ` after ${failures + 1} tries`;
      throw new PostError(`${where}: status ${response.status}${tries}: ${shown(without(secrets, reply), 200)}`, {
        status: response.status,
      });
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
  const parsed = serverAddress(flag, url, 'http://localhost:8000');
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
  const where = shownAddress(address);
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
    return { response, reply: await boundedText(where, response, response.ok ? maxReplyBytes : MAX_ERROR_BYTES) };
  } catch (error) {
    signal?.throwIfAborted();
    if (error instanceof PostError) throw error;
    if (ended.signal.aborted)
      throw new PostError(`${where}: no ${began ? 'whole reply' : 'answer'} within ${timeoutMs / 1000} s`, { worked: true });
    const { cause, message } = error as { cause?: { code?: string; message?: string }; message: string };
    const what = without(secretsOf(address, apiKey), cause?.code ?? cause?.message ?? message);
    throw new PostError(`${where}: ${began ? `the connection broke off within the reply (${what})` : what}`, { worked: began });
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', onAbort);
  }
}

const LATE = new Error('too late');

/** Of a success all or nothing; of any other reply its beginning. */
async function boundedText(where: string, response: Response, limit: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    if (bytes > limit && response.ok)
      throw new PostError(`${where}: a reply of over ${limit} bytes, which is not read on`, { worked: true });
    chunks.push(chunk);
    if (bytes > limit) break;
  }
  return Buffer.concat(chunks).toString('utf8');
}

function jsonOf(
  where: string,
  response: Response,
  reply: string,
  { apiKey, secrets }: { apiKey: string | undefined; secrets: readonly string[] },
): unknown {
  const refuse = (message: string): never => {
    throw new PostError(`${where}: ${message}`, { worked: true });
  };
  const secret = apiKey !== undefined && apiKey.length >= SECRET_LENGTH ? apiKey : undefined;
  const type = response.headers.get('content-type') ?? '';
  if (!/^application\/(.+\+)?json\b/i.test(type))
    return refuse(`got content type ${shown(without(secrets, type))} (${shown(without(secrets, reply), 60)}), expected application/json`);
  let parsed: unknown;
  try {
    parsed = JSON.parse(reply);
  } catch {
    return refuse(`got ${shown(without(secrets, reply), 60)}, expected JSON`);
  }
  const error = errorOf(parsed);
  if (error !== undefined) return refuse(`status ${response.status}, but an error: ${shown(without(secrets, error), 200)}`);
  if (secret !== undefined && (holdsKey(reply, secret) || stringsOf(parsed).some((text) => holdsKey(text, secret))))
    return refuse('a reply that repeats the key, which is not kept');
  return parsed;
}

/** What an `error` says in a body that is nothing else: no list or object stands beside it. */
function errorOf(body: unknown): string | undefined {
  if (typeof body !== 'object' || body === null || !('error' in body)) return undefined;
  const { error, ...rest } = body;
  if (Object.values(rest).some((value) => typeof value === 'object' && value !== null)) return undefined;
  if (typeof error === 'string') return error === '' ? undefined : error;
  if (typeof error !== 'object' || error === null) return undefined;
  const { message } = error as { message?: unknown };
  return typeof message === 'string' && message !== '' ? message : JSON.stringify(error);
}

/** Every string of a JSON value, names of fields too. Without recursion: a reply may be nested as deep as it likes. */
function stringsOf(json: unknown): string[] {
  const strings: string[] = [];
  const left = [json];
  while (left.length > 0) {
    const value = left.pop();
    if (typeof value === 'string') strings.push(value);
    else if (Array.isArray(value)) for (const one of value) left.push(one);
    else if (typeof value === 'object' && value !== null) {
      for (const [name, one] of Object.entries(value)) left.push(name, one);
    }
  }
  return strings;
}

/** What a server may repeat of a request that it refuses: its key, and the query of its address in whole and in parts that may be one. */
function secretsOf(address: string, apiKey: string | undefined): string[] {
  const { search, searchParams } = new URL(address);
  const parts = [...searchParams.values()].filter((one) => one.length >= SECRET_LENGTH);
  return [...(apiKey === undefined ? [] : [apiKey]), search, ...parts];
}

function without(secrets: readonly string[], text: string): string {
  return secrets.reduce((left, one) => withoutKey(left, one), text);
}

/** A server may repeat the key that it refuses. What holds it in a form that cannot simply be cut out is not shown at all. */
function withoutKey(text: string, apiKey: string): string {
  if (apiKey === '') return text;
  const left = formsOf(apiKey).reduce((rest, form) => rest.replaceAll(form, '…'), text);
  return holdsKey(left, apiKey) ? '(not shown, for it repeats the key)' : left;
}

function holdsKey(text: string, apiKey: string): boolean {
  const forms = formsOf(apiKey);
  let plain = text;
  for (let layer = 0; layer <= ESCAPE_LAYERS; layer++) {
    if (forms.some((form) => plain.includes(form))) return true;
    const next = unescaped(plain);
    if (next === plain) return false;
    plain = next;
  }
  return false;
}

function formsOf(apiKey: string): string[] {
  const bytes = Buffer.from(apiKey);
  const base64 = [bytes.toString('base64').replace(/=+$/, ''), bytes.toString('base64url')];
  return [apiKey, JSON.stringify(apiKey).slice(1, -1), encodeURIComponent(apiKey), ...base64];
}

/** JSON within JSON within JSON, as gateways make it of an error that they pass on. */
const ESCAPE_LAYERS = 4;

/** One layer of the escapes of JSON, of addresses and of HTML taken off. */
function unescaped(text: string): string {
  const character = (code: number): string => (code <= 0x10ffff ? String.fromCodePoint(code) : '');
  return text
    .replace(/\\(?:u([0-9a-f]{4})|x([0-9a-f]{2})|([^ux]))/gi, (whole, long?: string, short?: string, plain?: string) =>
      plain === undefined ? character(Number.parseInt(long ?? short ?? whole, 16)) : plain,
    )
    .replace(/%([0-9a-f]{2})/gi, (_, hex: string) => character(Number.parseInt(hex, 16)))
    .replace(/&#(?:x([0-9a-f]{1,6})|([0-9]{1,7}));?/gi, (_, hex?: string, decimal?: string) =>
      character(hex === undefined ? Number(decimal) : Number.parseInt(hex, 16)),
    )
    .replace(/&(amp|quot|apos|lt|gt|sol|plus|equals);/g, (_, name: string) => ENTITIES[name] ?? '');
}

const ENTITIES: { readonly [name: string]: string } = {
  amp: '&',
  quot: '"',
  apos: "'",
  lt: '<',
  gt: '>',
  sol: '/',
  plus: '+',
  equals: '=',
};

/** `Retry-After` in milliseconds, given as seconds or as a date; 0 where it is neither. */
function askedPause(header: string | null): number {
  if (header === null) return 0;
  const seconds = /^\s*\d+(\.\d+)?\s*$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now();
  return Number.isFinite(seconds) ? Math.max(0, seconds) : 0;
}

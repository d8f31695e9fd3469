import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { setTimeout as wait } from 'node:timers/promises';
import { z } from 'zod';
import { InputError, shown } from '../src/core/errors.js';
import { product } from '../src/core/product.js';

export const RAY_STATES = ['PENDING', 'RUNNING', 'STOPPED', 'SUCCEEDED', 'FAILED'] as const;

const rayJob = z.object({
  status: z.enum(RAY_STATES),
  message: z.string().nullish(),
  metadata: z.record(z.string(), z.string()).nullish(),
  /** Of the node on which the entry point runs; null until it does. */
  driver_agent_http_address: z.string().nullish(),
  driver_exit_code: z.int().nullish(),
});
export type RayJob = z.infer<typeof rayJob>;

export interface RaySubmission {
  entrypoint: string;
  submission_id: string;
  runtime_env?: { working_dir: string; env_vars?: { [name: string]: string } };
  metadata?: { [name: string]: string };
  entrypoint_num_gpus?: number;
  entrypoint_resources?: { [name: string]: number };
}

/** Ray's dashboard takes no larger request (`DASHBOARD_CLIENT_MAX_SIZE`). */
export const LARGEST_PACKAGE = 100 * 1024 ** 2;

/** The Jobs API of one cluster, as far as it is needed here. Ids that the cluster does not know give null. */
export interface RayClient {
  readonly address: string;
  /** Version of Ray. Throws InputError where nothing, or something else, answers. */
  version(): Promise<string>;
  /** Uploads a package unless the cluster has it, and returns its URI. */
  upload(name: string, bytes: Uint8Array): Promise<string>;
  /** Submits under the given id; where a job of that id is there already, nothing happens. */
  submit(submission: RaySubmission): Promise<void>;
  job(id: string): Promise<RayJob | null>;
  /** All that the job has printed so far, standard output and standard error. */
  logs(id: string): Promise<string>;
  stop(id: string): Promise<void>;
  /** Takes an ended job off the cluster's list. */
  remove(id: string): Promise<void>;
}

export interface RayClientOptions {
  /** Attempts after the first that a broken connection or an answer of 5xx may cost; default 7. */
  retries?: number | undefined;
  /** Wait before the second attempt, in milliseconds; doubled each time, at most 8 s. Default 500. */
  backoffMs?: number | undefined;
  /** A connection without a byte for this long, in milliseconds, counts as broken; default 60,000. */
  idleMs?: number | undefined;
}

/**
 * A client of Ray's Jobs REST API. `address` is the dashboard's, http or https. What proves who asks comes only from `environment`:
 * RAY_AUTH_TOKEN is sent as a bearer token, RAY_JOB_HEADERS (a JSON object, as for Ray's own command) as headers; no message shows either.
 */
export function rayClient(address: string, environment: NodeJS.ProcessEnv, options: RayClientOptions = {}): RayClient {
  const base = rayAddress(address);
  const headers = secretHeaders(environment);
  const send = (method: string, path: string, body?: { type: string; bytes: Uint8Array }, retries = options.retries ?? 7) =>
    sendAgain(new URL(`${base}${path}`), { method, headers, body, ...options, retries });
  const job = async (id: string): Promise<RayJob | null> => {
    const answer = await send('GET', `/api/jobs/${encodeURIComponent(id)}`);
    return answer.status === 404 ? null : answered(rayJob, answer);
  };
  return {
    address: base,
    version: async () => {
      const answer = await send('GET', '/api/version', undefined, Math.min(2, options.retries ?? 2));
      return answered(z.object({ ray_version: z.string() }), answer).ray_version;
    },
    upload: async (name, bytes) => {
      const path = `/api/packages/gcs/${name}`;
      const known = await send('GET', path);
      if (known.status === 404) expectDone(await send('PUT', path, { type: 'application/octet-stream', bytes }));
      else expectDone(known);
      return `gcs://${name}`;
    },
    submit: async (submission) => {
      const body = { type: 'application/json', bytes: Buffer.from(JSON.stringify(submission)) };
      const { retries = 7, backoffMs } = options;
      for (let attempt = 0; ; attempt++) {
        const answer = await send('POST', '/api/jobs/', body, 0).catch((error: unknown) => error);
        // The attempt may have reached the cluster although its answer did not come back; a second one under the same id is refused.
        if ((answer as Answer).status === 200 || (await job(submission.submission_id)) !== null) return;
        const hopeless = attempt >= retries || (answer as Answer).status < 500;
        if (hopeless && answer instanceof Error) throw answer;
        if (hopeless) expectDone(answer as Answer);
        await pause(attempt, backoffMs);
      }
    },
    job,
    logs: async (id) => answered(z.object({ logs: z.string() }), await send('GET', `/api/jobs/${encodeURIComponent(id)}/logs`)).logs,
    stop: async (id) => expectDone(await send('POST', `/api/jobs/${encodeURIComponent(id)}/stop`)),
    remove: async (id) => expectDone(await send('DELETE', `/api/jobs/${encodeURIComponent(id)}`)),
  };
}

/**
 * What places a job on the node that another ran on: every node has a resource of its own name, of which the smallest part is asked for.
 * Nothing where that job has not run yet.
 */
export function onNodeOf(job: RayJob | null): Pick<RaySubmission, 'entrypoint_resources'> {
  const address = job?.driver_agent_http_address ?? '';
  return URL.canParse(address) ? { entrypoint_resources: { [`node:${new URL(address).hostname.replace(/^\[|\]$/g, '')}`]: 0.001 } } : {};
}

/** The address without its last slash. Throws InputError for what is no address of a dashboard, or holds a password. */
export function rayAddress(address: string): string {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol))
    throw new InputError(`--address: got ${shown(address)}, expected the address of Ray's dashboard, like http://127.0.0.1:8265`);
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '')
    throw new InputError(
      '--address: holds more than a server and a path; what proves who you are comes from RAY_AUTH_TOKEN or RAY_JOB_HEADERS',
    );
  return url.href.replace(/\/+$/, '');
}

function secretHeaders(environment: NodeJS.ProcessEnv): { [name: string]: string } {
  const headers: { [name: string]: string } = { 'user-agent': `${product().name}/${product().version}` };
  if (environment.RAY_JOB_HEADERS) {
    let value: unknown;
    try {
      value = JSON.parse(environment.RAY_JOB_HEADERS);
    } catch {
      value = undefined;
    }
    const parsed = z.record(z.string().regex(/^[\w-]+$/), z.string()).safeParse(value);
    if (!parsed.success) throw new InputError('RAY_JOB_HEADERS: expected a JSON object of header names and texts');
    Object.assign(headers, parsed.data);
  }
  if (environment.RAY_AUTH_TOKEN) headers.authorization = `Bearer ${environment.RAY_AUTH_TOKEN.trim()}`;
  return headers;
}

interface Answer {
  url: URL;
  status: number;
  body: string;
}

interface Sending extends RayClientOptions {
  method: string;
  headers: { [name: string]: string };
  body: { type: string; bytes: Uint8Array } | undefined;
  retries: number;
}

async function sendAgain(url: URL, sending: Sending): Promise<Answer> {
  const { retries, backoffMs } = sending;
  for (let attempt = 0; ; attempt++) {
    let failure: string;
    try {
      const answer = await sendOnce(url, sending);
      if (answer.status < 500 || attempt >= retries) return answer;
      failure = '';
    } catch (error) {
      failure = error instanceof Error ? error.message || ((error as NodeJS.ErrnoException).code ?? error.name) : String(error);
    }
    if (attempt >= retries) throw new InputError(`${url.origin}: no answer (${failure}), tried ${attempt + 1} times`);
    await pause(attempt, backoffMs);
  }
}

function pause(attempt: number, backoffMs = 500): Promise<void> {
  return wait(Math.min(8000, backoffMs * 2 ** attempt));
}

/** Not fetch(): its Sec-Fetch headers make Ray take it for a browser, from which it accepts nothing but reading. */
function sendOnce(url: URL, { method, headers, body, idleMs = 60_000 }: Sending): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const send = url.protocol === 'https:' ? httpsRequest : httpRequest;
    const about = body === undefined ? {} : { 'content-type': body.type, 'content-length': body.bytes.length };
    const request = send(url, { method, headers: { ...headers, ...about }, timeout: idleMs }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => resolve({ url, status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString('utf8') }));
    });
    request.on('timeout', () => request.destroy(new Error(`no byte for ${idleMs / 1000} s`)));
    request.on('error', reject);
    request.end(body?.bytes);
  });
}

function answered<T>(schema: z.ZodType<T>, answer: Answer): T {
  expectDone(answer);
  let value: unknown;
  try {
    value = JSON.parse(answer.body);
  } catch {
    value = undefined;
  }
  const parsed = schema.safeParse(value);
  if (!parsed.success)
    throw new InputError(
      `${shownUrl(answer.url)}: answered ${shown(answer.body)}, expected what Ray's Jobs API answers; is it the dashboard's address?`,
    );
  return parsed.data;
}

/** Throws InputError unless the answer is 200; of a Python traceback only the last line is shown. */
function expectDone({ url, status, body }: Answer): void {
  if (status === 200) return;
  const hints: { [status: number]: string } = {
    401: '; RAY_AUTH_TOKEN is not set',
    403: '; RAY_AUTH_TOKEN holds another token than the cluster has',
    413: `; Ray takes at most ${LARGEST_PACKAGE} bytes a request`,
  };
  const said = body.trim().split('\n').at(-1)?.trim() ?? '';
  throw new InputError(
    `${shownUrl(url)}: the server answered ${status}${said === '' ? '' : ` (${shown(said, 200)})`}${hints[status] ?? ''}`,
  );
}

function shownUrl(url: URL): string {
  return `${url.origin}${url.pathname}`;
}

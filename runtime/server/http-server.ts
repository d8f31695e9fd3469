import rateLimit from '@fastify/rate-limit';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { createHash, timingSafeEqual } from 'node:crypto';
import { isIP } from 'node:net';
import type { Socket } from 'node:net';
import { answerBatch } from './batch.js';
import { InputError } from '../../src/core/errors.js';
import { OPERATIONS, type Operation, openApiDocument } from './openapi.js';
import { parseRequest } from './parse-request.js';
import { type ErrorCode, ServiceError } from './service-error.js';
import type { Service } from './service.js';
import { parseBody } from './strict-json.js';
import { SESSION_ID, batchRequest, observeRequest, openRequest, stopRequest, verdictRequest } from './wire.js';

export interface HttpOptions {
  /** Default 127.0.0.1. Any other address than a loopback one needs a token. */
  host?: string | undefined;
  /** Default 0: a free one. */
  port?: number | undefined;
  /** What clients have to send as `Authorization: Bearer …`. */
  token?: string | undefined;
  /** Names under which the service may be asked, besides loopback's and the address itself. */
  allowedHosts?: readonly string[] | undefined;
  /** Bytes of a body at most. Default 4 MiB. */
  bodyLimit?: number | undefined;
  /** Requests a minute and client address at most; null: no limit. Default 6,000. */
  requestsPerMinute?: number | null | undefined;
  /** Milliseconds between two comments that keep a stream open. Default 15,000. */
  keepAliveMillis?: number | undefined;
  /** Milliseconds that running requests may still take at shutdown. Default 10,000. */
  shutdownMillis?: number | undefined;
  /** The text of `/metrics`. */
  metrics: { contentType: string; text: () => Promise<string> };
  /** Told of every answered request. */
  onAnswered?: ((answered: { route: string; status: number; code: ErrorCode | null; seconds: number }) => void) | undefined;
  /** Pages by their path; no session is changed by them. */
  pages?: { readonly [path: string]: (parameter: string) => { html: string; status?: number } } | undefined;
}

export interface HttpServer {
  readonly address: string;
  readonly instance: FastifyInstance;
  /** Takes nothing new, ends what runs, and closes. */
  close(): Promise<void>;
}

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]', '::1']);
const SWEEP_MILLIS = 1000;
const LISTEN_ERRORS: { readonly [code: string]: string } = {
  EADDRINUSE: 'something else listens there',
  EACCES: 'no permission',
  EADDRNOTAVAIL: 'this machine has no such address',
  ENOTFOUND: 'no such host',
  ERR_SOCKET_BAD_PORT: 'expected a port from 0 to 65535',
};
/** A page may narrow it further: those of runs name their one script. */
const PAGE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; frame-ancestors 'none'";

/**
 * The service over HTTP. Throws InputError where it cannot listen there, and where an address beyond loopback is asked for without a token: whoever can reach the
 * service reads evidence and moves agents.
 */
export async function listen(service: Service, options: HttpOptions): Promise<HttpServer> {
  const { host = '127.0.0.1', port = 0, token, bodyLimit = 4 * 1024 * 1024, requestsPerMinute = 6000, shutdownMillis = 10_000 } = options;
  checkAddress(host, token);
  const instance = fastify({
    bodyLimit,
    logger: false,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    requestTimeout: 120_000,
    routerOptions: { maxParamLength: 256 },
    exposeHeadRoutes: false,
    clientErrorHandler: refuseMalformed,
    frameworkErrors: (error, request, reply) => void refuse(reply as FastifyReply, frameworkError(error), request as FastifyRequest),
  });
  instance.removeAllContentTypeParsers();
  instance.addContentTypeParser(/^application\/json\s*(;|$)/i, { parseAs: 'buffer', bodyLimit }, (request, body, done) => {
    const charset = /charset\s*=\s*"?([^\s;"]+)/i.exec(request.headers['content-type'] ?? '')?.[1];
    if (charset !== undefined && !/^utf-?8$/i.test(charset))
      return done(new ServiceError('bad_encoding', `charset ${charset}: expected UTF-8`, { field: 'content-type', expected: 'utf-8' }));
    // Many clients name the type of a body that they do not send.
    if (body.length === 0 && !TAKE_BODIES.has(request.method)) return done(null, undefined);
    try {
      done(null, parseBody(body as Buffer));
    } catch (error) {
      done(error as Error);
    }
  });
  const names = new Set([...LOOPBACK, host, bracketed(host), ...(options.allowedHosts ?? [])].map((name) => name.toLowerCase()));
  const wanted = token === undefined ? undefined : digest(token);
  const limited = requestsPerMinute === null ? undefined : await requestLimit(instance, requestsPerMinute);
  instance.addHook('onRequest', async (request) => {
    // Behind a name that was bound to this address by somebody else's page, the browser would send it here.
    if (isLoopback(host) && !names.has(hostName(request.headers.host)))
      throw new ServiceError('host_not_allowed', `host ${JSON.stringify(request.headers.host ?? '')}: is none of this service's names`, {
        field: 'host',
      });
    // Before the token is looked at: it cannot be guessed faster than requests may be made.
    await limited?.(request);
    if (wanted !== undefined && !FREE.has(pathOf(request)) && !authorised(request.headers.authorization, wanted))
      throw new ServiceError('unauthorized', 'expected a header authorization: Bearer with the token of this service', {
        field: 'authorization',
      });
  });
  // A client that is answered during shutdown must not keep its connection, which the shutdown would wait for.
  instance.addHook('onSend', async (_request, reply) => {
    if (service.draining) reply.header('connection', 'close');
  });
  instance.addHook('onResponse', async (request, reply) => {
    const code = (request as { refusedBy?: ErrorCode }).refusedBy ?? null;
    options.onAnswered?.({ route: request.routeOptions.url ?? 'none', status: reply.statusCode, code, seconds: reply.elapsedTime / 1000 });
  });
  instance.setErrorHandler((error, request, reply) => refuse(reply, asRefusal(error), request));
  instance.setNotFoundHandler((request, reply) => refuse(reply, unknownRoute(request), request));
  for (const operation of OPERATIONS)
    instance.route({
      method: operation.method.toUpperCase(),
      url: operation.path.replace('{session}', ':session'),
      handler: (request, reply) => answer(service, operation, request, reply, options),
    });
  instance.get('/openapi.json', () => openApiDocument());
  instance.get('/metrics', async (_request, reply) => reply.type(options.metrics.contentType).send(await options.metrics.text()));
  for (const [path, page] of Object.entries(options.pages ?? {}))
    instance.get(path, (request, reply) => {
      const { html, status = 200 } = page((request.params as { session?: string }).session ?? '');
      return reply
        .status(status)
        .type('text/html; charset=utf-8')
        .header('cache-control', 'no-store')
        .header('x-content-type-options', 'nosniff')
        .header('referrer-policy', 'no-referrer')
        .header('content-security-policy', PAGE_POLICY)
        .send(html);
    });
  const address = await instance.listen({ host, port }).catch(async (error: NodeJS.ErrnoException) => {
    await instance.close();
    throw error.code === undefined
      ? error
      : new InputError(`cannot listen on ${host}, port ${port}: ${LISTEN_ERRORS[error.code] ?? error.code}`);
  });
  const sweeper = setInterval(() => service.sweep(), SWEEP_MILLIS);
  sweeper.unref();
  return {
    address,
    instance,
    close: async () => {
      service.drain();
      clearInterval(sweeper);
      const timer = setTimeout(() => instance.server.closeAllConnections(), shutdownMillis);
      await instance.close();
      clearTimeout(timer);
    },
  };
}

/** Counts a request of its client's address. Throws ServiceError `rate_limited`. */
async function requestLimit(instance: FastifyInstance, max: number): Promise<(request: FastifyRequest) => Promise<void>> {
  // The plugin's own hook belongs to routes, which come behind every other check and leave out paths that there are not.
  await instance.register(rateLimit, { global: false, max, timeWindow: 60_000 });
  const counted = instance.createRateLimit({ allowList: (request) => FREE.has(pathOf(request)) });
  return async (request) => {
    const limit = await counted(request);
    if (limit.isAllowed || !limit.isExceeded) return;
    throw new ServiceError('rate_limited', `more than ${max} requests in a minute`, { retryAfter: limit.ttlInSeconds });
  };
}

const TAKE_BODIES = new Set(OPERATIONS.filter((one) => one.body).map((one) => one.method.toUpperCase()));
/** Asked by orchestrators, who have no token. */
const FREE = new Set(OPERATIONS.filter((one) => one.free).map((one) => one.path));

async function answer(
  service: Service,
  { id, status, body }: Operation,
  request: FastifyRequest,
  reply: FastifyReply,
  options: HttpOptions,
): Promise<unknown> {
  const { session = '' } = request.params as { session?: string };
  if (request.routeOptions.url?.includes(':session') && !SESSION_ID.test(session))
    throw new ServiceError(
      'session_unknown',
      'session: is not known here; an id has 1 to 64 letters, digits, dots, dashes or underscores',
      {
        field: 'session',
      },
    );
  if (body && request.headers['content-type'] === undefined && request.body === undefined)
    throw new ServiceError('bad_json', 'the body is empty', { expected: 'JSON' });
  reply.status(status);
  switch (id) {
    case 'openSession':
      return service.openSession(parseRequest(openRequest, request.body));
    case 'getSession':
      return service.get(session);
    case 'observe': {
      const asked = parseRequest(observeRequest, request.body);
      if (!/\btext\/event-stream\b/.test(request.headers.accept ?? '')) return service.observe(session, asked);
      return stream(reply, options, (send) =>
        service.observe(session, asked, { onMargin: (event) => send('margin', event) }).then((verdict) => send('verdict', verdict)),
      );
    }
    case 'verdict':
      return service.verdict(session, parseRequest(verdictRequest, request.body));
    case 'stop':
      parseRequest(stopRequest, request.body);
      return service.stop(session);
    case 'closeSession':
      return service.close(session);
    case 'batch':
      return answerBatch(service, parseRequest(batchRequest, request.body).requests);
    case 'health':
      return { status: 'ok' };
    default:
      if (service.draining) throw new ServiceError('shutting_down', 'the service is shutting down', { retryAfter: 5 });
      return { status: 'ready' };
  }
}

/** Server-sent events: `margin` as soon as it is known, `verdict` when the decider is done, or `error`; comments in between keep the way open. */
async function stream(
  reply: FastifyReply,
  { keepAliveMillis = 15_000 }: HttpOptions,
  work: (send: (event: string, data: unknown) => void) => Promise<void>,
): Promise<void> {
  reply.hijack();
  const { raw } = reply;
  raw.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-store', 'x-accel-buffering': 'no' });
  const timer = setInterval(() => raw.write(': still at work\n\n'), keepAliveMillis);
  const send = (event: string, data: unknown): void => {
    raw.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
  };
  try {
    await work(send);
  } catch (error) {
    const refusal = asRefusal(error);
    send('error', { status: refusal.status, ...refusal.body });
  } finally {
    clearInterval(timer);
    raw.end();
  }
}

function refuse(reply: FastifyReply, refusal: ServiceError, request: FastifyRequest): FastifyReply {
  (request as { refusedBy?: ErrorCode }).refusedBy = refusal.code;
  const { retryAfter } = refusal.place;
  if (retryAfter !== undefined) reply.header('retry-after', String(retryAfter));
  if (refusal.code === 'unauthorized') reply.header('www-authenticate', 'Bearer');
  if (refusal.code === 'method_not_allowed') reply.header('allow', refusal.place.expected ?? '');
  return reply.status(refusal.status).send(refusal.body);
}

/** What the framework refuses by itself, in our words. Anything unknown is our own fault, whose message stays inside. */
function asRefusal(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error;
  return frameworkError(error as { code?: string; statusCode?: number; message?: string });
}

function frameworkError(error: { code?: string; statusCode?: number; message?: string }): ServiceError {
  const { code, statusCode, message } = error;
  switch (code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return new ServiceError('body_too_large', 'the body is larger than this service takes');
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return new ServiceError('unsupported_media_type', 'expected a body of application/json', {
        field: 'content-type',
        expected: 'application/json',
      });
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return new ServiceError('bad_request', 'the body has another length than its header says', { field: 'content-length' });
    case 'FST_ERR_BAD_URL':
      return new ServiceError('bad_request', 'the path is not a well-formed one');
    case 'FST_ERR_MAX_PARAM_LENGTH':
      return new ServiceError('session_unknown', 'session: is not known here; an id has at most 64 characters', { field: 'session' });
    default:
      if (statusCode !== undefined && statusCode >= 400 && statusCode < 500)
        return new ServiceError('bad_request', message ?? 'not understood');
      process.emitWarning(error instanceof Error ? error : `hopgate serve: ${message ?? 'an unknown error'}`);
      return new ServiceError('internal', 'something failed inside the service; its standard error has more');
  }
}

function unknownRoute(request: FastifyRequest): ServiceError {
  const path = pathOf(request);
  const methods = [...new Set(OPERATIONS.filter((one) => matches(one.path, path)).map((one) => one.method.toUpperCase()))];
  if (methods.length === 0 && !['/openapi.json', '/metrics'].includes(path))
    return new ServiceError('not_found', 'there is nothing at this path');
  const allowed = methods.length === 0 ? 'GET' : methods.join(', ');
  return new ServiceError('method_not_allowed', `${request.method}: expected ${allowed}`, { expected: allowed, got: request.method });
}

function matches(pattern: string, path: string): boolean {
  const [wanted, given] = [pattern.split('/'), path.split('/')];
  return wanted.length === given.length && wanted.every((part, at) => part === given[at] || (part === '{session}' && given[at] !== ''));
}

function pathOf(request: FastifyRequest): string {
  return request.url.split('?', 1)[0] as string;
}

/** Requests that never become one: their connection is answered and closed. */
function refuseMalformed(error: Error & { code?: string }, socket: Socket): void {
  if (!socket.writable || error.code === 'ECONNRESET') return void socket.destroy();
  const refusal =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? new ServiceError('headers_too_large', 'the headers are larger than this service takes')
      : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? new ServiceError('bad_request', 'the request did not arrive in time')
        : new ServiceError('bad_request', 'this is no well-formed HTTP request');
  const body = JSON.stringify(refusal.body);
  socket.end(
    `HTTP/1.1 ${refusal.status} Refused\r\ncontent-type: application/json; charset=utf-8\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  );
}

/** Throws InputError for an address beyond loopback without a token. */
export function checkAddress(host: string, token: string | undefined): void {
  if (!isLoopback(host) && token === undefined)
    throw new InputError(`address ${host}: expected a token, which any other address than loopback needs`);
}

export function isLoopback(host: string): boolean {
  return LOOPBACK.has(host.toLowerCase()) || (isIP(host) === 4 && host.startsWith('127.'));
}

function bracketed(host: string): string {
  return isIP(host) === 6 ? `[${host}]` : host;
}

function hostName(header: string | undefined): string {
  return (header ?? '').replace(/:\d*$/, '').toLowerCase();
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

/** Compared as digests, in a time that does not tell how much of a token was right. */
function authorised(header: string | undefined, wanted: Buffer): boolean {
  const given = /^Bearer +(\S+)$/i.exec(header ?? '')?.[1];
  return given !== undefined && timingSafeEqual(digest(given), wanted);
}

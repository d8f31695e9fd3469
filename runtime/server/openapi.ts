import { z } from 'zod';
import { product } from '../../src/core/product.js';
import { type ErrorCode, ERROR_STATUS } from './service-error.js';
import {
  batchItem,
  batchReply,
  batchRequestDocument,
  claimInput,
  endReply,
  errorReply,
  evidence,
  evidenceItem,
  healthReply,
  marginEvent,
  observation,
  observeRequest,
  openRequest,
  SESSION_ID,
  sessionReply,
  stopReply,
  stopRequest,
  verdictRequest,
} from './wire.js';

const NAMED: readonly z.ZodType[] = [
  openRequest, observeRequest, verdictRequest, stopRequest, batchRequestDocument, batchItem, claimInput, evidence, evidenceItem,
  observation, marginEvent, sessionReply, endReply, stopReply, batchReply, healthReply, errorReply,
]; // prettier-ignore

/** One operation of the service: the routes are made from these, and so is the document. */
export interface Operation {
  method: 'get' | 'post' | 'delete';
  /** With `{session}` where a session's id stands. */
  path: string;
  id: string;
  summary: string;
  body?: z.ZodType;
  reply: z.ZodType;
  status: number;
  /** Answers as server-sent events too. */
  streams?: true;
  /** Without a token. */
  free?: true;
  errors: readonly ErrorCode[];
}

const body: readonly ErrorCode[] = [
  'bad_encoding',
  'bad_json',
  'duplicate_key',
  'too_deep',
  'invalid',
  'body_too_large',
  'unsupported_media_type',
];
const known: readonly ErrorCode[] = ['session_unknown', 'session_ended'];

export const OPERATIONS: readonly Operation[] = [
  {
    method: 'post',
    path: '/v1/sessions',
    id: 'openSession',
    summary: 'Opens one question.',
    body: openRequest,
    reply: sessionReply,
    status: 201,
    errors: [...body, 'session_exists', 'too_many_sessions', 'shutting_down', 'decider_failed'],
  },
  {
    method: 'get',
    path: '/v1/sessions/{session}',
    id: 'getSession',
    summary: 'Where a question stands.',
    reply: sessionReply,
    status: 200,
    errors: known,
  },
  {
    method: 'post',
    path: '/v1/sessions/{session}/observe',
    id: 'observe',
    summary: 'What one search brought; skip or call, and what stopped the run.',
    body: observeRequest,
    reply: observation,
    status: 200,
    streams: true,
    errors: [...body, ...known, 'step_conflict', 'session_busy', 'decider_failed'],
  },
  {
    method: 'post',
    path: '/v1/sessions/{session}/verdict',
    id: 'verdict',
    summary: 'The verdict of a decider of the client’s, after an observation that says call.',
    body: verdictRequest,
    reply: observation,
    status: 200,
    errors: [...body, ...known, 'step_conflict', 'no_verdict_awaited', 'session_busy'],
  },
  {
    method: 'post',
    path: '/v1/sessions/{session}/stop',
    id: 'stop',
    summary: 'The agent is about to end by itself: a message to go on with, or the end.',
    body: stopRequest,
    reply: stopReply,
    status: 200,
    errors: [...body, ...known],
  },
  {
    method: 'delete',
    path: '/v1/sessions/{session}',
    id: 'closeSession',
    summary: 'Closes a question, and says how it went.',
    reply: endReply,
    status: 200,
    errors: known,
  },
  {
    method: 'post',
    path: '/v1/batch',
    id: 'batch',
    summary: 'Several requests at once, each with a result of its own.',
    body: batchRequestDocument,
    reply: batchReply,
    status: 200,
    errors: body,
  },
  {
    method: 'get',
    path: '/healthz',
    id: 'health',
    summary: 'The process answers.',
    reply: healthReply,
    status: 200,
    free: true,
    errors: [],
  },
  {
    method: 'get',
    path: '/readyz',
    id: 'ready',
    summary: 'Requests are taken.',
    reply: healthReply,
    status: 200,
    free: true,
    errors: ['shutting_down'],
  },
];

/** Refusals that any request may meet. */
const ANYWHERE: readonly ErrorCode[] = ['bad_request', 'unauthorized', 'host_not_allowed', 'rate_limited'];

/** The service's OpenAPI 3.1 document, made from the schemas that it parses requests with. */
export function openApiDocument(): { [field: string]: unknown } {
  const schemas = namedSchemas();
  const paths: { [path: string]: { [method: string]: unknown } } = {};
  for (const operation of OPERATIONS) {
    const { method, path, id, summary, streams, free } = operation;
    const entry = (paths[path] ??= {});
    entry[method] = {
      operationId: id,
      summary,
      ...(path.includes('{session}') && {
        parameters: [{ name: 'session', in: 'path', required: true, schema: { type: 'string', pattern: SESSION_ID.source } }],
      }),
      ...(operation.body && { requestBody: { required: true, content: { 'application/json': { schema: named(operation.body) } } } }),
      security: free ? [] : [{ token: [] }],
      responses: {
        [operation.status]: {
          description: 'done',
          content: {
            'application/json': { schema: named(operation.reply) },
            ...(streams && {
              'text/event-stream': { schema: { type: 'string' }, 'x-events': { margin: named(marginEvent), verdict: named(observation) } },
            }),
          },
        },
        ...errorResponses([...ANYWHERE, ...operation.errors]),
      },
    };
  }
  return {
    openapi: '3.1.0',
    info: { title: 'hopgate', version: product().version, description: 'A coverage gate for retrieval agents.' },
    paths,
    components: {
      schemas,
      securitySchemes: { token: { type: 'http', scheme: 'bearer' } },
    },
  };
}

function errorResponses(codes: readonly ErrorCode[]): { [status: string]: unknown } {
  const byStatus = new Map<number, ErrorCode[]>();
  for (const code of new Set(codes)) byStatus.set(ERROR_STATUS[code], [...(byStatus.get(ERROR_STATUS[code]) ?? []), code]);
  const schema = named(errorReply);
  return Object.fromEntries(
    [...byStatus].map(([status, list]) => [status, { description: list.join(', '), content: { 'application/json': { schema } } }]),
  );
}

/** Every schema with a name of its own, each written once; they refer to each other by it. */
function namedSchemas(): { [name: string]: unknown } {
  const registry = z.registry<{ id: string }>();
  for (const schema of NAMED) registry.add(schema, { id: nameOf(schema) });
  const { schemas } = z.toJSONSchema(registry, { io: 'input', uri: (id) => `#/components/schemas/${id}`, unrepresentable: 'any' });
  return Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, { ...schema, $schema: undefined, $id: undefined }]));
}

function named(schema: z.ZodType): { $ref: string } {
  return { $ref: `#/components/schemas/${nameOf(schema)}` };
}

function nameOf(schema: z.ZodType): string {
  return schema.meta()?.id as string;
}

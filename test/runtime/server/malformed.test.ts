import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Random, random } from '../../../src/core/random.js';
import { type Asked, ask, serving } from '../../support/serving.js';

interface Schema {
  type?: string | string[];
  $ref?: string;
  anyOf?: Schema[];
  oneOf?: Schema[];
  const?: unknown;
  enum?: unknown[];
  properties?: { [name: string]: Schema };
  required?: string[];
  items?: Schema;
  minimum?: number;
  minLength?: number;
  maxLength?: number;
  pattern?: string;
}

interface Document {
  paths: {
    [path: string]: { [method: string]: { requestBody?: { content: { 'application/json': { schema: Schema } } }; security: unknown[] } };
  };
  components: { schemas: { [name: string]: Schema } };
}

interface Malformed extends Asked {
  is: string;
  method: string;
  path: string;
  /** Statuses that it may be answered with; never 500. */
  statuses: readonly number[];
  /** Codes that say all there is to say; any other needs a field. */
  reasons?: readonly string[];
}

const COUNT = 1000;
const TOKEN = 'a-token-for-tests';
const BODY_LIMIT = 64 * 1024;
/** Codes that name no field, because none is to blame. */
const WITHOUT_FIELD = new Set([
  'body_too_large', 'bad_encoding', 'unauthorized', 'bad_json', 'bad_request', 'not_found', 'method_not_allowed',
  'headers_too_large', 'unsupported_media_type', 'host_not_allowed', 'too_deep', 'rate_limited',
]); // prettier-ignore

test(`${COUNT} malformed requests, made from the OpenAPI document: none crashes the service or is a 500, and each is told its field or its reason`, async (t) => {
  const { address, running } = await serving(() => false, { token: TOKEN, bodyLimit: BODY_LIMIT });
  t.after(() => running.close());
  const headers = { authorization: `Bearer ${TOKEN}` };
  const document = (await ask(address, 'GET', '/openapi.json', { headers })).body as unknown as Document;
  const seen = new Map<string, number>();
  const wrong: string[] = [];
  for (let at = 0; at < COUNT; at++) {
    // A session that lives, so that what is refused is refused for what is wrong with it.
    if (at % 50 === 0)
      await ask(address, 'POST', '/v1/sessions', { json: { question: 'Who?', session: `live${Math.floor(at / 50)}` }, headers });
    const one = malformed(document, random(13, 'malformed', at), `live${Math.floor(at / 50)}`);
    const reply = await ask(address, one.method, one.path, { ...one, headers: { ...headers, ...one.headers } }).catch(
      (error: Error) => error,
    );
    if (reply instanceof Error) {
      // A body that is far too large may be cut off while it is still being sent, which is an answer too.
      if (!/EPIPE|ECONNRESET/.test(String((reply as NodeJS.ErrnoException).code))) wrong.push(`${at} ${one.is}: ${reply.message}`);
      continue;
    }
    const error = (reply.body as { error?: { code: string; message: string; field?: string } }).error;
    const place = `${at} ${one.is}: ${one.method} ${one.path.slice(0, 80)} → ${reply.status} ${reply.text.slice(0, 200)}`;
    seen.set(`${one.is}: ${error?.code}`, (seen.get(`${one.is}: ${error?.code}`) ?? 0) + 1);
    if (!one.statuses.includes(reply.status)) wrong.push(`status: ${place}`);
    else if (!error || error.message === '') wrong.push(`no error: ${place}`);
    // A body that is no object has no field.
    else if (error.field === undefined && !WITHOUT_FIELD.has(error.code) && !error.message.startsWith('the body: '))
      wrong.push(`no field: ${place}`);
    else if (one.reasons && !one.reasons.includes(error.code)) wrong.push(`another reason: ${place}`);
  }
  for (const [what, count] of seen) t.diagnostic(`${count} ${what}`);
  assert.deepEqual(wrong, []);
  assert.ok(seen.size > 20, String(seen.size));
  // It still does its work.
  const opened = await ask(address, 'POST', '/v1/sessions', { json: { question: 'Who?', session: 'after' }, headers });
  assert.equal(opened.status, 201);
  const seenAfter = await ask(address, 'POST', '/v1/sessions/after/observe', { json: { evidence: ['1,0,0'] }, headers });
  assert.deepEqual([seenAfter.status, seenAfter.body.loop], [200, 1]);
});

function malformed(document: Document, draw: Random, session: string): Malformed {
  const bodies = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, { requestBody }]) =>
      requestBody
        ? [
            {
              method: method.toUpperCase(),
              path: path.replace('{session}', session),
              schema: requestBody.content['application/json'].schema,
            },
          ]
        : [],
    ),
  );
  const { method, path, schema } = pick(bodies, draw);
  const resolve = (one: Schema): Schema =>
    one.$ref === undefined ? one : resolve(document.components.schemas[one.$ref.split('/').at(-1) as string] as Schema);
  const good = valueOf(schema, resolve, draw) as { [field: string]: unknown };
  const text = JSON.stringify(good);
  const base = { method, path };
  const kinds: (() => Malformed)[] = [
    () => ({ ...base, is: 'wrong type', json: spoilt(good, draw), statuses: [400] }),
    () => ({ ...base, is: 'wrong type', json: spoilt(good, draw), statuses: [400] }),
    () => ({ ...base, is: 'unknown field', json: { ...good, [`x${draw.int(1000)}`]: 1 }, statuses: [400], reasons: ['invalid'] }),
    () => ({ ...base, is: 'no object', json: pick([null, 7, 'text', [], true], draw), statuses: [400] }),
    () => ({ ...base, is: 'missing field', json: without(good, resolve(schema).required ?? [], draw), statuses: [400, 409] }),
    () => ({
      ...base,
      is: 'duplicate key',
      raw: `{${['a', 'a'].map((name) => `"${name}":${draw.int(9)}`).join(',')}${text === '{}' ? '' : ','}${text.slice(1)}`,
      statuses: [400],
      reasons: ['duplicate_key'],
    }),
    () => ({
      ...base,
      is: 'prototype',
      raw: `{"__proto__":{"x":1}${text === '{}' ? '' : ','}${text.slice(1)}`,
      statuses: [400],
      reasons: ['invalid'],
    }),
    () => ({ ...base, is: 'deep', raw: `{"a":${'['.repeat(2000)}${']'.repeat(2000)}}`, statuses: [400], reasons: ['too_deep'] }),
    () => ({
      ...base,
      is: 'huge',
      raw: Buffer.alloc(BODY_LIMIT + 1 + draw.int(400_000), 0x20),
      statuses: [413],
      reasons: ['body_too_large'],
    }),
    () => ({ ...base, is: 'bad UTF-8', raw: withBadByte(text, draw), statuses: [400], reasons: ['bad_encoding'] }),
    () => ({ ...base, is: 'half a character', raw: `{"question":"\\ud8${draw.int(10)}0 x"}`, statuses: [400] }),
    () => ({ ...base, is: 'cut off', raw: text.slice(0, draw.int(text.length)), statuses: [400], reasons: ['bad_json'] }),
    () => ({
      ...base,
      is: 'no JSON',
      raw: pick(['{]', 'NaN', "{'a':1}", '{"a":1,}', '\u0000', '<xml/>'], draw),
      statuses: [400],
      reasons: ['bad_json'],
    }),
    () => ({
      ...base,
      is: 'media type',
      raw: text,
      headers: { 'content-type': pick(['text/plain', 'application/x-www-form-urlencoded', 'application/jsonx', 'x'], draw) },
      statuses: [415],
      reasons: ['unsupported_media_type'],
    }),
    () => ({
      ...base,
      is: 'charset',
      raw: text,
      headers: { 'content-type': 'application/json; charset=utf-16' },
      statuses: [400],
      reasons: ['bad_encoding'],
    }),
    () => ({
      ...base,
      is: 'authorization',
      json: good,
      headers: { authorization: pick(['', 'Bearer', `Bearer ${TOKEN}x`, `Basic ${TOKEN}`, 'Bearer ' + 'x'.repeat(draw.int(4000))], draw) },
      statuses: [401],
      reasons: ['unauthorized'],
    }),
    () => ({ ...base, is: 'path trick', path: trickOf(draw, session), raw: '{}', statuses: [400, 404, 405] }),
    () => ({
      ...base,
      is: 'method',
      method: pick(['PUT', 'PATCH', 'DELETE', 'OPTIONS'], draw),
      path: '/v1/batch',
      statuses: [405],
      reasons: ['method_not_allowed'],
    }),
    () => ({
      ...base,
      is: 'unknown session',
      path: `/v1/sessions/none${draw.int(1e6)}/observe`,
      json: { evidence: [] },
      statuses: [404],
      reasons: ['session_unknown'],
    }),
    () => ({
      ...base,
      is: 'long path',
      path: `/v1/sessions/${'s'.repeat(65 + draw.int(3000))}`,
      method: 'GET',
      statuses: [404],
      reasons: ['session_unknown'],
    }),
  ];
  return pick(kinds, draw)();
}

function trickOf(draw: Random, session: string): string {
  return pick(
    [
      '/v1/sessions/../../etc/passwd',
      '/v1/sessions/..%2f..%2fetc%2fpasswd/observe',
      '/v1/sessions/%2e%2e/observe',
      '/v1/sessions/%00/observe',
      `/v1/sessions/${session}%00/observe`,
      '/v1/sessions/%ff%fe/observe',
      '/v1/sessions/%/observe',
      '/v1//sessions',
      '/v1/sessions/',
      '/V1/SESSIONS',
      `/v1/sessions/${session}/observe/../verdict`,
      `/v1/sessions/${session}/observe;x=1`,
      '/v1/sessions/<script>/observe'.replaceAll('<', '%3C').replaceAll('>', '%3E'),
      '//evil.example/v1/sessions',
      '/__proto__',
      '/v1/sessions/__proto__x/observe/constructor',
    ],
    draw,
  );
}

/** A value that follows its schema, small. */
function valueOf(schema: Schema, resolve: (one: Schema) => Schema, draw: Random): unknown {
  const one = resolve(schema);
  const branches = one.anyOf ?? one.oneOf;
  if (branches) return valueOf(pick(branches, draw), resolve, draw);
  if (one.const !== undefined) return one.const;
  if (one.enum) return pick(one.enum, draw);
  const type = Array.isArray(one.type) ? pick(one.type, draw) : one.type;
  switch (type) {
    case 'string':
      return one.pattern === undefined ? `text ${draw.int(10)},1,0` : `s${draw.int(1000)}`;
    case 'integer':
    case 'number':
      return Math.max(one.minimum ?? 0, 1);
    case 'boolean':
      return draw.int(2) === 1;
    case 'null':
      return null;
    case 'array':
      return Array.from({ length: 1 + draw.int(2) }, () => valueOf(one.items ?? {}, resolve, draw));
    default: {
      const required = new Set(one.required);
      const fields = Object.entries(one.properties ?? {}).filter(([name]) => required.has(name) || draw.int(3) === 0);
      return Object.fromEntries(fields.map(([name, inner]) => [name, valueOf(inner, resolve, draw)]));
    }
  }
}

/** A value with one of its fields, at any depth, of a type that no field has: an object with a number for a name. */
function spoilt(value: { [field: string]: unknown }, draw: Random): unknown {
  const names = Object.keys(value);
  // Items of a batch are answered one by one, so what is wrong in one of them is no refusal of the whole.
  if (names.length === 0 || 'requests' in value) return pick([{ requests: 7 }, { evidence: {} }, [value], { covered: 'yes' }], draw);
  const name = pick(names, draw);
  return { ...value, [name]: pick([{ '7': 7 }, [[[7]]], { nested: { deeper: [] } }], draw) };
}

function without(value: { [field: string]: unknown }, required: readonly string[], draw: Random): unknown {
  if (required.length === 0) return { nothing: draw.int(10) };
  const gone = pick(required, draw);
  return Object.fromEntries(Object.entries(value).filter(([name]) => name !== gone));
}

function withBadByte(text: string, draw: Random): Buffer {
  const bytes = Buffer.from(`{"question":"${'x'.repeat(20)}"}${text}`);
  bytes[13 + draw.int(20)] = pick([0xff, 0xc0, 0x80, 0xed], draw);
  return bytes;
}

function pick<T>(from: readonly T[], draw: Random): T {
  return from[draw.int(from.length)] as T;
}

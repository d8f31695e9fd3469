import type { z } from 'zod';
import { shown } from '../../src/core/errors.js';
import { ServiceError } from './service-error.js';
import { fieldPath } from './strict-json.js';

type Issue = z.core.$ZodIssue;

/** A value as its schema types it. Throws ServiceError `invalid` (or `bad_encoding`) that names the first field that is wrong. */
export function parseRequest<T>(schema: z.ZodType<T>, value: unknown, at: readonly PropertyKey[] = []): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const issue = closest(parsed.error.issues[0] as Issue);
  const path = [...issue.path];
  const extra = issue.code === 'unrecognized_keys' ? issue.keys[0] : undefined;
  if (extra !== undefined) path.push(extra);
  const field = fieldPath([...at, ...path]);
  const given = valueAt(value, path);
  const got = given === undefined ? 'nothing' : shown(given);
  const expected = expectedBy(issue, schema);
  throw new ServiceError(
    isIllFormed(given) ? 'bad_encoding' : 'invalid',
    `${field === '' ? 'the body' : field}: got ${got}, expected ${expected}`,
    {
      ...(field !== '' && { field }),
      expected,
      got,
    },
  );
}

/** What of a union's branches is wrong: of the branch that the value gets furthest in. */
function closest(issue: Issue): Issue {
  if (issue.code !== 'invalid_union') return issue;
  const inside = issue.errors
    .map((branch) => branch[0])
    .filter((one) => one !== undefined)
    .map((one) => closest({ ...one, path: [...issue.path, ...one.path] }))
    // An issue at the union's own place says only that the branch is another type's.
    .filter((one) => one.path.length > issue.path.length || one.code !== 'invalid_type');
  return inside.toSorted((a, b) => b.path.length - a.path.length)[0] ?? issue;
}

function expectedBy(issue: Issue, schema: z.ZodType): string {
  switch (issue.code) {
    case 'invalid_type':
      return issue.expected === 'int' ? 'a whole number' : article(issue.expected);
    case 'invalid_value':
      return issue.values.length === 1 ? shown(issue.values[0]) : `one of ${issue.values.map((one) => shown(one)).join(', ')}`;
    case 'too_small':
      return `${issue.inclusive === false ? 'more than' : 'at least'} ${issue.minimum}${unit(issue.origin)}`;
    case 'too_big':
      return `${issue.inclusive === false ? 'less than' : 'at most'} ${issue.maximum}${unit(issue.origin)}`;
    case 'unrecognized_keys':
      return `one of the fields ${fieldsAt(schema, issue.path)}`;
    case 'invalid_union':
      return issue.errors.length === 0 ? 'one of the kinds of the schema' : branches(issue);
    default:
      return issue.message;
  }
}

function branches(issue: Issue): string {
  if (issue.code !== 'invalid_union') return issue.message;
  const kinds = issue.errors.map((branch) => branch[0]).map((one) => (one?.code === 'invalid_type' ? article(one.expected) : one?.message));
  return [...new Set(kinds.filter((one) => one !== undefined))].join(' or ');
}

function article(kind: string): string {
  return kind === 'array' ? 'a list' : kind === 'object' ? 'an object' : kind === 'null' ? 'null' : `a ${kind}`;
}

function unit(origin: string): string {
  return origin === 'string' ? ' characters' : origin === 'array' ? ' items' : '';
}

/** Names of the object that an unknown field stands in, where the way to it leads through plain objects. */
function fieldsAt(schema: z.ZodType, path: readonly PropertyKey[]): string {
  let found: unknown = schema;
  for (const part of path) found = partOf(found, part);
  const shape = shapeOf(found);
  return shape === undefined ? 'of the schema' : Object.keys(shape).join(', ');
}

interface Inner {
  shape?: { [name: string]: unknown };
  element?: unknown;
  options?: unknown[];
  unwrap?: () => unknown;
}

function partOf(schema: unknown, part: PropertyKey): unknown {
  const inner = schema as Inner | undefined;
  if (inner?.shape) return inner.shape[String(part)];
  if (typeof part === 'number' && inner?.element) return inner.element;
  if (inner?.options) return inner.options.map((one) => partOf(one, part)).find((one) => one !== undefined);
  return inner?.unwrap ? partOf(inner.unwrap(), part) : undefined;
}

function shapeOf(schema: unknown): { [name: string]: unknown } | undefined {
  const inner = schema as Inner | undefined;
  if (inner?.shape) return inner.shape;
  if (inner?.options) return inner.options.map((one) => shapeOf(one)).find((one) => one !== undefined);
  return inner?.unwrap ? shapeOf(inner.unwrap()) : undefined;
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  let found = value;
  for (const part of path) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, part)) return undefined;
    found = (found as { [part: PropertyKey]: unknown })[part];
  }
  return found;
}

/** Half a surrogate pair, which `\ud800` in JSON can write and UTF-8 cannot. */
function isIllFormed(value: unknown): boolean {
  return typeof value === 'string' && !value.isWellFormed();
}

import { z } from 'zod';
import { shown } from '../../src/core/errors.js';
import type { HopRecord } from '../../src/core/records.js';
import type { SkipReason } from '../quarantine.js';

/** A record that cannot be used; the reader turns it into a quarantine entry. */
export class BadRecord extends Error {
  readonly reason: SkipReason;
  readonly field: string | undefined;

  constructor(reason: SkipReason, message: string, field?: string) {
    super(message);
    this.name = 'BadRecord';
    this.reason = reason;
    this.field = field;
  }
}

/** What a reader makes of one record: everything but its place in the file. `id` is undefined where the record has none. */
export interface ReadRecord extends Omit<HopRecord, 'question_id' | 'row'> {
  id: string | undefined;
  /** The row that the record itself names (our own records), else undefined. */
  ownRow: number | undefined;
  /** Something in the record that was passed over: reason and detail. */
  repairs: { reason: string; detail: string; field: string }[];
}

/** From one decoded record of a file to ours. Throws BadRecord that names the field. */
export type Reader = (value: unknown) => ReadRecord;

/** Parses a value with a schema; the first thing that is wrong with it becomes a BadRecord with the field's path. */
export function parseField<T>(schema: z.ZodType<T>, value: unknown, field = ''): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const path = fieldPath(field, issue?.path ?? []);
  throw new BadRecord('bad_field', `got ${shown(at(value, issue?.path ?? []), 60)}, ${expectation(issue)}`, path === '' ? undefined : path);
}

/**
 * The hub stores a list of objects as one object of lists, `{ title: [a, b], sent_id: [0, 1] }`. Gives back the list of objects, and
 * every other value as it is.
 */
export function listOfObjects(value: unknown, field: string): unknown {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return value;
  const columns = Object.entries(value as { [name: string]: unknown });
  const [first] = columns;
  if (!first) return [];
  for (const [name, column] of columns) {
    if (!Array.isArray(column)) throw new BadRecord('bad_field', `got ${shown(column, 60)}, expected a list`, `${field}.${name}`);
    const length = (first[1] as unknown[]).length;
    if (column.length !== length)
      throw new BadRecord('bad_field', `got ${column.length} values, expected ${length} as in ${field}.${first[0]}`, `${field}.${name}`);
  }
  return (first[1] as unknown[]).map((_, at) => Object.fromEntries(columns.map(([name, column]) => [name, (column as unknown[])[at]])));
}

/** An id as text; undefined where there is none. */
export const idField = z
  .union([z.string(), z.number()], { error: 'expected an id (text or number)' })
  .nullish()
  .transform((id) => (id === null || id === undefined || id === '' ? undefined : String(id)));

/** Text that may be missing; null then. */
export const optionalText = z
  .string()
  .nullish()
  .transform((value) => value ?? null);

function fieldPath(prefix: string, path: readonly PropertyKey[]): string {
  return path.reduce<string>(
    (soFar, part) => (typeof part === 'number' ? `${soFar}[${part}]` : soFar === '' ? String(part) : `${soFar}.${String(part)}`),
    prefix,
  );
}

function at(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (inner, part) => (inner === null || typeof inner !== 'object' ? undefined : (inner as { [key: PropertyKey]: unknown })[part]),
    value,
  );
}

function expectation(issue: z.core.$ZodIssue | undefined): string {
  if (issue?.code === 'invalid_type') return `expected ${issue.expected === 'array' ? 'a list' : issue.expected}`;
  return issue?.message ?? 'invalid';
}

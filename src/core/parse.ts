import type { z } from 'zod';
import { InputError, type Place, shown } from './errors.js';

/** An outside value, known to be what `schema` says. Throws InputError with the first thing that is not, and the field it stands in. */
export function parsed<Schema extends z.ZodType>(schema: Schema, value: unknown, place: Place = {}): z.infer<Schema> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const issue = result.error.issues[0];
  throw new InputError(issue?.message ?? 'invalid', { ...place, field: issue?.path.join('.') || undefined });
}

/** A file's whole content as JSON. Throws InputError. */
export function parsedJson<Schema extends z.ZodType>(schema: Schema, content: string, place: Place): z.infer<Schema> {
  let value: unknown;
  try {
    value = JSON.parse(content);
  } catch (error) {
    throw new InputError(`not JSON (${(error as Error).message})`, place);
  }
  return parsed(schema, value, place);
}

/** One of JSON lines. Throws InputError. */
export function parsedLine<Schema extends z.ZodType>(schema: Schema, text: string, place: Place): z.infer<Schema> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new InputError(`got ${shown(text, 60)}, expected one JSON object`, place);
  }
  return parsed(schema, value, place);
}

import { readFileSync } from 'node:fs';
import type { z } from 'zod';
import { parsed } from './parse.js';
import { InputError } from './errors.js';

/** Reads a registry of published files. Throws InputError that names the field. */
export function readRegistry<Schema extends z.ZodType>(file: string, schema: Schema): z.infer<Schema> {
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    throw new InputError(`cannot be read as JSON (${(error as Error).message})`, { file });
  }
  return parsed(schema, value, { file });
}

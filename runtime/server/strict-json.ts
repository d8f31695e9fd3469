import { shown } from '../../src/core/errors.js';
import { ServiceError } from './service-error.js';

/** Levels of objects and lists that a body may have; the deepest that a schema takes is 5. */
export const MAX_DEPTH = 32;

/** Names that reach a prototype in careless code; no schema has them. */
const RESERVED = new Set(['__proto__', 'constructor', 'prototype']);

/**
 * The value of a request's body. JSON.parse alone would take the last of two equal keys, make replacement characters of bad bytes and let
 * `__proto__` through: a gate that follows such a body follows another than the client meant.
 *
 * @throws ServiceError `bad_encoding`, `bad_json`, `too_deep`, `duplicate_key` or `invalid`
 */
export function parseBody(bytes: Uint8Array): unknown {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new ServiceError('bad_encoding', `the body is not UTF-8 from byte ${firstBadByte(bytes)} on`, { expected: 'UTF-8' });
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new ServiceError('bad_json', text === '' ? 'the body is empty' : `the body is not JSON: ${(error as Error).message}`, {
      expected: 'JSON',
    });
  }
  checkKeys(text);
  return value;
}

interface Level {
  /** Keys so far; undefined in a list. */
  keys: Set<string> | undefined;
  /** The key or index that the walk is at. */
  at: string | number;
}

/** Walks a text that JSON.parse has taken: strings and brackets are all that has to be told apart. */
function checkKeys(text: string): void {
  const open: Level[] = [];
  for (let i = 0; i < text.length; i++) {
    const char = text[i];
    if (char === '{' || char === '[') {
      open.push({ keys: char === '{' ? new Set() : undefined, at: char === '{' ? '' : 0 });
      if (open.length > MAX_DEPTH)
        throw new ServiceError('too_deep', `the body has over ${MAX_DEPTH} levels`, {
          // The first levels name the field; all of them would be as long as the body.
          field: pathOf(open.slice(0, 3)),
          expected: `at most ${MAX_DEPTH} levels`,
        });
    } else if (char === '}' || char === ']') {
      open.pop();
    } else if (char === ',') {
      const level = open.at(-1) as Level;
      if (typeof level.at === 'number') level.at++;
    } else if (char === '"') {
      const end = closingQuote(text, i);
      const level = open.at(-1);
      if (level?.keys && isKey(text, end)) takeKey(open, level, JSON.parse(text.slice(i, end + 1)) as string);
      i = end;
    }
  }
}

function takeKey(open: readonly Level[], level: Level, key: string): void {
  level.at = key;
  const field = pathOf(open);
  if (level.keys?.has(key)) throw new ServiceError('duplicate_key', `${field}: stands twice`, { field, expected: 'each key once' });
  if (RESERVED.has(key)) throw new ServiceError('invalid', `${field}: is no field`, { field, expected: 'a field of the schema' });
  level.keys?.add(key);
}

function closingQuote(text: string, opening: number): number {
  for (let i = opening + 1; ; i++) {
    if (text[i] === '\\') i++;
    else if (text[i] === '"') return i;
  }
}

/** A string is a key where a colon follows it. */
function isKey(text: string, end: number): boolean {
  let i = end + 1;
  while (text[i] === ' ' || text[i] === '\n' || text[i] === '\r' || text[i] === '\t') i++;
  return text[i] === ':';
}

function pathOf(open: readonly Level[]): string {
  return fieldPath(open.map(({ at }) => at));
}

/** `evidence[3].title`; a key that is no plain name is quoted and cut. */
export function fieldPath(path: readonly PropertyKey[]): string {
  let text = '';
  for (const part of path) {
    if (typeof part === 'number') text += `[${part}]`;
    else if (/^\w{1,64}$/.test(String(part))) text += text === '' ? String(part) : `.${String(part)}`;
    else text += `[${shown(String(part), 40)}]`;
  }
  return text;
}

/** Where the longest well-formed beginning ends. */
function firstBadByte(bytes: Uint8Array): number {
  let [low, high] = [0, bytes.length];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (isUtf8Beginning(bytes.subarray(0, middle))) low = middle;
    else high = middle - 1;
  }
  return low;
}

function isUtf8Beginning(bytes: Uint8Array): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: true });
    return true;
  } catch {
    return false;
  }
}

import { InputError, shown } from '../core/errors.js';

/**
 * A flag's text as the number that it writes out: decimal digits, with a point or an exponent. Throws InputError that shows the text: an
 * empty one is no zero, and Infinity or NaN is nothing that a manifest could keep.
 */
export function numberFlag(name: string, text: string): number {
  const value = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text) ? Number(text) : NaN;
  if (!Number.isFinite(value)) throw new InputError(`--${name}: got ${shown(text)}, expected a number`);
  return value;
}

/** `--seed`. Throws InputError for what is no whole number that a manifest can keep exactly. */
export function seedFlag(text: string): number {
  const value = numberFlag('seed', text);
  if (!Number.isSafeInteger(value)) throw new InputError(`--seed: got ${shown(text)}, expected a whole number of at most 2^53 − 1`);
  return value;
}

/** A flag's whole number of at least `least`. */
export function wholeNumber(name: string, value: unknown, least = 1): number {
  if (!(Number.isSafeInteger(value) && (value as number) >= least))
    throw new InputError(
      `--${name}: got ${Number.isNaN(value) ? 'no number' : shown(value)}, expected a whole number of at least ${least}`,
    );
  return value as number;
}

/** A flag's number in [low, high]. */
export function numberIn(name: string, value: unknown, [low, high]: readonly [number, number]): number {
  if (!(typeof value === 'number' && Number.isFinite(value) && value >= low && value <= high))
    throw new InputError(
      `--${name}: got ${Number.isNaN(value) ? 'no number' : shown(value)}, expected a number ${high === Infinity ? `of at least ${low}` : `in [${low}, ${high}]`}`,
    );
  return value;
}

export interface RowRange {
  /** First row, from 0. */
  from: number;
  /** First row that is no longer part of it. */
  to: number;
}

/** `a..b`: rows a to b − 1, counted from 0; either end may be left out. */
export function rowRange(text: string | undefined): RowRange {
  if (text === undefined) return { from: 0, to: Infinity };
  const match = /^(\d*)\.\.(\d*)$/.exec(text);
  const [from, to] = match ? [Number(match[1] || 0), match[2] ? Number(match[2]) : Infinity] : [NaN, NaN];
  if (!match || text === '..' || !(from < to))
    throw new InputError(`--rows: got ${shown(text)}, expected a..b with a < b (rows a to b − 1, counted from 0), a.. or ..b`);
  return { from, to };
}

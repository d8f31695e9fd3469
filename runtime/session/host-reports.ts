import { InputError, shown } from '../../src/core/errors.js';
import type { LiveVerdict } from '../deciders/live.js';
import { KnownFailure } from './gate-errors.js';

/** Checks the verdict that a host hands in. Throws InputError. */
export function checkVerdict(covered: unknown, p: unknown, tokens: unknown): void {
  if (typeof covered !== 'boolean') throw new InputError(`verdict: got covered ${shown(covered)}, expected a boolean`);
  if (p !== null && !(typeof p === 'number' && p >= 0 && p <= 1))
    throw new InputError(`verdict: got p ${shown(p)}, expected a probability`);
  if (!(typeof tokens === 'number' && Number.isFinite(tokens) && tokens >= 0))
    throw new InputError(`verdict: got tokens ${shown(tokens)}, expected a number from 0`);
}

/** Checks what a host says of a search. Throws InputError. */
export function checkSearch(query: unknown, subAnswer: unknown): void {
  if (typeof query !== 'string') throw new InputError(`query: got ${shown(query)}, expected a text`);
  if (subAnswer !== null && typeof subAnswer !== 'string')
    throw new InputError(`subAnswer: got ${shown(subAnswer)}, expected a text or null`);
}

/**
 * A decider's verdict with its tokens as a whole number. Throws KnownFailure for one of another form: a verdict that is not plainly "covered" must never
 * pass for one, and a log's line has to be readable.
 */
export function checkedVerdict(verdict: LiveVerdict): LiveVerdict {
  const { covered, p, matched, pairs, tokens } = (verdict ?? {}) as { [field in keyof LiveVerdict]: unknown };
  const wrong =
    typeof covered !== 'boolean'
      ? `covered ${typeof covered}, expected a boolean`
      : p !== null && !(typeof p === 'number' && p >= 0 && p <= 1)
        ? `p ${String(p)}, expected a probability or null`
        : matched !== null && !(Array.isArray(matched) && matched.every((one) => typeof one === 'boolean'))
          ? `matched ${typeof matched}, expected a list of booleans or null`
          : pairs !== null && !(Number.isSafeInteger(pairs) && (pairs as number) >= 0)
            ? `pairs ${String(pairs)}, expected a whole number from 0 or null`
            : !(typeof tokens === 'number' && Number.isFinite(tokens) && tokens >= 0)
              ? `tokens ${String(tokens)}, expected a number from 0`
              : null;
  if (wrong !== null) throw new KnownFailure(`its verdict: got ${wrong}`);
  return { ...verdict, tokens: Math.ceil(verdict.tokens) };
}

/** Checks the tokens that a host says it spent. Throws InputError. */
export function checkSpent(tokens: unknown): void {
  if (!(typeof tokens === 'number' && Number.isFinite(tokens) && tokens >= 0))
    throw new InputError(`spend: got ${JSON.stringify(tokens)} tokens, expected a number from 0`);
}

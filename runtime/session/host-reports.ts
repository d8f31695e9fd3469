import { InputError } from '../../src/core/errors.js';

/** Checks the verdict that a host hands in. Throws InputError. */
export function checkVerdict(covered: unknown, p: unknown, tokens: unknown): void {
  if (typeof covered !== 'boolean') throw new InputError(`verdict: got covered ${JSON.stringify(covered)}, expected a boolean`);
  if (p !== null && !(typeof p === 'number' && p >= 0 && p <= 1))
    throw new InputError(`verdict: got p ${JSON.stringify(p)}, expected a probability`);
  if (!(typeof tokens === 'number' && Number.isFinite(tokens) && tokens >= 0))
    throw new InputError(`verdict: got tokens ${JSON.stringify(tokens)}, expected a number from 0`);
}

/** Checks the tokens that a host says it spent. Throws InputError. */
export function checkSpent(tokens: unknown): void {
  if (!(typeof tokens === 'number' && Number.isFinite(tokens) && tokens >= 0))
    throw new InputError(`spend: got ${JSON.stringify(tokens)} tokens, expected a number from 0`);
}

import { InputError } from '../../src/core/errors.js';
import type { Bound, StoppedBy } from '../../src/core/gate-log.js';

/** The gate's own hard bounds of one question's run; the host's limits are not relied upon (known fault P87). Null: none. */
export interface Bounds {
  /** Searches. Default 6, the papers' budget. */
  maxSteps: number | null;
  /** Decider calls. Default none: never more than steps. */
  maxCalls: number | null;
  /** Tokens that the host reports (`spend`) and that the decider's language model takes. Default none. */
  maxTokens: number | null;
  /** Milliseconds since the session was opened. Default none. */
  maxMillis: number | null;
  /** Searches in a row that bring no new sentence. Default 3. */
  noProgress: number | null;
}

/** Some of the bounds; the others stay as they are. */
export type GivenBounds = { [name in keyof Bounds]?: Bounds[name] | undefined };

export const DEFAULT_BOUNDS: Bounds = { maxSteps: 6, maxCalls: null, maxTokens: null, maxMillis: null, noProgress: 3 };

/** Throws InputError naming a bound that is no positive number. */
export function boundsOf(given: GivenBounds = {}, defaults: Bounds = DEFAULT_BOUNDS): Bounds {
  const unknown = Object.keys(given).find((name) => !(name in DEFAULT_BOUNDS));
  if (unknown !== undefined)
    throw new InputError(`bounds: got ${JSON.stringify(unknown)}, expected some of ${Object.keys(DEFAULT_BOUNDS).join(', ')}`);
  const bounds = { ...defaults };
  for (const name of Object.keys(DEFAULT_BOUNDS) as Bound[]) {
    const value = given[name];
    if (value === undefined) continue;
    if (value !== null && !(value > 0 && (name === 'maxMillis' ? Number.isFinite(value) : Number.isSafeInteger(value))))
      throw new InputError(
        `bounds.${name}: got ${typeof value === 'bigint' ? `${String(value)}n` : JSON.stringify(value)}, expected a positive number, or null for none`,
      );
    bounds[name] = value;
  }
  return bounds;
}

/** The stop that a bound stands for. */
export function stopOf(bound: Bound): StoppedBy {
  return bound === 'maxSteps' || bound === 'noProgress' ? bound : 'budget';
}

export interface WorstCase {
  searches: number;
  /** Decider calls. */
  calls: number;
  /** Claim–sentence pairs, where the decider scores such. */
  pairs: number;
}

/**
 * The most that one question may cost, to be told before a run (known fault P92): steps × claims × candidate sentences. Null where no bound on
 * steps is set.
 *
 * @param sentences candidate sentences that a search brings at most (of each page at most twelve)
 */
export function worstCase(bounds: Bounds, { claims, sentences }: { claims: number; sentences: number }): WorstCase | null {
  if (bounds.maxSteps === null) return null;
  const searches = bounds.maxSteps;
  const calls = Math.min(searches, bounds.maxCalls ?? Infinity);
  return { searches, calls, pairs: searches * claims * sentences };
}

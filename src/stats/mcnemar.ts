import { checkCount } from './argument-checks.js';
import { binomialAtMost } from './binomial.js';

export interface DiscordantCounts {
  /** Questions that A alone gets right. */
  onlyA: number;
  /** Questions that B alone gets right. */
  onlyB: number;
}

/**
 * Whether two systems differ in how often they are right on the same questions: use it beside the interval of `newcombePaired`. Only the
 * questions on which they disagree speak; comparing the two shares as if they came from different questions throws the pairing away.
 * Variant: McNemar's test in its exact two-sided form, twice the smaller binomial tail at one half, at most 1; no discordant question gives
 * p = 1.
 * Source: McNemar 1947; evaluation of HALT, Table 10. Cost: that of one binomial tail.
 */
export function mcnemarExact({ onlyA, onlyB }: DiscordantCounts): { p: number } {
  checkCount('onlyA', onlyA);
  checkCount('onlyB', onlyB);
  return { p: Math.min(1, 2 * binomialAtMost(Math.min(onlyA, onlyB), { n: onlyA + onlyB, p: 0.5 })) };
}

import { firstTrue } from './first-true.js';
import { checkCount, checkOpenShare } from './argument-checks.js';
import { binomialAtLeast, binomialAtMost } from './binomial.js';
import type { Interval } from './wilson.js';

export interface AuditCounts {
  /** Loops at which nobody would have been asked, had no audit been drawn. */
  skips: number;
  /** Those of them that were audited: asked all the same. */
  audited: number;
  /** Those of the audited ones at which the decider fired. */
  fired: number;
  /** Probability with which each skip was audited, drawn independently of everything else, 0 < share ≤ 1. */
  share: number;
  /** Two-sided confidence level. Default 0.95. */
  level?: number | undefined;
}

export interface Estimated extends Interval {
  value: number;
}

export interface AuditEstimate {
  /** Skips at which the decider would have fired, the audited ones among them. */
  wouldFire: Estimated;
  /** Skips at which nobody was asked and asking would have been in vain. */
  saved: Estimated;
}

/**
 * How many skips the decider would have fired at, from the few that were audited by asking anyway: use it for what a running gate misses.
 * The same counts give the saved calls: against asking at every loop that the run made, those at which asking would have changed nothing
 * (unaudited skips that would not have fired). What a run would have done after a skip that would have fired is not part of either.
 *
 * Variant: Horvitz–Thompson, fired / share. It is unbiased although an audit that fires ends its run, so that the number F of skips that
 * would have fired is itself random: let f_t say whether skip t would have fired and a_t whether it is audited. f_t, and whether there is a
 * skip t at all, are settled before a_t is drawn, and a_t is independent of all of it, so the sums of (a_t / share − 1) · f_t are a martingale
 * that starts at 0; a run has finitely many loops, so its mean at the end is 0 as well (optional stopping): E[fired / share] = E[F].
 * Saved calls are (skips − audited) − (fired / share − fired), whose mean is that of the truth for the same reason.
 *
 * The interval holds all whole numbers F at which neither P(Bin(F, share) ≥ fired) nor P(Bin(F, share) ≤ fired) is at most (1 − level) / 2
 * (Clopper and Pearson's inversion with the number of trials unknown), cut to what is known for certain: at least the audited ones that fired, at
 * most the skips without the audited ones that did not. The law is exact where no audit ends a run; that ended runs do not cost coverage
 * was checked by simulation (`test/stats/audit-estimate`). The estimate itself is not cut, so it may lie outside its interval.
 * Cost: some sixty binomial tails.
 *
 * @throws RangeError for counts that cannot be
 */
export function auditEstimate({ skips, audited, fired, share, level = 0.95 }: AuditCounts): AuditEstimate {
  checkCount('skips', skips);
  checkCount('audited', audited);
  checkCount('fired', fired);
  if (audited > skips) throw new RangeError(`audited: got ${audited}, expected at most skips = ${skips}`);
  if (fired > audited) throw new RangeError(`fired: got ${fired}, expected at most audited = ${audited}`);
  if (share !== 1) checkOpenShare('share', share);
  checkOpenShare('level', level);
  const known = { least: fired, most: skips - audited + fired };
  const value = fired / share;
  const { low, high } = share === 1 ? { low: fired, high: fired } : inverted({ fired, share, tail: (1 - level) / 2, ...known });
  const unaudited = skips - audited;
  return {
    wouldFire: { value, low, high },
    saved: { value: unaudited - (value - fired), low: unaudited - (high - fired), high: unaudited - (low - fired) },
  };
}

interface Inversion {
  fired: number;
  share: number;
  tail: number;
  least: number;
  most: number;
}

/** Both tails move one way as F grows, so both ends are found by halving. */
function inverted({ fired, share, tail, least, most }: Inversion): Interval {
  // The smallest F that is not too small for so many, and the largest that is not too large for so few.
  const low = firstTrue(least, most, (trials) => binomialAtLeast(fired, { n: trials, p: share }) > tail);
  const tooLarge = firstTrue(least, most + 1, (trials) => binomialAtMost(fired, { n: trials, p: share }) <= tail);
  return { low, high: Math.max(low, tooLarge - 1) };
}

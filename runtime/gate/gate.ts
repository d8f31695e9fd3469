import { type Margin, roundMargin } from '../../src/core/units.js';

/**
 * What the gate says before a loop's decider call. `skip`: the evidence is too far from some claim, go on without asking. `call`: ask the decider
 * and follow it. `abstain`: there are no claims, so the gate cannot speak; the decider is asked as if there were no gate. No answer ever stops
 * the agent: every stop is the decider's, or the budget's (method.md §5).
 */
export type GateDecision = 'skip' | 'call' | 'abstain';

/**
 * Skip if margin > τ, call if margin ≤ τ (CoVeR; equality calls, after rounding to 1e-6). τ may be −Infinity (never call) or Infinity (always
 * call). `margin` is null when there are no claims.
 */
export function gate(margin: Margin | null, tau: number): GateDecision {
  if (Number.isNaN(tau)) throw new RangeError('tau: got NaN, expected a number');
  if (margin === null) return 'abstain';
  if (!(margin >= 0 && margin <= 2)) throw new RangeError(`margin: got ${margin}, expected a number in [0, 2]`);
  return roundMargin(margin) > tau ? 'skip' : 'call';
}

/** Whether the decider is asked: always, unless the gate says `skip`. The one place in which an abstention becomes a call. */
export function callsDecider(decision: GateDecision): boolean {
  return decision !== 'skip';
}

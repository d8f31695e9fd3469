import { type Extent, agreement, extent, safety } from './frontier.js';
import { ALWAYS_CALL, NEVER_CALL } from './policies.js';
import { type ThresholdCurve, callCut, distinct, pointAt } from './threshold-curve.js';

export const CONSTRAINTS = ['per-dataset', 'pooled'] as const;
export type Constraint = (typeof CONSTRAINTS)[number];

/** What coverage safety is compared with: the always-verify decider's own on the same questions, a number, or nothing. */
export type SafetyReference = 'own' | 'none' | number;

/** Candidates for τ: all distinct margins of the training questions, or the multiples of a step; both with never and always call. */
export type TauGrid = 'exact' | number;

export interface SelectionOptions {
  /** The least stop-loop agreement, in (0, 1]. Default 0.90. */
  bar?: number | undefined;
  /** Default `own`. */
  safetyReference?: SafetyReference | undefined;
  /** Default 0.005 (method.md §6). */
  grid?: TauGrid | undefined;
  /** The smallest τ that a guarantee certifies; nothing below it is taken. Default: no floor. */
  floor?: number | undefined;
}

/**
 * Why the selected τ saves nothing over the "always call" that one starts from. `flat`: every τ that calls at all costs as many calls as
 * calling always. `infeasible`: some cost fewer, and none of those meets the constraints.
 */
export type Unchanged = 'flat' | 'infeasible';

export interface TauOnTraining {
  tau: number;
  /** 1 − Σ gated calls / Σ always-verify calls over all training questions: the objective. */
  callCut: number;
  /** One for each constrained set, in the order given. */
  agreement: number[];
  coverageSafety: (number | null)[];
}

export interface Selection {
  tau: number;
  extent: Extent;
  /** The start, "always call", and the selected τ; the objective is their `callCut`. */
  before: TauOnTraining;
  after: TauOnTraining;
  /** Null where the selection moved τ. */
  unchanged: Unchanged | null;
  candidates: number;
  feasible: number;
  /** Candidates with a larger cut than the selected one that fail each constraint (one may fail several). */
  refused: { agreement: number; safety: number; guarantee: number };
}

/**
 * The τ with the largest call cut (summed over all training questions) that meets both constraints on every curve: agreement ≥ bar and
 * coverage safety ≥ reference, where undefined safety holds (method.md §6). One curve a training dataset gives the per-dataset rule, one
 * curve of the pooled questions the pooled rule. Of equal cuts the larger τ wins. "Always call" meets every constraint but a safety
 * reference given as a number, so without one a τ always exists; with one and nothing that meets it, τ stays at "always call".
 * Cost: linear in candidates × curves after sorting.
 */
export function selectTau(curves: readonly ThresholdCurve[], options: SelectionOptions = {}): Selection {
  const { bar = 0.9, safetyReference = 'own', grid = 0.005, floor = NEVER_CALL } = options;
  if (curves.length === 0) throw new RangeError('curves: got none, expected one for each training dataset');
  const taus = candidateTaus(curves, grid);
  const references = curves.map((curve) => reference(curve, safetyReference));
  const steps = curves.map(() => 0);
  // Of each candidate: its calls, and which constraints it fails.
  const callsOf = new Float64Array(taus.length);
  const failsOf = new Uint8Array(taus.length);
  const alwaysCalls = curves.reduce((sum, curve) => sum + curve.always.calls, 0);
  let best = { tau: ALWAYS_CALL, calls: alwaysCalls, feasible: false };
  let fewest = alwaysCalls;
  let feasible = 0;
  for (const [at, tau] of taus.entries()) {
    let calls = 0;
    let fails = tau < floor ? FAILS.guarantee : 0;
    for (const [c, curve] of curves.entries()) {
      let step = steps[c] as number;
      while (step < curve.taus.length && (curve.taus[step] as number) <= tau) step++;
      steps[c] = step;
      calls += curve.calls[step] as number;
      if ((curve.agreeing[step] as number) / curve.questions < bar) fails |= FAILS.agreement;
      const early = curve.early[step] as number;
      const least = references[c] as number | null;
      if (least !== null && early > 0 && (curve.safe[step] as number) / early < least) fails |= FAILS.safety;
    }
    callsOf[at] = calls;
    failsOf[at] = fails;
    if (calls > 0) fewest = Math.min(fewest, calls);
    if (fails !== 0) continue;
    feasible++;
    if (!best.feasible || calls <= best.calls) best = { tau, calls, feasible: true };
  }
  const count = (constraint: number): number =>
    failsOf.reduce((sum, fails, at) => sum + ((fails & constraint) !== 0 && (callsOf[at] as number) < best.calls ? 1 : 0), 0);
  const moved = best.calls < alwaysCalls;
  return {
    tau: best.tau,
    extent: extent(curves, best.tau),
    before: onTraining(curves, ALWAYS_CALL),
    after: onTraining(curves, best.tau),
    unchanged: moved ? null : fewest < alwaysCalls ? 'infeasible' : 'flat',
    candidates: taus.length,
    feasible,
    refused: { agreement: count(FAILS.agreement), safety: count(FAILS.safety), guarantee: count(FAILS.guarantee) },
  };
}

const FAILS = { agreement: 1, safety: 2, guarantee: 4 } as const;

/** What a given τ does on the training questions. */
export function onTraining(curves: readonly ThresholdCurve[], tau: number): TauOnTraining {
  const points = curves.map((curve) => pointAt(curve, tau));
  const total = points.reduce((sum, one) => ({ calls: sum.calls + one.calls, alwaysCalls: sum.alwaysCalls + one.alwaysCalls }), {
    calls: 0,
    alwaysCalls: 0,
  });
  return { tau, callCut: callCut(total), agreement: points.map(agreement), coverageSafety: points.map(safety) };
}

function reference(curve: ThresholdCurve, which: SafetyReference): number | null {
  if (which === 'none') return null;
  if (typeof which === 'number') return which;
  return safety(curve.always);
}

/** What τ is chosen from, in rising order. */
export function candidateTaus(curves: readonly ThresholdCurve[], grid: TauGrid): Float64Array {
  if (grid === 'exact') {
    const size = curves.reduce((sum, curve) => sum + curve.taus.length, 2);
    const all = new Float64Array(size);
    all.set([NEVER_CALL, ALWAYS_CALL]);
    let at = 2;
    for (const { taus } of curves) {
      all.set(taus, at);
      at += taus.length;
    }
    return distinct(all);
  }
  if (!(grid > 0 && grid <= ALWAYS_CALL)) throw new RangeError(`grid: got ${grid}, expected a step in (0, ${ALWAYS_CALL}] or "exact"`);
  const steps = Math.floor(ALWAYS_CALL / grid + 1e-9);
  // Multiples, not running sums, and rounded as the margins are: the same τ is printed, stored and compared.
  const multiples = Array.from({ length: steps + 1 }, (_, i) => Math.round(i * grid * 1e6) / 1e6);
  return distinct(Float64Array.from([NEVER_CALL, ...multiples, ALWAYS_CALL]));
}

import { ALWAYS_CALL, NEVER_CALL } from './policies.js';
import { type CurvePoint, type ThresholdCurve, callCut, pointAt, pointOfStep } from './threshold-curve.js';

export interface FrontierPoint {
  tau: number;
  callCut: number;
  agreement: number;
  /** Null where no decider stop falls before the last loop, or without gold labels. */
  coverageSafety: number | null;
}

/** The largest call cut at agreement ≥ each bar, exactly: over "never call", all distinct margins and "always call". */
export function frontier(curve: ThresholdCurve, bars: readonly number[]): { bar: number; best: FrontierPoint }[] {
  return bars.map((bar) => ({ bar, best: cutAtAgreement(curve, bar) }));
}

/**
 * The largest call cut whose stop-loop agreement is at least `bar`. Of equal cuts the larger τ wins: it skips less. "Always call" agrees
 * everywhere, so there is always an answer.
 */
export function cutAtAgreement(curve: ThresholdCurve, bar: number): FrontierPoint {
  let best = pointAt(curve, ALWAYS_CALL);
  // From the largest τ down: agreement only falls on the way, so the first step below the bar ends the search.
  for (let step = curve.taus.length; step >= 0; step--) {
    const point = pointOfStep(curve, step);
    if (agreement(point) < bar) break;
    if (point.calls < best.calls) best = point;
  }
  return describe(best);
}

/** Every step of the curve, "never call" first: for the frontier's plot. With `most`, about that many steps, evenly spread, both ends kept. */
export function frontierPoints(curve: ThresholdCurve, most = Infinity): FrontierPoint[] {
  const last = curve.taus.length;
  if (last + 1 <= most) return Array.from({ length: last + 1 }, (_, step) => describe(pointOfStep(curve, step)));
  const steps = new Set(Array.from({ length: most }, (_, i) => Math.round((i * last) / (most - 1))));
  return [...steps].map((step) => describe(pointOfStep(curve, step)));
}

export function describe(point: CurvePoint): FrontierPoint {
  return { tau: point.tau, callCut: callCut(point), agreement: agreement(point), coverageSafety: safety(point) };
}

export function agreement(point: Pick<CurvePoint, 'agreeing' | 'questions'>): number {
  return point.agreeing / point.questions;
}

/** Null where undefined. */
export function safety(point: Pick<CurvePoint, 'safe' | 'early'>): number | null {
  return point.early === 0 ? null : point.safe / point.early;
}

/** What a τ does on these questions, when it is one of the two ends. */
export type Extent = 'never calls' | 'calls always' | 'between';

/** Judged by the margins that the curve holds: a τ below all of them never calls. */
export function extent(curves: readonly ThresholdCurve[], tau: number): Extent {
  if (curves.every((curve) => tau < (curve.taus[0] ?? NEVER_CALL))) return 'never calls';
  return curves.every((curve) => tau >= (curve.taus.at(-1) ?? ALWAYS_CALL)) ? 'calls always' : 'between';
}

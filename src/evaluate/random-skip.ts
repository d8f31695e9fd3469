import { random } from '../core/random.js';
import { callCut } from './threshold-curve.js';
import { thresholdCurve, pointOfStep } from './threshold-curve.js';
import { alwaysVerify, gate } from './policies.js';
import type { QuestionRun } from './question-run.js';
import { contentHash } from './row-order.js';

/** How far the random skipper's call cut may lie from the one that it is matched to (CoVeR, appendix G). */
export const MATCHED_CUT = 0.005;

export interface RandomSkip {
  /** Share of calls that it is asked to save. */
  target: number;
  seeds: number;
  /** The cuts that the seeds reached: mean, least and most. */
  callCut: { mean: number; low: number; high: number };
  /** Every seed's cut lies within `MATCHED_CUT` of the target. */
  matched: boolean;
  agreement: { mean: number; low: number; high: number };
  /** Share of the seeds in which each question agrees, in the order given: for a paired difference. */
  agrees: Float64Array;
}

/**
 * Skips loops at random, each with the same probability up to the stop, calibrated so that the call cut is nearest to `target`. A router whose
 * scores are uniform is exactly this: its τ is the chance of a call, and its curve gives the cut at every τ. A question's draws hang on
 * its id and content alone.
 */
export function randomSkip(
  questions: readonly QuestionRun[],
  { target, seeds = 20, seed = 13 }: { target: number; seeds?: number; seed?: number },
): RandomSkip {
  const keys = questions.map(contentHash);
  const always = questions.map((one) => alwaysVerify(one).stop);
  const agrees = new Float64Array(questions.length);
  const [cuts, agreements]: [number[], number[]] = [[], []];
  for (let s = 0; s < seeds; s++) {
    const drawn = questions.map((one, at): QuestionRun => {
      const stream = random(seed, 'random-skip', s, keys[at] as string);
      return { ...one, margins: one.margins.map(() => stream.float()) };
    });
    const curve = thresholdCurve(drawn);
    let best = pointOfStep(curve, curve.taus.length);
    for (let step = curve.taus.length - 1; step >= 0; step--) {
      const point = pointOfStep(curve, step);
      if (Math.abs(callCut(point) - target) < Math.abs(callCut(best) - target)) best = point;
    }
    const policy = gate(best.tau);
    for (const [at, one] of drawn.entries()) if (policy(one).stop === always[at]) (agrees[at] as number) += 1 / seeds;
    cuts.push(callCut(best));
    agreements.push(best.agreeing / best.questions);
  }
  return {
    target,
    seeds,
    callCut: spread(cuts),
    matched: cuts.every((cut) => Math.abs(cut - target) <= MATCHED_CUT),
    agreement: spread(agreements),
    agrees,
  };
}

function spread(values: readonly number[]): { mean: number; low: number; high: number } {
  return { mean: values.reduce((sum, one) => sum + one, 0) / values.length, low: Math.min(...values), high: Math.max(...values) };
}

import { learnThenTest } from '../stats/index.js';
import { ALWAYS_CALL } from './policies.js';
import { type ThresholdCurve, pointOfStep } from './threshold-curve.js';

export interface Certificate {
  /** The smallest τ with the guarantee on every curve; "always call" where one of them certifies nothing. */
  floor: number;
  /** One for each curve, in the order given; `questions` are different ids. */
  parts: { tau: number | null; questions: number; questionsNeeded: number; agreeingNeeded: number; p: number }[];
}

/**
 * The smallest τ for which, with probability at least 1 − δ over the draw of the calibration questions, the agreement of further
 * questions like them is at least `bar` on every dataset at once: Learn-then-Test from "always call" down over each dataset's own margins
 * (method.md §6), each at δ / datasets (**choice**: Bonferroni, so that one sentence holds for all of them). Agreement only rises with τ, so every
 * larger τ is certified too, and the choice among them is free. The draws are question ids: an id that stands in several rows (`--repeats rows`)
 * agrees only where all its rows do, since its rows are no independent questions. It says nothing about datasets that are not among these.
 */
export function certify(curves: readonly ThresholdCurve[], { bar, delta }: { bar: number; delta: number }): Certificate {
  const parts = curves.map((curve) => {
    const steps = curve.taus.length;
    const result = learnThenTest({
      agreeing: Array.from({ length: steps + 1 }, (_, i) => curve.agreeingIds[steps - i] as number),
      n: curve.ids,
      bar,
      delta: delta / curves.length,
    });
    const tau = result.certified < 0 ? null : pointOfStep(curve, steps - result.certified).tau;
    return {
      tau,
      questions: curve.ids,
      questionsNeeded: result.questionsNeeded,
      agreeingNeeded: result.agreeingNeeded,
      p: result.certifiedP,
    };
  });
  const floor = Math.max(...parts.map((part) => part.tau ?? ALWAYS_CALL));
  return { floor, parts };
}

/** Fewest questions, all of them agreeing, that certify a bar: ⌈ln δ / ln bar⌉ (29 for 0.9 at δ 0.05). */
export function questionsForGuarantee({ bar, delta }: { bar: number; delta: number }): number {
  return learnThenTest({ agreeing: [], n: 0, bar, delta }).questionsNeeded;
}

/** Fewest of n questions that have to agree to certify a bar; n + 1 where n questions cannot. */
export function questionsToAgree(n: number, { bar, delta }: { bar: number; delta: number }): number {
  return learnThenTest({ agreeing: [], n, bar, delta }).agreeingNeeded;
}

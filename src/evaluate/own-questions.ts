import { binomialAtLeast } from '../stats/index.js';
import { certify } from './guarantee.js';
import { NEVER_CALL } from './policies.js';
import { type Selection, type TauGrid, candidateTaus, selectTau } from './select-tau.js';
import { type ThresholdCurve, pointAt } from './threshold-curve.js';

/**
 * How τ for a dataset comes from its own questions and the other datasets' (evaluation.md §5):
 * - `lodo`: the other datasets alone, agreement ≥ bar on each.
 * - `alone`: the own questions alone, agreement ≥ bar on them.
 * - `spare`: the own questions and one more that never agrees, so agreeing / (n + 1) ≥ bar. On exchangeable questions the mean agreement of a new
 *   question is then at least the bar (split conformal prediction, Vovk and others); below bar / (1 − bar) questions it always calls.
 * - `prior`: the own questions and `weight` pseudo-questions of the other datasets: their agreement at a τ is the least of the datasets', their
 *   calls the datasets' mean. Weight 0 is `alone`, an infinite one `lodo`.
 * - `spare prior`: both.
 * - `larger`, `smaller`: of `alone` and `lodo`; `between`: their mean, weighted by n and `weight`.
 * - `guarantee`: Learn-then-Test on the own questions.
 */
export type OwnRule =
  BlendRule | { rule: 'lodo' | 'larger' | 'smaller' } | { rule: 'between'; weight: number } | { rule: 'guarantee'; delta: number };

/** What `calibrate --own-questions` does: the rule with the least misses of those whose mean agreement kept the bar on every set (DESIGN.md has the curve). */
export const OWN_QUESTIONS_RULE = { rule: 'spare prior', weight: 10 } as const;

/** The rules that choose on one curve. */
export type BlendRule = { rule: 'alone' | 'spare' } | { rule: 'prior' | 'spare prior'; weight: number };

export interface OwnSelectionOptions {
  /** The least stop-loop agreement, in (0, 1]. Default 0.90. */
  bar?: number | undefined;
  /** Default 0.005. */
  grid?: TauGrid | undefined;
}

/**
 * τ by a rule. Own questions are those that a gate logs in shadow: they have no gold labels, so agreement alone decides. Throws RangeError for a
 * rule that needs other datasets and gets none.
 */
export function tauFromOwn(
  own: ThresholdCurve,
  others: readonly ThresholdCurve[],
  rule: OwnRule,
  options: OwnSelectionOptions = {},
): number {
  const tau = (curves: readonly ThresholdCurve[]): number => select(curves, options).tau;
  switch (rule.rule) {
    case 'lodo':
      return tau(others);
    case 'alone':
    case 'spare':
    case 'prior':
    case 'spare prior':
      return ownSelection(own, others, rule, options).tau;
    case 'larger':
      return Math.max(tau([own]), tau(others));
    case 'smaller':
      return Math.min(tau([own]), tau(others));
    case 'between': {
      const { weight } = rule;
      return (own.ids * tau([own]) + weight * tau(others)) / (own.ids + weight);
    }
    case 'guarantee': {
      const { bar = 0.9 } = options;
      const { floor } = certify([own], { bar, delta: rule.delta });
      return select([own], { ...options, floor }).tau;
    }
  }
}

/** The selection of the rules that are one curve: own questions, a spare one, and pseudo-questions of the other datasets. */
export function ownSelection(
  own: ThresholdCurve,
  others: readonly ThresholdCurve[],
  rule: BlendRule,
  options: OwnSelectionOptions & { floor?: number | undefined } = {},
): Selection {
  const weight = 'weight' in rule ? rule.weight : 0;
  const spare = rule.rule === 'spare' || rule.rule === 'spare prior' ? 1 : 0;
  return select([blended(own, weight === 0 ? [] : others, { weight, spare, grid: options.grid ?? 0.005 })], options);
}

function select(curves: readonly ThresholdCurve[], options: OwnSelectionOptions & { floor?: number | undefined }): Selection {
  return selectTau(curves, { ...options, safetyReference: 'none' });
}

/** One curve of own questions, `weight` questions as the other datasets' are, and `spare` ones that never agree and cost nothing. */
function blended(
  own: ThresholdCurve,
  others: readonly ThresholdCurve[],
  { weight, spare, grid }: { weight: number; spare: number; grid: TauGrid },
): ThresholdCurve {
  if (weight > 0 && others.length === 0) throw new RangeError('others: got none, expected the datasets of the prior');
  const taus = candidateTaus([own, ...others], grid).filter((tau) => tau > NEVER_CALL);
  const steps = [NEVER_CALL, ...taus];
  const meanOf = (value: (curve: ThresholdCurve) => number): number =>
    others.length === 0 ? 0 : others.reduce((sum, curve) => sum + value(curve) / curve.questions, 0) / others.length;
  const agreeing = Float64Array.from(steps, (tau) => {
    const shares = others.map((curve) => pointAt(curve, tau).agreeing / curve.questions);
    return pointAt(own, tau).agreeing + (weight > 0 ? weight * Math.min(...shares) : 0);
  });
  const nothing = new Float64Array(steps.length);
  return {
    questions: own.questions + weight + spare,
    ids: own.ids,
    withGold: 0,
    taus,
    calls: Float64Array.from(steps, (tau) => pointAt(own, tau).calls + weight * meanOf((curve) => pointAt(curve, tau).calls)),
    agreeing,
    agreeingIds: agreeing,
    early: nothing,
    safe: nothing,
    always: { calls: own.always.calls + weight * meanOf((curve) => curve.always.calls), early: 0, safe: 0 },
  };
}

/** Fewest own questions with which `spare` can do anything but call always: all of them agreeing, n / (n + 1) ≥ bar. Infinity for a bar of 1. */
export function questionsForMean(bar: number): number {
  // The margin keeps 0.9 / 0.1, which is a little over 9 as a double, at 9.
  return Math.ceil(bar / (1 - bar) - 1e-9);
}

/**
 * What τ from n own questions gives by `spare`: 95% of the agreements, on new questions of the same kind, of the τ so chosen. Were τ the margin of the
 * k-th of n questions, k = ⌈bar (n + 1)⌉, agreement is Beta(k, n + 1 − k), the law of a uniform order statistic, whatever the margins' own law. Null where
 * n questions are too few to choose.
 */
export function agreementRange(n: number, bar: number): { low: number; high: number } | null {
  const k = Math.ceil(bar * (n + 1) - 1e-9);
  if (k > n) return null;
  // P(Beta(k, n + 1 − k) ≤ x) = P(Bin(n, x) ≥ k), which rises with x.
  const quantile = (probability: number): number => {
    let [low, high] = [0, 1];
    for (let step = 0; step < 50; step++) {
      const middle = (low + high) / 2;
      if (binomialAtLeast(k, { n, p: middle }) < probability) low = middle;
      else high = middle;
    }
    return low;
  };
  return { low: quantile(0.025), high: quantile(0.975) };
}

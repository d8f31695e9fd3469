import { InputError } from '../core/errors.js';
import { type Random, random } from '../core/random.js';
import { percentileInterval } from '../stats/index.js';
import { type FrontierPoint, cutAtAgreement } from './frontier.js';
import { type OwnRule, type OwnSelectionOptions, tauFromOwn } from './own-questions.js';
import { alwaysVerify, gate } from './policies.js';
import type { DatasetRun, QuestionRun } from './question-run.js';
import { type ThresholdCurve, thresholdCurve } from './threshold-curve.js';

export interface TransferOptions extends OwnSelectionOptions {
  rules: readonly OwnRule[];
  /** Numbers of own questions. Default 10, 25, 50, 100, 200; those that leave fewer than 30 questions to measure on are left out. */
  sizes?: readonly number[] | undefined;
  /** Draws of the own questions at each size. Default 1,000. */
  repetitions?: number | undefined;
  /** Resamples of the target's questions, each with one draw of the own ones, for the intervals of the means. At least 39. Default 400. */
  resamples?: number | undefined;
  /** Default 13. */
  seed?: number | undefined;
}

/** A mean over the draws of the own questions. */
export interface DrawnFigure {
  mean: number;
  /** 95% of the draws: what one user with so many questions gets. */
  low: number;
  high: number;
  /**
   * 95% interval over resampled questions and the draws from them: it holds the spread of single draws too. Null where most resamples, which hold
   * about 63% of the questions, leave none to measure on.
   */
  resampled: { low: number; high: number } | null;
}

export interface TransferPoint {
  rule: OwnRule;
  /** Own questions (different ids); 0 for `lodo`. */
  own: number;
  /** On the target's other questions. */
  agreement: DrawnFigure;
  callCut: DrawnFigure;
  /** Share of the draws whose agreement on the other questions is below the bar. */
  missed: number;
  /** Share of the draws whose τ calls at every loop of them. */
  alwaysCalls: number;
}

export interface TransferCurve {
  target: string;
  /** Different ids of the target. */
  questions: number;
  /** The target's own frontier at the bar: what any choice of τ is measured against. */
  frontier: FrontierPoint;
  points: TransferPoint[];
}

/** Questions that have to be left to measure on. */
const FEWEST_MEASURED = 30;
/** Of a 95% interval: its ends are the first and the last of 39. */
const FEWEST_RESAMPLES = 39;

/**
 * "Own questions needed → held-out agreement and cut" (evaluation.md §5): for each size, own questions are drawn from the target's, τ is chosen by
 * each rule, and measured on the target's other questions. Rows of one id are drawn together. Ids are put in order before anything is drawn, so the order
 * of the rows does not matter. The other datasets are taken as they are. Throws InputError where the target has too few questions.
 */
export function transferCurve(target: DatasetRun, others: readonly DatasetRun[], options: TransferOptions): TransferCurve {
  const { rules, sizes = [10, 25, 50, 100, 200], repetitions = 1000, resamples = 400, seed = 13 } = options;
  const groups = byId(target.questions);
  const usable = sizes.filter((size) => groups.length - size >= FEWEST_MEASURED);
  if (usable.length === 0) {
    throw new InputError(
      `dataset ${target.dataset}: got ${groups.length} questions, expected at least ${Math.min(...sizes) + FEWEST_MEASURED}: ${Math.min(...sizes)} to choose τ on and ${FEWEST_MEASURED} to measure on`,
    );
  }
  const prior = others.map((run) => thresholdCurve(run.questions));
  const outcomeAt = outcomes(groups);
  const once = new Int32Array(groups.length).fill(1);
  const draws = (size: number, kind: 'draw' | 'resample', count: number): Draw[][] => {
    const made: Draw[][] = rules.map(() => []);
    for (let at = 0; at < count; at++) {
      const stream = random(seed, 'transfer', target.dataset, kind, size, at);
      const times = kind === 'draw' ? once : resampled(groups.length, stream);
      const present = [...times.keys()].filter((group) => (times[group] as number) > 0);
      const own = new Set(stream.sample(present, Math.min(size, present.length)));
      if (own.size === present.length) continue;
      const curve = thresholdCurve([...own].flatMap((group) => groups[group] as QuestionRun[]));
      for (const [r, rule] of rules.entries()) (made[r] as Draw[]).push(drawn(curve, prior, rule, options, { outcomeAt, own, times }));
    }
    return made;
  };
  const points: TransferPoint[] = [];
  for (const size of usable) {
    const [plain, again] = [draws(size, 'draw', repetitions), draws(size, 'resample', resamples)];
    for (const [r, rule] of rules.entries()) points.push(pointOf(rule, size, plain[r] as Draw[], again[r] as Draw[], options.bar ?? 0.9));
  }
  return {
    target: target.dataset,
    questions: groups.length,
    frontier: cutAtAgreement(thresholdCurve(target.questions), options.bar ?? 0.9),
    points,
  };
}

interface Draw {
  agreement: number;
  callCut: number;
  alwaysCalls: boolean;
}

interface Outcomes {
  rows: Int32Array;
  agreeing: Int32Array;
  calls: Int32Array;
  always: Int32Array;
}

function byId(questions: readonly QuestionRun[]): QuestionRun[][] {
  const groups = new Map<string, QuestionRun[]>();
  for (const one of questions) groups.set(one.id, [...(groups.get(one.id) ?? []), one]);
  return [...groups].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, group]) => group);
}

/** What a τ does to each id, kept for the τ of later draws. */
function outcomes(groups: readonly QuestionRun[][]): (tau: number) => Outcomes {
  const kept = new Map<number, Outcomes>();
  return (tau) => {
    const known = kept.get(tau);
    if (known) return known;
    const size = groups.length;
    const made = { rows: new Int32Array(size), agreeing: new Int32Array(size), calls: new Int32Array(size), always: new Int32Array(size) };
    for (const [at, group] of groups.entries()) {
      for (const one of group) {
        const [gated, always] = [gate(tau)(one), alwaysVerify(one)];
        made.rows[at] = (made.rows[at] as number) + 1;
        made.agreeing[at] = (made.agreeing[at] as number) + (gated.stop === always.stop ? 1 : 0);
        made.calls[at] = (made.calls[at] as number) + gated.calls;
        made.always[at] = (made.always[at] as number) + always.calls;
      }
    }
    kept.set(tau, made);
    return made;
  };
}

/** How often each of `size` units is drawn in `size` draws with replacement. */
function resampled(size: number, stream: Random): Int32Array {
  const times = new Int32Array(size);
  for (let i = 0; i < size; i++) {
    const at = stream.int(size);
    times[at] = (times[at] as number) + 1;
  }
  return times;
}

function drawn(
  curve: ThresholdCurve,
  prior: readonly ThresholdCurve[],
  rule: OwnRule,
  options: TransferOptions,
  { outcomeAt, own, times }: { outcomeAt: (tau: number) => Outcomes; own: ReadonlySet<number>; times: Int32Array },
): Draw {
  const { rows, agreeing, calls, always } = outcomeAt(tauFromOwn(curve, prior, rule, options));
  const sums = { rows: 0, agreeing: 0, calls: 0, always: 0 };
  for (const [at, weight] of times.entries()) {
    if (weight === 0 || own.has(at)) continue;
    sums.rows += weight * (rows[at] as number);
    sums.agreeing += weight * (agreeing[at] as number);
    sums.calls += weight * (calls[at] as number);
    sums.always += weight * (always[at] as number);
  }
  return {
    agreement: sums.agreeing / sums.rows,
    callCut: 1 - sums.calls / sums.always,
    alwaysCalls: sums.calls === sums.always && sums.agreeing === sums.rows,
  };
}

function pointOf(rule: OwnRule, own: number, plain: readonly Draw[], again: readonly Draw[], bar: number): TransferPoint {
  const share = (holds: (draw: Draw) => boolean): number => plain.filter(holds).length / plain.length;
  const figure = (value: (draw: Draw) => number): DrawnFigure => ({
    mean: plain.reduce((sum, one) => sum + value(one), 0) / plain.length,
    ...percentileInterval(Float64Array.from(plain, value), 0.95),
    resampled: again.length < FEWEST_RESAMPLES ? null : percentileInterval(Float64Array.from(again, value), 0.95),
  });
  return {
    rule,
    own: rule.rule === 'lodo' ? 0 : own,
    agreement: figure((one) => one.agreement),
    callCut: figure((one) => one.callCut),
    missed: share((one) => one.agreement < bar),
    alwaysCalls: share((one) => one.alwaysCalls),
  };
}

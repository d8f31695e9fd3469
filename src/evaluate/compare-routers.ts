import { InputError } from '../core/errors.js';
import type { Fidelity } from '../core/fidelity.js';
import { random as randomStream } from '../core/random.js';
import { percentileInterval } from '../stats/index.js';
import { type CalibrationOptions, splitTraining } from './calibration.js';
import { type FrontierPoint, cutAtAgreement, describe, frontier } from './frontier.js';
import { type Measured, measured } from './measured.js';
import { type Policy, alwaysVerify, gate } from './policies.js';
import type { DatasetRun, QuestionRun } from './question-run.js';
import { type RandomSkip, randomSkip } from './random-skip.js';
import { everyOther, mostClaims, oracleSelfGating, selfGating, skipFirst } from './router-policies.js';
import { type RouterName, type RouterScores, routerFidelity, routerScores, withScores } from './router-scores.js';
import { inRowOrder } from './row-order.js';
import { type TauGrid, selectTau } from './select-tau.js';
import { fidelityOf } from './system-fidelity.js';
import { pointAt, thresholdCurve } from './threshold-curve.js';

/** The bars at which CoVeR compares routers. */
export const ROUTER_BARS = [0.9, 0.92, 0.95] as const;

export interface RouterOptions extends Pick<CalibrationOptions, 'bar' | 'safetyReference' | 'trainRows'> {
  routers: readonly RouterName[];
  /** Candidates for τ, the gate's too. Default `exact`, since scores lie on scales of their own. */
  grid?: TauGrid | undefined;
  /** Of the intervals; each chooses its own best threshold. Default 1,000. */
  resamples?: number | undefined;
  /** Default 13. */
  seed?: number | undefined;
}

/** One system's largest call cut at an agreement, on the questions themselves, and what the gate's has over it. */
export interface RouterFrontier {
  bar: number;
  callCut: number;
  /** The gate's cut minus this one, on the same resampled questions. Zero for the gate itself. */
  gateAhead: Measured;
}

export interface RouterRow {
  label: string;
  fidelity: Fidelity['fidelity'];
  fidelityNote: string;
  /** False for a bound. */
  deployable: boolean;
  frontier: RouterFrontier[];
  /** The τ that the other datasets' training splits choose, applied once; null for systems without a τ. */
  lodo: (FrontierPoint & { gateAhead: { callCut: Measured; agreement: Measured } }) | null;
}

export interface RouterComparison {
  dataset: string;
  questions: number;
  /** The gate first. */
  rows: RouterRow[];
  /**
   * Random skipping at the call cuts of the gate: of its LODO point, and of its frontier at the first bar. `gateAhead` is the gate's agreement
   * there minus the mean of the seeds'.
   */
  random: (RandomSkip & { at: 'lodo' | 'frontier'; gateAgreement: number; gateAhead: Measured })[];
}

/**
 * The gate beside every router on each dataset (evaluation.md §1): as a frontier, at its LODO point, and against random skipping at the gate's
 * cut. Routers that learn are fitted on the other datasets' training splits, also for the frontier. Questions are put in order first, so that
 * the order of the rows changes no bit. Throws InputError for fewer than two datasets.
 */
export function compareRouters(given: readonly DatasetRun[], options: RouterOptions): RouterComparison[] {
  if (given.length < 2)
    throw new InputError(`routers are thresholded on other datasets: got ${given.length} dataset, expected at least two`);
  const runs = given.map((run) => ({ ...run, questions: inRowOrder(run.questions) }));
  return runs.map((run) => compareOn(run, runs.filter((one) => one !== run).map((one) => splitTraining(one, options).training), options)); // prettier-ignore
}

function compareOn(
  { dataset, questions }: DatasetRun,
  training: readonly (readonly QuestionRun[])[],
  options: RouterOptions,
): RouterComparison {
  const { resamples = 1000, seed = 13 } = options;
  const scored = (label: string, note: ReturnType<typeof routerFidelity>, scores: RouterScores | null): Contender => {
    const of = (all: readonly QuestionRun[]): readonly QuestionRun[] => (scores ? all.map((one) => withScores(one, scores)) : all);
    const own = of(questions);
    const { tau } = selectTau(training.map((part) => thresholdCurve(of(part))), { ...options, grid: options.grid ?? 'exact' }); // prettier-ignore
    return {
      label,
      ...note,
      deployable: true,
      cuts: (drawn) => frontier(thresholdCurve(drawn.map((at) => own[at] as QuestionRun)), ROUTER_BARS).map(({ best }) => best.callCut),
      lodo: { point: describe(pointAt(thresholdCurve(own), tau)), outcomes: own.map(gate(tau)) },
    };
  };
  const gateItself = scored('gate', fidelityOf('gate'), null);
  const pooled = training.flat();
  const contenders = [
    gateItself,
    ...options.routers.map((name) => scored(name, routerFidelity(name), routerScores(name, pooled, { seed }))),
    ...positionSystems(questions),
  ];
  const draws = drawn(questions, { dataset, resamples, seed });
  const whole = questions.map((_, at) => at);
  const gateCuts = draws.map(gateItself.cuts);
  const always = questions.map(alwaysVerify);
  const rows = contenders.map((one): RouterRow => {
    const cuts = one === gateItself ? gateCuts : draws.map(one.cuts);
    const [own, gates] = [one.cuts(whole), gateItself.cuts(whole)];
    return {
      label: one.label,
      fidelity: one.fidelity,
      fidelityNote: one.fidelityNote,
      deployable: one.deployable,
      frontier: ROUTER_BARS.map((bar, b) => ({
        bar,
        callCut: own[b] as number,
        gateAhead: interval((gates[b] as number) - (own[b] as number), cuts.map((each, at) => (gateCuts[at]?.[b] as number) - (each[b] as number))), // prettier-ignore
      })),
      lodo: one.lodo && { ...one.lodo.point, gateAhead: lodoDifference(questions, gateItself.lodo as Lodo, one.lodo, { resamples, seed }) },
    };
  });
  const free = cutAtAgreement(thresholdCurve(questions), ROUTER_BARS[0]);
  const points = { lodo: gateItself.lodo as Lodo, frontier: { point: free, outcomes: questions.map(gate(free.tau)) } };
  const random = (['lodo', 'frontier'] as const).map((at) => {
    const { point, outcomes } = points[at];
    const skipped = randomSkip(questions, { target: point.callCut, seed });
    const columns = { gate: outcomes.map(({ stop }, q) => (stop === always[q]?.stop ? 1 : 0)), random: skipped.agrees };
    const { ahead } = measured(
      { columns, clusters: clustersOf(questions), statistics: { ahead: (t, { units }) => (t.gate - t.random) / units } },
      { resamples, seed },
    );
    return { ...skipped, at, gateAgreement: point.agreement, gateAhead: ahead };
  });
  return { dataset, questions: questions.length, rows, random };
}

interface Lodo {
  point: FrontierPoint;
  outcomes: ReturnType<Policy>[];
}

interface Contender {
  label: string;
  fidelity: Fidelity['fidelity'];
  fidelityNote: string;
  deployable: boolean;
  /** Largest cut at each of the bars on the questions drawn, given by their positions. */
  cuts: (drawn: readonly number[]) => number[];
  lodo: Lodo | null;
}

/** Systems that are families of policies instead of one score: of a family the best member counts, always-verify being one of each. */
function positionSystems(questions: readonly QuestionRun[]): Contender[] {
  const loops = questions.reduce((most, one) => Math.max(most, one.margins.length), 0);
  const claims = mostClaims(questions);
  const family = (label: string, name: Parameters<typeof fidelityOf>[0], policies: readonly Policy[], deployable = true): Contender => ({
    label,
    ...fidelityOf(name),
    deployable,
    cuts: familyCuts(questions, policies),
    lodo: null,
  });
  const upTo = (last: number): number[] => Array.from({ length: last }, (_, at) => at + 1);
  return [
    family('skip-first-k', 'skip-first-k', upTo(loops).map(skipFirst)),
    family('every-other', 'every-other', [everyOther]),
    ...(claims === 0
      ? []
      : [
          family('self-gating', 'self-gating-k', [1, 2, 3].flatMap((next) => upTo(claims).map((least) => selfGating({ next, least })))), // prettier-ignore
          family('oracle-self-gating', 'oracle-self-gating', [oracleSelfGating], false),
        ]),
  ];
}

function familyCuts(questions: readonly QuestionRun[], policies: readonly Policy[]): Contender['cuts'] {
  const always = questions.map(alwaysVerify);
  const members = policies.map((policy) => {
    const outcomes = questions.map(policy);
    return { calls: outcomes.map((one) => one.calls), agrees: outcomes.map(({ stop }, at) => (stop === always[at]?.stop ? 1 : 0)) };
  });
  return (drawn) => {
    const sum = (values: readonly number[]): number => drawn.reduce((total, at) => total + (values[at] as number), 0);
    const alwaysCalls = drawn.reduce((total, at) => total + (always[at]?.calls as number), 0);
    const points = members.map(({ calls, agrees }) => ({ cut: 1 - sum(calls) / alwaysCalls, agreement: sum(agrees) / drawn.length }));
    return ROUTER_BARS.map((bar) => Math.max(0, ...points.filter(({ agreement }) => agreement >= bar).map(({ cut }) => cut)));
  };
}

function lodoDifference(
  questions: readonly QuestionRun[],
  gates: Lodo,
  own: Lodo,
  options: { resamples: number; seed: number },
): { callCut: Measured; agreement: Measured } {
  const always = questions.map(alwaysVerify);
  const agrees = ({ outcomes }: Lodo): number[] => outcomes.map(({ stop }, at) => (stop === always[at]?.stop ? 1 : 0));
  const columns = {
    always: always.map(({ calls }) => calls),
    gateCalls: gates.outcomes.map(({ calls }) => calls),
    ownCalls: own.outcomes.map(({ calls }) => calls),
    gateAgrees: agrees(gates),
    ownAgrees: agrees(own),
  };
  const statistics = {
    callCut: (t: Readonly<Record<keyof typeof columns, number>>) => (t.ownCalls - t.gateCalls) / t.always,
    agreement: (t: Readonly<Record<keyof typeof columns, number>>, { units }: { units: number }) => (t.gateAgrees - t.ownAgrees) / units,
  };
  return measured({ columns, clusters: clustersOf(questions), statistics }, options);
}

/** Resampled questions as positions; rows of one id are drawn together. */
function drawn(
  questions: readonly QuestionRun[],
  { dataset, resamples, seed }: { dataset: string; resamples: number; seed: number },
): number[][] {
  const byId = new Map<string, number[]>();
  for (const [at, { id }] of questions.entries()) {
    const own = byId.get(id);
    if (own) own.push(at);
    else byId.set(id, [at]);
  }
  const clusters = [...byId.values()];
  return Array.from({ length: resamples }, (_, resample) => {
    const stream = randomStream(seed, 'router-frontier', dataset, resample);
    return clusters.flatMap(() => clusters[stream.int(clusters.length)] as number[]);
  });
}

function clustersOf(questions: readonly QuestionRun[]): string[] | undefined {
  const ids = questions.map((one) => one.id);
  return new Set(ids).size < ids.length ? ids : undefined;
}

function interval(value: number, resampled: readonly number[]): Measured {
  if (resampled.length === 0) return { value, low: null, high: null };
  return { value, ...percentileInterval(Float64Array.from(resampled), 0.95) };
}

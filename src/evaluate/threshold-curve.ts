import { NEVER_CALL, alwaysVerify, isCovered, isEarly } from './policies.js';
import type { QuestionRun } from './question-run.js';

/**
 * Everything that the choice of τ needs of one set of questions, as step functions of τ. Step 0 is "never call"; step i ≥ 1 holds from
 * τ = taus[i − 1] up to, not including, taus[i]. All counts are exact.
 */
export interface ThresholdCurve {
  questions: number;
  /** Different question ids: `--repeats rows` keeps several rows of one. */
  ids: number;
  /** Questions with gold labels; coverage safety is counted on these alone. */
  withGold: number;
  /** The distinct margins in rising order. */
  taus: Float64Array;
  /** Decider calls of the gated runs. */
  calls: Float64Array;
  /** Questions that the gated and the always-verify run stop at the same loop. */
  agreeing: Float64Array;
  /** Ids of which every row agrees: rows of one id are no independent draws, so a guarantee counts these. */
  agreeingIds: Float64Array;
  /** Stops that the decider fired before the trajectory's last loop, and those of them made at or after the gold loop. */
  early: Float64Array;
  safe: Float64Array;
  /** The always-verify runs on the same questions. */
  always: { calls: number; early: number; safe: number };
}

/** The counts of one step. */
export interface CurvePoint {
  tau: number;
  questions: number;
  calls: number;
  alwaysCalls: number;
  agreeing: number;
  early: number;
  safe: number;
}

/**
 * The curve over all distinct margins. A question changes only at its own margins, so each loop gives one event; the events are sorted and
 * summed. Cost: N log N for N loops (a question's own part is quadratic in its loops, which the budget bounds).
 */
export function thresholdCurve(questions: readonly QuestionRun[]): ThresholdCurve {
  const loops = questions.reduce((sum, one) => sum + one.margins.length, 0);
  const events = newEvents(loops);
  const always = { calls: 0, early: 0, safe: 0 };
  let withGold = 0;
  let agreeingAtNever = 0;
  const agreesFrom = new Map<string, number>();
  for (const question of questions) {
    const reference = alwaysVerify(question);
    always.calls += reference.calls;
    if (question.goldLoop !== null) {
      withGold++;
      if (isEarly(question, reference)) {
        always.early++;
        if (isCovered(question, reference)) always.safe++;
      }
    }
    const last = reference.stop === question.margins.length;
    if (last) agreeingAtNever++;
    const from = last ? NEVER_CALL : (question.margins[reference.stop - 1] as number);
    agreesFrom.set(question.id, Math.max(agreesFrom.get(question.id) ?? NEVER_CALL, from));
    addEvents(events, question, reference.stop);
  }
  const taus = distinct(events.values);
  const curve: ThresholdCurve = {
    questions: questions.length,
    ids: agreesFrom.size,
    withGold,
    taus,
    calls: new Float64Array(taus.length + 1),
    agreeing: new Float64Array(taus.length + 1),
    agreeingIds: new Float64Array(taus.length + 1),
    early: new Float64Array(taus.length + 1),
    safe: new Float64Array(taus.length + 1),
    always,
  };
  curve.agreeing[0] = agreeingAtNever;
  for (let e = 0; e < loops; e++) {
    const step = stepAt(taus, events.values[e] as number);
    for (const name of COUNTS) add(curve[name], step, events[name][e] as number);
  }
  for (const from of agreesFrom.values()) add(curve.agreeingIds, stepAt(taus, from), 1);
  for (const name of [...COUNTS, 'agreeingIds'] as const) {
    for (let step = 1; step <= taus.length; step++) add(curve[name], step, curve[name][step - 1] as number);
  }
  return curve;
}

/** The counts at any τ, not only at the curve's own. */
export function pointAt(curve: ThresholdCurve, tau: number): CurvePoint {
  return pointOfStep(curve, stepAt(curve.taus, tau), tau);
}

/** The counts of step 0 … taus.length; `tau` defaults to the step's own first τ. */
export function pointOfStep(curve: ThresholdCurve, step: number, tau?: number): CurvePoint {
  return {
    tau: tau ?? (step === 0 ? NEVER_CALL : (curve.taus[step - 1] as number)),
    questions: curve.questions,
    calls: curve.calls[step] as number,
    alwaysCalls: curve.always.calls,
    agreeing: curve.agreeing[step] as number,
    early: curve.early[step] as number,
    safe: curve.safe[step] as number,
  };
}

/** 1 − calls / always-verify calls; negative where deferred stops cost more calls than the skips saved. */
export function callCut(point: Pick<CurvePoint, 'calls' | 'alwaysCalls'>): number {
  return 1 - point.calls / point.alwaysCalls;
}

/** Number of values ≤ τ in a rising array: the step that holds at τ. */
export function stepAt(taus: Float64Array, tau: number): number {
  let low = 0;
  let high = taus.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((taus[middle] as number) <= tau) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The different values of an array in rising order. */
export function distinct(values: Float64Array): Float64Array {
  const sorted = values.slice().sort();
  let kept = 0;
  for (const value of sorted) {
    if (kept === 0 || value !== sorted[kept - 1]) sorted[kept++] = value;
  }
  return sorted.slice(0, kept);
}

const COUNTS = ['calls', 'agreeing', 'early', 'safe'] as const;

type Events = { [name in (typeof COUNTS)[number]]: Int32Array } & { values: Float64Array; used: number };

function newEvents(size: number): Events {
  return {
    values: new Float64Array(size),
    calls: new Int32Array(size),
    agreeing: new Int32Array(size),
    early: new Int32Array(size),
    safe: new Int32Array(size),
    used: 0,
  };
}

/** One event a loop, at its margin: what admitting this loop to the decider changes, after all loops of smaller margin are admitted. */
function addEvents(events: Events, question: QuestionRun, referenceStop: number): void {
  const { margins, fires, goldLoop } = question;
  const loops = margins.length;
  const order = Array.from({ length: loops }, (_, at) => at).sort((a, b) => (margins[a] as number) - (margins[b] as number) || a - b);
  const admitted: boolean[] = [];
  let [stop, calls, agrees, early, safe] = [loops, 0, referenceStop === loops ? 1 : 0, 0, 0];
  for (const at of order) {
    admitted[at] = true;
    const before = { calls, agrees, early, safe };
    if (fires[at] && at + 1 < stop) {
      stop = at + 1;
      // Calls after the new stop are no longer made.
      calls = 0;
      for (let loop = 0; loop < stop; loop++) if (admitted[loop]) calls++;
    } else if (at < stop) {
      calls++;
    }
    agrees = stop === referenceStop ? 1 : 0;
    early = goldLoop !== null && stop < loops ? 1 : 0;
    safe = goldLoop !== null && stop < loops && goldLoop <= stop ? 1 : 0;
    const e = events.used++;
    events.values[e] = margins[at] as number;
    events.calls[e] = calls - before.calls;
    events.agreeing[e] = agrees - before.agrees;
    events.early[e] = early - before.early;
    events.safe[e] = safe - before.safe;
  }
}

function add(array: Float64Array, at: number, amount: number): void {
  array[at] = (array[at] as number) + amount;
}

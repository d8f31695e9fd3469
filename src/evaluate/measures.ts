import type { Statistic } from '../stats/index.js';
import { type Measured, finite, measured } from './measured.js';
import { type Outcome, type Policy, alwaysVerify, full, isCovered, isEarly } from './policies.js';
import type { QuestionCounts, QuestionRun } from './question-run.js';

export interface MeasureOptions {
  /** Resamples of the questions; 0 leaves the intervals out. Default 10,000. */
  resamples?: number | undefined;
  /** Default 13. */
  seed?: number | undefined;
  /** Rows of the source that these questions are the valid ones of. Default: as many as questions. */
  rows?: number | undefined;
  /** One name a question: resampling stays within each (pooled figures). Default: one stratum. */
  strata?: readonly string[] | undefined;
  /** The verdicts that the policy reads of each question; null where it asks no decider. Default: the run's own. */
  fires?: ((question: QuestionRun) => readonly boolean[]) | null | undefined;
}

/** What a policy does on one dataset's questions, beside always-verify and the full trajectory on the same loops (evaluation.md §2). */
export interface Measures {
  questions: QuestionCounts;
  /** Loops until the stop, summed. */
  loops: number;
  calls: number;
  alwaysCalls: number;
  /** Claims ruled on, summed over the calls (method.md §1): calls × the decider's claims. Null where it reads none. */
  claimVerdicts: number | null;
  /** Pairs that the decider has read by its last call; null where it scores none. */
  pairs: number | null;
  alwaysPairs: number | null;
  callCut: Measured;
  /** Share of questions stopped at the loop at which always-verify stops. */
  agreement: Measured;
  /** Of the stops before the last loop, the share at or after the gold loop; and always-verify's own. */
  coverageSafety: Measured;
  ownSafety: number | null;
  safetyDifference: Measured;
  /** Share of questions with all gold claims covered at the stop, minus that of the full trajectory. */
  deltaCoverage: Measured;
  /** Mean loops: minus always-verify's (deferral), and minus the full trajectory's. */
  addedLoops: Measured;
  loopsAgainstFull: Measured;
  pairCut: Measured;
  /**
   * Share of the decider's verdicts on the full trajectories that are "covered", and of questions with one such verdict: the decider alone.
   * Null where the policy asks none.
   */
  fireRatePerLoop: number | null;
  fireRatePerQuestion: number | null;
  /** Under the policy: share of its calls that fire, and of questions that the decider stopped. Null where it asks none. */
  fireRatePerCall: number | null;
  stoppedByDecider: number | null;
  /** Share of the loops run that lie after the gold loop. */
  overSearch: Measured;
  /** Stops before the last loop that no decider made. */
  unverifiedStops: number;
}

type Column =
  | 'calls' | 'alwaysCalls' | 'agrees' | 'early' | 'safe' | 'alwaysEarly' | 'alwaysSafe' | 'gold' | 'covered' | 'fullCovered'
  | 'stop' | 'alwaysStop' | 'fullStop' | 'pairs' | 'alwaysPairs' | 'goldStop' | 'over'; // prettier-ignore

const STATISTICS = {
  callCut: (t) => 1 - t.calls / t.alwaysCalls,
  agreement: (t, { units }) => t.agrees / units,
  coverageSafety: (t) => t.safe / t.early,
  safetyDifference: (t) => t.safe / t.early - t.alwaysSafe / t.alwaysEarly,
  deltaCoverage: (t) => (t.covered - t.fullCovered) / t.gold,
  addedLoops: (t, { units }) => (t.stop - t.alwaysStop) / units,
  loopsAgainstFull: (t, { units }) => (t.stop - t.fullStop) / units,
  pairCut: (t) => 1 - t.pairs / t.alwaysPairs,
  overSearch: (t) => t.over / t.goldStop,
} as const satisfies { [name: string]: Statistic<Column> };

/** Measures a policy on one set of questions. Repeated ids are drawn together by the bootstrap. Throws RangeError for no questions. */
export function measure(questions: readonly QuestionRun[], policy: Policy, options: MeasureOptions = {}): Measures {
  if (questions.length === 0) throw new RangeError('questions: got none, expected at least one');
  const columns = emptyColumns(questions.length);
  const { fires: firesOf = (one: QuestionRun) => one.fires } = options;
  let claimVerdicts: number | null = 0;
  let [fires, verdicts, everFires, byDecider, unverified] = [0, 0, 0, 0, 0];
  for (const [i, question] of questions.entries()) {
    const outcome = policy(question);
    fill(columns, i, question, outcome);
    claimVerdicts =
      claimVerdicts === null || question.deciderClaims === null ? null : claimVerdicts + outcome.calls * question.deciderClaims;
    const own = firesOf === null ? [] : firesOf(question);
    fires += own.filter(Boolean).length;
    verdicts += own.length;
    if (own.includes(true)) everFires++;
    if (outcome.stoppedBy === 'decider') byDecider++;
    if (isEarly(question, outcome) && outcome.stoppedBy !== 'decider') unverified++;
  }
  const ids = questions.map((one) => one.id);
  const unique = new Set(ids).size;
  const clusters = unique < ids.length ? ids : undefined;
  const figures = measured({ columns, clusters, strata: options.strata, statistics: STATISTICS }, options);
  const total = (name: Column): number => columns[name].reduce((sum, value) => sum + value, 0);
  const hasPairs = questions.some((one) => one.pairs !== null && one.pairs !== undefined);
  return {
    questions: { rows: options.rows ?? ids.length, unique, valid: ids.length },
    loops: total('stop'),
    calls: total('calls'),
    alwaysCalls: total('alwaysCalls'),
    claimVerdicts,
    pairs: hasPairs ? total('pairs') : null,
    alwaysPairs: hasPairs ? total('alwaysPairs') : null,
    ...figures,
    ownSafety: finite(total('alwaysSafe') / total('alwaysEarly')),
    fireRatePerLoop: firesOf === null ? null : fires / verdicts,
    fireRatePerQuestion: firesOf === null ? null : everFires / questions.length,
    fireRatePerCall: firesOf === null ? null : finite(byDecider / total('calls')),
    stoppedByDecider: firesOf === null ? null : byDecider / questions.length,
    unverifiedStops: unverified,
  };
}

function emptyColumns(size: number): { [name in Column]: Float64Array } {
  const names: Column[] = [
    'calls', 'alwaysCalls', 'agrees', 'early', 'safe', 'alwaysEarly', 'alwaysSafe', 'gold', 'covered', 'fullCovered',
    'stop', 'alwaysStop', 'fullStop', 'pairs', 'alwaysPairs', 'goldStop', 'over',
  ]; // prettier-ignore
  return Object.fromEntries(names.map((name) => [name, new Float64Array(size)])) as { [name in Column]: Float64Array };
}

function fill(columns: { [name in Column]: Float64Array }, i: number, question: QuestionRun, outcome: Outcome): void {
  const always = alwaysVerify(question);
  const whole = full(question);
  const set = (name: Column, value: number): void => {
    columns[name][i] = value;
  };
  set('calls', outcome.calls);
  set('alwaysCalls', always.calls);
  set('agrees', outcome.stop === always.stop ? 1 : 0);
  set('stop', outcome.stop);
  set('alwaysStop', always.stop);
  set('fullStop', whole.stop);
  set('pairs', pairsRead(question, outcome));
  set('alwaysPairs', pairsRead(question, always));
  if (question.goldLoop === null) return;
  const covered = isCovered(question, outcome);
  set('gold', 1);
  set('covered', covered ? 1 : 0);
  set('fullCovered', isCovered(question, whole) ? 1 : 0);
  set('early', isEarly(question, outcome) ? 1 : 0);
  set('safe', isEarly(question, outcome) && covered ? 1 : 0);
  set('alwaysEarly', isEarly(question, always) ? 1 : 0);
  set('alwaysSafe', isEarly(question, always) && isCovered(question, always) ? 1 : 0);
  set('goldStop', outcome.stop);
  set('over', Math.max(0, outcome.stop - question.goldLoop));
}

/** A call reads every sentence retrieved so far that was not read before, so only the last call's loop matters (method.md §4). */
function pairsRead(question: QuestionRun, { lastCall, pairs }: Outcome): number {
  if (pairs !== undefined) return pairs;
  let sum = 0;
  if (question.pairs) for (let loop = 0; loop < lastCall; loop++) sum += question.pairs[loop] as number;
  return sum;
}

import type { LiveVerdict } from '../deciders/live.js';
import type { Bound, GateEnd, GateEvent, GateLoop, StoppedBy } from '../../src/core/gate-log.js';
import { type Bounds, stopOf } from './bounds.js';
import { type Failure, type GateDeciderError, errorText, failureWords } from './gate-errors.js';
import type { OnError } from './gate-options.js';

/** A loop that is being worked on: what its line in the log will hold, without the verdict. */
export type Step = Omit<
  GateLoop,
  'event' | 'session' | 'covered' | 'p' | 'matched' | 'error' | 'decider_ms' | 'pairs' | 'decider_tokens' | 'stopped_by'
>;

/** What came of asking the decider after a loop, or of not asking it. */
export interface Outcome {
  verdict: LiveVerdict | null;
  error: Failure | null;
  deciderMs: number | null;
}

export const UNASKED: Outcome = { verdict: null, error: null, deciderMs: null };
/** Without claims there is nothing that could be covered. */
export const NOT_COVERED: Outcome = {
  verdict: { covered: false, p: null, matched: [], pairs: 0, tokens: 0 },
  error: null,
  deciderMs: null,
};

export interface RunLedger {
  readonly counts: { calls: number; skips: number; audits: number; errors: number; tokens: number };
  readonly stoppedBy: StoppedBy | null;
  readonly bound: Bound | null;
  /** The decider said "covered" once, whether that stopped the run or not. */
  readonly covered: boolean;
  /** Milliseconds since the question was opened; since the host was last answered. */
  elapsed(): number;
  sinceAnswer(now: number): number;
  /** A loop begins, whose line is owed. `brought` sentences are new. */
  begin(brought: number): void;
  /** Something failed before this loop's decider call, and the run goes on: the loop's line says it. */
  failed(stage: GateDeciderError['stage'], reason: unknown): void;
  /** The bounds that hold at any time, not only after a loop. */
  spent(): Bound | null;
  /** Whether the run has stopped; notices a bound on time or tokens, unless a loop's line is owed. */
  hasStopped(): boolean;
  stop(reason: StoppedBy): void;
  /** Writes a loop's line, and stops the run where its outcome or a bound does. Returns what failed. */
  settle(step: Step, outcome: Outcome): Failure | null;
  /** Writes the line of a loop that the host gave up. */
  abandon(step: Step, reason: unknown, deciderMs: number | null): void;
  /** Writes the run's end, once, behind the line of its last loop. */
  end(): GateEnd;
}

export interface RunLedgerOptions {
  id: string;
  runOn: boolean;
  bounds: Bounds;
  onError: OnError;
  clock: () => number;
  log: (event: GateEvent) => void;
  /** Whether the log may hold what failures say. */
  content: boolean;
  sentences: () => number;
}

/** What one question's run has spent and why it stopped, and its lines in the log. */
export function runLedger({ id, runOn, bounds, onError, clock, log, content, sentences }: RunLedgerOptions): RunLedger {
  const opened = clock();
  const counts = { calls: 0, skips: 0, audits: 0, errors: 0, tokens: 0 };
  let [loops, idle] = [0, 0];
  let lastAnswer = opened;
  let stoppedBy: StoppedBy | null = null;
  let bound: Bound | null = null;
  let covered = false;
  /** A loop has begun whose line is not written yet. */
  let owed = false;
  let noted: Failure | null = null;
  let ended: GateEnd | undefined;

  const elapsed = (): number => Math.max(0, clock() - opened);
  const stop = (reason: StoppedBy, by: Bound | null = null): void => {
    if (stoppedBy !== null) return;
    stoppedBy = reason;
    bound = by;
  };
  const end = (): GateEnd => {
    if (ended) return ended;
    const summary: GateEnd = {
      event: 'end',
      session: id,
      stopped_by: stoppedBy ?? 'hostFinished',
      bound,
      loops,
      ...counts,
      sentences: sentences(),
      ms: elapsed(),
    };
    if (owed || stoppedBy === null) return summary;
    ended = summary;
    log(summary);
    return summary;
  };
  const spent = (): Bound | null => {
    if (bounds.maxTokens !== null && counts.tokens >= bounds.maxTokens) return 'maxTokens';
    if (bounds.maxMillis !== null && elapsed() >= bounds.maxMillis) return 'maxMillis';
    return null;
  };
  const reachedAfter = ({ because }: Step): Bound | null => {
    const by = spent();
    if (by !== null) return by;
    if (because === 'stopped') return 'maxCalls';
    if (bounds.maxSteps !== null && loops >= bounds.maxSteps) return 'maxSteps';
    return bounds.noProgress !== null && idle >= bounds.noProgress ? 'noProgress' : null;
  };
  const write = (step: Step, { verdict, deciderMs }: Pick<Outcome, 'verdict' | 'deciderMs'>, error: string | null): void => {
    const before = noted === null ? null : failureWords(noted.stage, noted.reason, content);
    log({
      event: 'loop',
      session: id,
      ...step,
      covered: verdict?.covered ?? null,
      p: verdict?.p ?? null,
      matched: verdict?.matched ? [...verdict.matched] : null,
      error: error ?? before,
      decider_ms: deciderMs,
      pairs: verdict?.pairs ?? null,
      decider_tokens: verdict?.tokens ?? 0,
      stopped_by: stoppedBy,
    });
    owed = false;
    noted = null;
    if (stoppedBy !== null) end();
    lastAnswer = clock();
  };

  return {
    counts,
    get stoppedBy() {
      return stoppedBy;
    },
    get bound() {
      return bound;
    },
    get covered() {
      return covered;
    },
    elapsed,
    sinceAnswer: (now) => Math.max(0, now - lastAnswer),
    begin: (brought) => {
      owed = true;
      loops++;
      idle = brought === 0 ? idle + 1 : 0;
    },
    failed: (stage, reason) => {
      counts.errors++;
      noted = { stage, reason };
    },
    spent,
    hasStopped: () => {
      const by = stoppedBy === null && !owed ? spent() : null;
      if (by !== null) stop(stopOf(by), by);
      if (stoppedBy !== null) end();
      return stoppedBy !== null;
    },
    stop,
    settle: (step, { verdict, error, deciderMs }) => {
      if (verdict?.covered) covered = true;
      counts.tokens += verdict?.tokens ?? 0;
      if (error) counts.errors++;
      if (verdict?.covered && !runOn) stop('covered');
      else if (error && onError !== 'continue') stop('error');
      const by = stoppedBy === null ? reachedAfter(step) : null;
      if (by !== null) stop(stopOf(by), by);
      const failure = error ?? noted;
      write(step, { verdict, deciderMs }, error === null ? null : failureWords(error.stage, error.reason, content));
      return failure;
    },
    abandon: (step, reason, deciderMs) => {
      // A loop that was given up is a loop: else an agent that aborts each search would never be bounded.
      const by = stoppedBy === null ? reachedAfter(step) : null;
      if (by !== null) stop(stopOf(by), by);
      write(step, { verdict: null, deciderMs }, content ? `aborted: ${errorText(reason)}` : 'aborted');
    },
    end,
  };
}

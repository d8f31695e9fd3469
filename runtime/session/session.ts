import type { AskedBecause, Bound, GateEnd, GateMode, StoppedBy } from '../../src/core/gate-log.js';
import type { RetrievedSentence } from '../../src/core/trajectories.js';
import type { Bounds } from './bounds.js';
import type { Evidence } from './evidence.js';
import type { Failure } from './gate-errors.js';

/** What the gate and its decider say after one search. */
export interface Observation {
  /** One-based; that of the last search where the run had stopped before. */
  loop: number;
  /** `call`: the decider was asked, or (a decider of the host's) has to be. `skip`: it was not. */
  action: 'skip' | 'call';
  because: AskedBecause;
  /** State margin; null where the gate cannot speak. */
  margin: number | null;
  perClaim: readonly number[];
  /** The decider's word at this loop; null where it was not asked, failed, or has not answered yet; false without a call where there are no claims. */
  covered: boolean | null;
  stoppedBy: StoppedBy | null;
  bound: Bound | null;
  newSentences: number;
  /** What failed at this loop, in words: the decider, its claims, or the encoder, whose failure may stand beside a verdict. */
  error: string | null;
  /** The same, as it was thrown. */
  failure: Failure | null;
}

export interface SessionState {
  loops: number;
  calls: number;
  skips: number;
  /** Of the calls, those that audited a skip. */
  audits: number;
  errors: number;
  /** The host's, as far as it reports them, and the decider's. */
  tokens: number;
  sentences: number;
  margin: number | null;
  perClaim: readonly number[];
  covered: boolean;
  /** A verdict of the host's is waited for. */
  awaitsVerdict: boolean;
}

export interface ObserveOptions {
  query?: string | undefined;
  /** The agent's own answer to the query, where it gives one; the prompt judge reads it. */
  subAnswer?: string | null | undefined;
  /** Tokens that the host spent since the last search; counted with it, and not where the evidence is refused. */
  tokens?: number | undefined;
  /** Told the margin before the decider is asked, which may take long. */
  onMargin?: ((state: Pick<Observation, 'loop' | 'margin' | 'perClaim'>) => void) | undefined;
  signal?: AbortSignal | undefined;
}

export type Searched<T> = { ran: true; result: T; observation: Observation } | { ran: false; result?: undefined; observation: Observation };

/** One question in a running agent. Its calls are put in a queue: parallel tools of one step are searches one after another. */
export interface GateSession {
  readonly id: string;
  readonly question: string;
  readonly mode: GateMode;
  readonly bounds: Readonly<Bounds>;
  /** What ended the run; null while it goes on. A bound on time is noticed when this is read. */
  readonly stoppedBy: StoppedBy | null;
  readonly bound: Bound | null;
  readonly state: SessionState;
  /** What was found so far, in order. */
  readonly evidence: readonly RetrievedSentence[];
  /** One search's evidence. After the stop nothing is done, and the observation says so. */
  observe(evidence: Evidence, options?: ObserveOptions): Promise<Observation>;
  /**
   * Runs a search in the session's turn and observes what it brought; once the run has stopped it is not run at all. A search that throws counts as one
   * that brought nothing.
   */
  search<T>(run: () => Promise<T> | T, options: ObserveOptions & { evidence: (result: T) => Evidence }): Promise<Searched<T>>;
  /** The verdict of a decider of the host's, after an observation with `call`. */
  verdict(verdict: { covered: boolean; p?: number | null | undefined; tokens?: number | undefined }): Promise<Observation>;
  /** Tokens that the host spent on this question. */
  spend(tokens: number): void;
  /**
   * The agent is about to end by itself. A text: say this to it, once, and go on (`forceContinue`). Null: it may end, and has ended by
   * `hostFinished` unless something else stopped it before. One that is told to go on and does not search ends.
   */
  nativeStop(): string | null;
  /** Ends the run if nothing has, and says how it went. */
  finish(reason?: 'hostFinished' | 'error'): GateEnd;
}

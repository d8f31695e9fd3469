import { type GateDecision, callsDecider, gate as gateDecision } from '../gate/gate.js';
import type { MarginTracker } from '../gate/margin.js';
import type { LiveDecider, LiveDeciderSession, LiveLoop, LiveVerdict } from '../deciders/live.js';
import type { Claim } from '../../src/core/claims.js';
import { type EvidenceText, evidenceText } from '../../src/core/embeddings.js';
import { InputError } from '../../src/core/errors.js';
import type { AskedBecause, Bound, GateEnd, GateEvent, GateLoop, GateMode, StoppedBy } from '../../src/core/gate-log.js';
import { random } from '../../src/core/random.js';
import type { RetrievedSentence } from '../../src/core/trajectories.js';
import { type Bounds, stopOf } from './bounds.js';
import type { Evidence, EvidenceStore } from './evidence.js';
import { GateDeciderError, errorText } from './gate-errors.js';
import type { HostDecider, OnError } from './gate-options.js';
import type { SharedEncoder } from './shared-encoder.js';

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
  /** The decider's word at this loop; null where it was not asked, failed, or has not answered yet. */
  covered: boolean | null;
  stoppedBy: StoppedBy | null;
  bound: Bound | null;
  newSentences: number;
  /** Why there is no verdict though one was asked for. */
  error: string | null;
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
  signal?: AbortSignal | undefined;
}

export type Searched<T> = { ran: true; result: T; observation: Observation } | { ran: false; result?: undefined; observation: Observation };

/** One question in a running agent. Its calls are put in a queue: parallel tools of one step are searches one after another. */
export interface GateSession {
  readonly id: string;
  readonly question: string;
  readonly mode: GateMode;
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

/** What a session needs of its gate. */
export interface SessionGate {
  tau: number | null;
  decider: LiveDecider | HostDecider;
  encoder: SharedEncoder;
  evidenceText: EvidenceText;
  onError: OnError;
  deciderTimeout: number;
  auditedSkips: number;
  continueMessage: string | null;
  content: boolean;
  seed: number;
  clock: () => number;
  /** Told the margin after a question's first search; whether the gate calls at every loop since its margins have drifted. */
  observeFirst: (margin: number | null) => void;
  callsAlways: () => boolean;
  log: (event: GateEvent) => void;
}

export interface SessionStart {
  id: string;
  question: string;
  mode: GateMode;
  runOn: boolean;
  bounds: Bounds;
  margin: MarginTracker;
  store: EvidenceStore;
  /** The decider's claims; a function makes them at the first call. Null where none are read. */
  claims: readonly Claim[] | ((signal: AbortSignal) => Promise<readonly Claim[]>) | null;
  /** Claims and margins are the same ones, so margins may order claims. */
  ordered: boolean;
  /** What failed when the question was opened. */
  failed: GateDeciderError | null;
}

/** A loop that is being worked on: what its line in the log will hold, without the verdict. */
type Step = Omit<
  GateLoop,
  'event' | 'session' | 'covered' | 'p' | 'matched' | 'error' | 'decider_ms' | 'pairs' | 'decider_tokens' | 'stopped_by'
>;

interface Outcome {
  verdict: LiveVerdict | null;
  error: { stage: GateDeciderError['stage']; reason: unknown } | null;
  deciderMs: number | null;
}

const UNASKED: Outcome = { verdict: null, error: null, deciderMs: null };

export function openSession(gate: SessionGate, start: SessionStart): GateSession {
  const { id, question, mode, runOn, bounds, margin, store } = start;
  const opened = gate.clock();
  const history: LiveLoop[] = [];
  const counts = { calls: 0, skips: 0, audits: 0, errors: 0, tokens: 0 };
  let claims = start.claims;
  let ruling: LiveDeciderSession | undefined;
  let unembedded: RetrievedSentence[] = [];
  let idle = 0;
  let covered = false;
  let told = false;
  let lastReturn = opened;
  let stoppedBy: StoppedBy | null = null;
  let bound: Bound | null = null;
  let ended: GateEnd | undefined;
  /** The step that waits for a verdict of the host's, since when. */
  let waiting: { step: Step; since: number } | undefined;
  /** A loop has begun whose line is not written yet. */
  let busy = false;
  /** The encoder failed at this loop, and the run goes on without its margin. */
  let unmeasured: string | null = null;
  let turn: Promise<unknown> = Promise.resolve();

  if (start.failed) {
    counts.errors++;
    if (gate.onError === 'stop') stoppedBy = 'error';
  }

  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const mine = turn.then(work);
    turn = mine.catch(() => undefined);
    return mine;
  };

  const end = (): GateEnd => {
    if (ended) return ended;
    const summary: GateEnd = {
      event: 'end',
      session: id,
      stopped_by: stoppedBy as StoppedBy,
      bound,
      loops: history.length,
      ...counts,
      sentences: store.size,
      ms: elapsed(),
    };
    // The loop's line comes first, and the end behind it.
    if (busy) return summary;
    ended = summary;
    gate.log(summary);
    return summary;
  };
  const elapsed = (): number => Math.max(0, gate.clock() - opened);
  const stop = (reason: StoppedBy, by: Bound | null = null): void => {
    if (stoppedBy !== null) return;
    stoppedBy = reason;
    bound = by;
  };
  /** The bounds that hold at any time, not only after a search. */
  const spent = (): Bound | null => {
    if (bounds.maxTokens !== null && counts.tokens >= bounds.maxTokens) return 'maxTokens';
    if (bounds.maxMillis !== null && elapsed() >= bounds.maxMillis) return 'maxMillis';
    return null;
  };
  const hasStopped = (): boolean => {
    if (stoppedBy === null && waiting === undefined && !busy) {
      const by = spent();
      if (by !== null) stop(stopOf(by), by);
    }
    if (stoppedBy !== null) end();
    return stoppedBy !== null;
  };

  const observation = (fields: Partial<Observation> = {}): Observation => ({
    loop: history.length,
    action: 'skip',
    because: 'stopped',
    margin: margin.state.margin,
    perClaim: margin.state.perClaim,
    covered: null,
    stoppedBy,
    bound,
    newSentences: 0,
    error: null,
    ...fields,
  });

  /** Writes a loop's line, and stops the run where its outcome or a bound does. */
  const settle = (step: Step, { verdict, error, deciderMs }: Outcome): Observation => {
    if (verdict?.covered) covered = true;
    if (verdict) counts.tokens += verdict.tokens;
    if (error) counts.errors++;
    if (verdict?.covered && !runOn) stop('covered');
    else if (error && gate.onError !== 'continue') stop('error');
    const by = stoppedBy === null ? reachedAfter(step) : null;
    if (by !== null) stop(stopOf(by), by);
    const message = error === null ? unmeasured : `${error.stage} failed: ${errorText(error.reason)}`;
    logLoop(step, { verdict, deciderMs, error: message });
    if (error && gate.onError === 'throw') throw new GateDeciderError(error.stage, id, error.reason);
    return observation({
      action: step.asked ? 'call' : 'skip',
      because: step.because,
      margin: step.margin,
      covered: verdict?.covered ?? null,
      newSentences: step.new_sentences,
      error: message,
    });
  };
  const logLoop = (step: Step, { verdict, deciderMs, error }: Omit<Outcome, 'error'> & { error: string | null }): void => {
    gate.log({
      event: 'loop',
      session: id,
      ...step,
      covered: verdict?.covered ?? null,
      p: verdict?.p ?? null,
      matched: verdict?.matched ? [...verdict.matched] : null,
      error,
      decider_ms: deciderMs,
      pairs: verdict?.pairs ?? null,
      decider_tokens: verdict?.tokens ?? 0,
      stopped_by: stoppedBy,
    });
    busy = false;
    unmeasured = null;
    if (stoppedBy !== null) end();
    lastReturn = gate.clock();
  };
  const reachedAfter = ({ because }: Step): Bound | null => {
    const by = spent();
    if (by !== null) return by;
    if (because === 'stopped') return 'maxCalls';
    if (bounds.maxSteps !== null && history.length >= bounds.maxSteps) return 'maxSteps';
    return bounds.noProgress !== null && idle >= bounds.noProgress ? 'noProgress' : null;
  };

  /** A host that was told to call its decider and went on without a verdict. */
  const settleWaiting = (): void => {
    if (!waiting) return;
    const { step, since } = waiting;
    waiting = undefined;
    settle(step, {
      verdict: null,
      error: { stage: 'decider', reason: new Error('the host went on without its verdict') },
      deciderMs: Math.max(0, gate.clock() - since),
    });
  };

  const embed = async (fresh: readonly RetrievedSentence[], signal: AbortSignal | undefined): Promise<unknown> => {
    unembedded = [...unembedded, ...fresh];
    try {
      const vectors = await gate.encoder.encode(
        unembedded.map(({ title, text }) => evidenceText(title, text, gate.evidenceText)),
        'passage',
        { signal },
      );
      margin.observe(vectors);
      unembedded = [];
      return null;
    } catch (error) {
      return error;
    }
  };

  const observe = async (evidence: Evidence, { query = '', subAnswer = null, signal }: ObserveOptions): Promise<Observation> => {
    signal?.throwIfAborted();
    settleWaiting();
    if (hasStopped()) return observation({ covered: stoppedBy === 'covered' ? true : null });
    const arrived = gate.clock();
    const fresh = store.add(evidence);
    const loop = history.length + 1;
    busy = true;
    history.push({ loop, query, subAnswer, sentences: fresh });
    idle = fresh.length === 0 ? idle + 1 : 0;
    told = false;
    // Nothing stands for the claims where there are none, so nothing has to be encoded.
    const failed = margin.state.margin === null ? null : await embed(fresh, signal);
    const state = failed === null ? margin.state.margin : null;
    if (loop === 1) gate.observeFirst(state);
    const decision = gate.tau === null ? null : gateDecision(state, gate.tau);
    const asking = because(decision, failed !== null, loop);
    const step: Step = {
      loop,
      query: gate.content ? query : null,
      new_sentences: fresh.length,
      sentences: gate.content ? fresh.map(({ title, text }) => ({ title, text })) : null,
      margin: state,
      per_claim: failed === null ? [...margin.state.perClaim] : [],
      decision,
      asked: asking.asked,
      because: asking.because,
      host_ms: Math.max(0, arrived - lastReturn),
      gate_ms: Math.max(0, gate.clock() - arrived),
    };
    if (failed !== null && signal?.aborted) {
      logLoop({ ...step, asked: false }, { verdict: null, deciderMs: null, error: `aborted: ${errorText(failed)}` });
      throw failed;
    }
    if (failed !== null && gate.onError !== 'continue')
      return settle({ ...step, asked: false }, { ...UNASKED, error: { stage: 'encoder', reason: failed } });
    if (failed !== null) {
      counts.errors++;
      unmeasured = `encoder failed: ${errorText(failed)}`;
    }
    if (!step.asked) {
      if (decision === 'skip') counts.skips++;
      return settle(step, UNASKED);
    }
    if (nothingToCover()) return settle({ ...step, asked: false, because: 'no_claims' }, NOT_COVERED);
    if ((bounds.maxCalls !== null && counts.calls >= bounds.maxCalls) || spent() !== null)
      return settle({ ...step, asked: false, because: 'stopped' }, UNASKED);
    if ('host' in gate.decider) {
      counted(step);
      waiting = { step, since: gate.clock() };
      return observation({ action: 'call', because: step.because, margin: state, newSentences: fresh.length });
    }
    return settleAsked(step, gate.decider, signal);
  };

  /** An empty claim list is never covered, whatever the decider would say of it. */
  const nothingToCover = (): boolean => Array.isArray(claims) && claims.length === 0;
  const counted = (step: Step): void => {
    counts.calls++;
    if (step.because === 'audit') counts.audits++;
  };

  const because = (decision: GateDecision | null, failed: boolean, loop: number): { asked: boolean; because: AskedBecause } => {
    if (mode === 'shadow') return { asked: true, because: 'shadow' };
    if (failed) return { asked: true, because: 'no_margin' };
    if (decision === 'abstain') return { asked: true, because: 'no_claims' };
    if (decision === null || callsDecider(decision)) return { asked: true, because: 'gate' };
    if (gate.callsAlways()) return { asked: true, because: 'drift' };
    if (gate.auditedSkips > 0 && random(gate.seed, 'audit', id, loop).float() < gate.auditedSkips) return { asked: true, because: 'audit' };
    return { asked: false, because: 'gate' };
  };

  const settleAsked = async (step: Step, decider: LiveDecider, signal: AbortSignal | undefined): Promise<Observation> => {
    const since = gate.clock();
    const left = bounds.maxMillis === null ? Infinity : Math.max(1, bounds.maxMillis - elapsed());
    const limit = timeLimit(Math.min(gate.deciderTimeout, left), signal);
    let stage: 'claims' | 'decider' = 'claims';
    try {
      if (typeof claims === 'function') {
        const make = claims;
        claims = await limit.race(make(limit.signal));
        gate.log({ event: 'claims', session: id, loop: step.loop, k: claims.length, ms: Math.max(0, gate.clock() - since) });
      }
      if (nothingToCover()) return settle({ ...step, asked: false, because: 'no_claims' }, NOT_COVERED);
      stage = 'decider';
      counted(step);
      ruling ??= decider.open({ id, question, claims });
      const margins = start.ordered ? step.per_claim : undefined;
      const verdict = await limit.race(ruling.call(history, { signal: limit.signal, margins }));
      return settle(step, { verdict, error: null, deciderMs: Math.max(0, gate.clock() - since) });
    } catch (reason) {
      if (reason instanceof GateDeciderError) throw reason;
      // What was left of a call that ran out of time may still be at work on the state of this question.
      if (limit.signal.aborted) ruling = undefined;
      const deciderMs = Math.max(0, gate.clock() - since);
      if (signal?.aborted) {
        // The host gave up in the middle of a call: whether the run goes on is the host's to say.
        logLoop(step, { verdict: null, deciderMs, error: `aborted: ${errorText(reason)}` });
        throw reason;
      }
      // The question's own time ran out, which is no failure of the decider's.
      if (spent() === 'maxMillis') return settle(step, { ...UNASKED, deciderMs });
      return settle(step, { verdict: null, error: { stage, reason }, deciderMs });
    } finally {
      limit.clear();
    }
  };

  return {
    id,
    question,
    mode,
    get stoppedBy() {
      hasStopped();
      return stoppedBy;
    },
    get bound() {
      hasStopped();
      return bound;
    },
    get state() {
      const { margin: state, perClaim } = margin.state;
      const loops = history.length;
      return { loops, ...counts, sentences: store.size, margin: state, perClaim, covered, awaitsVerdict: waiting !== undefined };
    },
    get evidence() {
      return history.flatMap(({ sentences }) => sentences);
    },
    observe: (evidence, options = {}) => inTurn(() => observe(evidence, options)),
    search: (run, { evidence, ...options }) =>
      inTurn(async () => {
        options.signal?.throwIfAborted();
        settleWaiting();
        if (hasStopped()) return { ran: false, observation: observation({ covered: stoppedBy === 'covered' ? true : null }) };
        let result;
        try {
          result = await run();
        } catch (error) {
          options.signal?.throwIfAborted();
          await observe([], options);
          throw error;
        }
        return { ran: true, result, observation: await observe(evidence(result), options) };
      }),
    verdict: ({ covered: isCovered, p = null, tokens = 0 }) =>
      inTurn(() => {
        if (!waiting) throw new InputError(`session ${id}: got a verdict that no observation asked for`);
        if (typeof isCovered !== 'boolean') throw new InputError(`verdict: got covered ${JSON.stringify(isCovered)}, expected a boolean`);
        if (p !== null && !(p >= 0 && p <= 1)) throw new InputError(`verdict: got p ${JSON.stringify(p)}, expected a probability`);
        if (!(Number.isFinite(tokens) && tokens >= 0))
          throw new InputError(`verdict: got tokens ${JSON.stringify(tokens)}, expected a number from 0`);
        const { step, since } = waiting;
        waiting = undefined;
        const verdict: LiveVerdict = { covered: isCovered, p, matched: null, pairs: null, tokens: Math.ceil(tokens) };
        return Promise.resolve(settle(step, { verdict, error: null, deciderMs: Math.max(0, gate.clock() - since) }));
      }),
    spend: (tokens) => {
      if (!(Number.isFinite(tokens) && tokens >= 0))
        throw new InputError(`spend: got ${JSON.stringify(tokens)} tokens, expected a number from 0`);
      counts.tokens += Math.ceil(tokens);
    },
    nativeStop: () => {
      if (hasStopped()) return null;
      if (gate.continueMessage !== null && !told) {
        told = true;
        return gate.continueMessage;
      }
      settleWaitingQuietly();
      stop('hostFinished');
      end();
      return null;
    },
    finish: (reason = 'hostFinished') => {
      settleWaitingQuietly();
      if (!hasStopped()) stop(reason);
      return end();
    },
  };

  /** At the end there is nobody left to throw at. */
  function settleWaitingQuietly(): void {
    try {
      settleWaiting();
    } catch (error) {
      if (!(error instanceof GateDeciderError)) throw error;
    }
  }
}

const NOT_COVERED: Outcome = {
  verdict: { covered: false, p: null, matched: [], pairs: 0, tokens: 0 },
  error: null,
  deciderMs: null,
};

interface TimeLimit {
  signal: AbortSignal;
  /** Rejects when time is up or the outer signal aborts, although the work may not heed the signal. */
  race<T>(work: Promise<T>): Promise<T>;
  clear(): void;
}

function timeLimit(ms: number, outer: AbortSignal | undefined): TimeLimit {
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(new Error(`no answer within ${ms} ms`)), Math.min(ms, 2 ** 31 - 1));
  const abort = (): void => controller.abort(outer?.reason);
  outer?.addEventListener('abort', abort, { once: true });
  const { signal } = controller;
  return {
    signal,
    race: (work) =>
      new Promise((resolve, reject) => {
        const fail = (): void => reject(signal.reason as Error);
        if (signal.aborted) fail();
        signal.addEventListener('abort', fail, { once: true });
        work.then(resolve, reject).finally(() => signal.removeEventListener('abort', fail));
      }),
    clear: () => {
      clearTimeout(timer);
      outer?.removeEventListener('abort', abort);
    },
  };
}

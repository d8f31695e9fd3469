import { type GateDecision, callsDecider, gate as gateDecision } from '../gate/gate.js';
import type { MarginTracker } from '../gate/margin.js';
import type { LiveDecider, LiveLoop } from '../deciders/live.js';
import { type EvidenceText, evidenceText } from '../../src/core/embeddings.js';
import { InputError } from '../../src/core/errors.js';
import type { AskedBecause, GateEvent, GateMode } from '../../src/core/gate-log.js';
import { random } from '../../src/core/random.js';
import type { RetrievedSentence } from '../../src/core/trajectories.js';
import type { Bounds } from './bounds.js';
import { toldSafely } from './listeners.js';
import { inside, isInside } from './turn.js';
import { type SessionClaims, deciderCalls } from './decider-calls.js';
import type { Evidence, EvidenceStore } from './evidence.js';
import { GateDeciderError, KnownFailure, errorText } from './gate-errors.js';
import { checkSearch, checkSpent, checkVerdict } from './host-reports.js';
import type { HostDecider, OnError } from './gate-options.js';
import { NOT_COVERED, type Outcome, type Step, UNASKED, runLedger } from './run-ledger.js';
import type { GateSession, Observation, ObserveOptions } from './session.js';
import type { SharedEncoder } from './shared-encoder.js';
import { timeLimit } from './time-limit.js';

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
  /** Told the margin after a question's first search. */
  observeFirst: (margin: number | null) => void;
  /** Whether the gate calls at every loop, since its margins have drifted. */
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
  claims: SessionClaims;
  /** Claims and margins are the same ones, so margins may order claims. */
  ordered: boolean;
  /** What failed when the question was opened. */
  failed: GateDeciderError | null;
}

export function openSession(gate: SessionGate, start: SessionStart): GateSession {
  const { id, question, mode, runOn, bounds, margin, store } = start;
  const { clock, onError, log, decider } = gate;
  const ledger = runLedger({ id, runOn, bounds, onError, clock, log, content: gate.content, sentences: () => store.size });
  const { counts } = ledger;
  const history: LiveLoop[] = [];
  let unembedded: RetrievedSentence[] = [];
  /** The host was told to go on, and has not searched since. */
  let told = false;
  /** The step that waits for a verdict of the host's, since when. */
  let waiting: { step: Step; since: number } | undefined;
  let turn: Promise<unknown> = Promise.resolve();
  if (start.failed) {
    ledger.failed(start.failed.stage, start.failed.cause);
    if (onError === 'stop') ledger.stop('error');
  }

  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    if (isInside(id)) return Promise.reject(new InputError(`session ${id}: was used inside its own search, whose end it would wait for`));
    const mine = turn.then(() => inside(id, work));
    turn = mine.catch(() => undefined);
    return mine;
  };
  const counted = ({ because }: Step): void => {
    counts.calls++;
    if (because === 'audit') counts.audits++;
  };
  const observation = (fields: Partial<Observation> = {}): Observation => ({
    loop: history.length,
    action: 'skip',
    because: 'stopped',
    margin: margin.state.margin,
    perClaim: margin.state.perClaim,
    covered: null,
    stoppedBy: ledger.stoppedBy,
    bound: ledger.bound,
    newSentences: 0,
    error: null,
    failure: null,
    ...fields,
  });
  const settle = (step: Step, outcome: Outcome): Observation => {
    const failure = ledger.settle(step, outcome);
    if (outcome.error && onError === 'throw') throw new GateDeciderError(outcome.error.stage, id, outcome.error.reason);
    return observation({
      action: step.asked ? 'call' : 'skip',
      because: step.because,
      margin: step.margin,
      covered: outcome.verdict?.covered ?? null,
      newSentences: step.new_sentences,
      error: failure && `${failure.stage} failed: ${errorText(failure.reason)}`,
      failure,
    });
  };
  const spend = (tokens: number): void => {
    checkSpent(tokens);
    counts.tokens += Math.ceil(tokens);
  };
  const since = (from: number): number => Math.max(0, clock() - from);

  /** A host that was told to call its decider and went on without a verdict. */
  const settleWaiting = (): void => {
    if (!waiting) return;
    const { step, since: from } = waiting;
    waiting = undefined;
    const reason = new KnownFailure('the host went on without its verdict');
    settle(step, { verdict: null, error: { stage: 'decider', reason }, deciderMs: since(from) });
  };
  /** The question's time or tokens ran out while a verdict was waited for, which is no failure of the host's decider. */
  const settleExpired = (): void => {
    if (!waiting || ledger.spent() === null) return;
    const { step, since: from } = waiting;
    waiting = undefined;
    settle(step, { ...UNASKED, deciderMs: since(from) });
  };
  /** At the end there is nobody left to throw at. */
  const settleWaitingQuietly = (): void => {
    try {
      settleWaiting();
    } catch (error) {
      if (!(error instanceof GateDeciderError)) throw error;
    }
  };

  /** What failed, or null. Sentences that could not be encoded are tried again with the next ones. */
  const embed = async (fresh: readonly RetrievedSentence[], signal: AbortSignal | undefined): Promise<unknown> => {
    unembedded = [...unembedded, ...fresh];
    try {
      const texts = unembedded.map(({ title, text }) => evidenceText(title, text, gate.evidenceText));
      const limit = timeLimit(gate.deciderTimeout, signal);
      const vectors = await limit.race(gate.encoder.encode(texts, 'passage', { signal: limit.signal })).finally(() => limit.clear());
      margin.observe(vectors);
      unembedded = [];
      return null;
    } catch (error) {
      return error;
    }
  };

  const because = (decision: GateDecision | null, failed: boolean): { asked: boolean; because: AskedBecause } => {
    if (mode === 'shadow') return { asked: true, because: 'shadow' };
    if (failed) return { asked: true, because: 'no_margin' };
    if (decision === 'abstain') return { asked: true, because: 'no_claims' };
    if (decision === null || callsDecider(decision)) return { asked: true, because: 'gate' };
    if (gate.callsAlways()) return { asked: true, because: 'drift' };
    const audited = gate.auditedSkips > 0 && random(gate.seed, 'audit', id, history.length).float() < gate.auditedSkips;
    return audited ? { asked: true, because: 'audit' } : { asked: false, because: 'gate' };
  };

  const observe = async (
    evidence: Evidence,
    { query = '', subAnswer = null, tokens = 0, onMargin, signal }: ObserveOptions,
  ): Promise<Observation> => {
    signal?.throwIfAborted();
    checkSearch(query, subAnswer);
    checkSpent(tokens);
    // What is refused changes nothing: a verdict that is waited for may still come.
    if (waiting) store.check(evidence);
    settleWaiting();
    if (ledger.hasStopped()) return observation({ covered: ledger.stoppedBy === 'covered' ? true : null });
    const arrived = clock();
    const fresh = store.add(evidence);
    spend(tokens);
    const loop = history.length + 1;
    ledger.begin(fresh.length);
    history.push({ loop, query, subAnswer, sentences: fresh });
    told = false;
    // Nothing stands for the claims where there are none, so nothing has to be encoded.
    const failure = margin.state.margin === null ? null : await embed(fresh, signal);
    const state = failure === null ? margin.state.margin : null;
    if (loop === 1) gate.observeFirst(state);
    const decision = gate.tau === null ? null : gateDecision(state, gate.tau);
    const step: Step = {
      loop,
      query: gate.content ? query : null,
      new_sentences: fresh.length,
      sentences: gate.content ? fresh.map(({ title, text }) => ({ title, text })) : null,
      margin: state,
      per_claim: failure === null ? [...margin.state.perClaim] : [],
      decision,
      ...because(decision, failure !== null),
      host_ms: ledger.sinceAnswer(arrived),
      gate_ms: since(arrived),
    };
    if (failure !== null) {
      if (signal?.aborted) {
        ledger.abandon({ ...step, asked: false }, failure, null);
        throw failure;
      }
      if (onError !== 'continue') return settle({ ...step, asked: false }, { ...UNASKED, error: { stage: 'encoder', reason: failure } });
      ledger.failed('encoder', failure);
    }
    toldSafely(() => onMargin?.({ loop, margin: state, perClaim: step.per_claim }));
    return step.asked ? ask(step, signal) : skip(step);
  };

  const skip = (step: Step): Observation => {
    counts.skips++;
    return settle(step, UNASKED);
  };

  const ask = async (step: Step, signal: AbortSignal | undefined): Promise<Observation> => {
    if (calls?.nothingToCover ?? hostHasNothing) return settle({ ...step, asked: false, because: 'no_claims' }, NOT_COVERED);
    if ((bounds.maxCalls !== null && counts.calls >= bounds.maxCalls) || ledger.spent() !== null)
      return settle({ ...step, asked: false, because: 'stopped' }, UNASKED);
    if (!calls) {
      counted(step);
      waiting = { step, since: clock() };
      return observation({ action: 'call', because: step.because, margin: step.margin, newSentences: step.new_sentences });
    }
    const left = bounds.maxMillis === null ? Infinity : Math.max(1, bounds.maxMillis - ledger.elapsed());
    const answer = await calls.call(history, {
      limit: Math.min(gate.deciderTimeout, left),
      signal,
      margins: start.ordered ? step.per_claim : undefined,
      onCall: () => counted(step),
    });
    if (answer.kind === 'no claims') return settle({ ...step, asked: false, because: 'no_claims' }, NOT_COVERED);
    if (answer.kind === 'verdict') return settle(step, { verdict: answer.verdict, error: null, deciderMs: answer.ms });
    const { stage, reason, ms } = answer;
    if (signal?.aborted) {
      // The host gave up in the middle of a call: whether the run goes on is the host's to say.
      ledger.abandon(step, reason, ms);
      throw reason;
    }
    // The question's own time ran out, which is no failure of the decider's.
    if (ledger.spent() === 'maxMillis') return settle(step, { ...UNASKED, deciderMs: ms });
    return settle(step, { verdict: null, error: { stage, reason }, deciderMs: ms });
  };
  const calls =
    'host' in decider
      ? undefined
      : deciderCalls({
          id,
          question,
          claims: start.claims,
          decider,
          clock,
          onClaims: ({ k, ms }) => log({ event: 'claims', session: id, loop: history.length, k, ms }),
        });
  const hostHasNothing = Array.isArray(start.claims) && start.claims.length === 0;

  return {
    id,
    question,
    mode,
    bounds,
    get stoppedBy() {
      settleExpired();
      ledger.hasStopped();
      return ledger.stoppedBy;
    },
    get bound() {
      settleExpired();
      ledger.hasStopped();
      return ledger.bound;
    },
    get state() {
      const { margin: state, perClaim } = margin.state;
      const { covered } = ledger;
      return {
        loops: history.length,
        ...counts,
        sentences: store.size,
        margin: state,
        perClaim,
        covered,
        awaitsVerdict: waiting !== undefined,
      };
    },
    get evidence() {
      return history.flatMap(({ sentences }) => sentences);
    },
    observe: (evidence, options = {}) => inTurn(() => observe(evidence, options)),
    search: (run, { evidence, ...options }) =>
      inTurn(async () => {
        options.signal?.throwIfAborted();
        settleWaiting();
        if (ledger.hasStopped()) return { ran: false, observation: await observe([], options) };
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
    verdict: ({ covered, p = null, tokens = 0 }) =>
      inTurn(async () => {
        settleExpired();
        if (!waiting && ledger.hasStopped()) return observation();
        if (!waiting) throw new InputError(`session ${id}: got a verdict that no observation asked for`);
        checkVerdict(covered, p, tokens);
        const { step, since: from } = waiting;
        waiting = undefined;
        const verdict = { covered, p, matched: null, pairs: null, tokens: Math.ceil(tokens) };
        return settle(step, { verdict, error: null, deciderMs: since(from) });
      }),
    spend,
    nativeStop: () => {
      if (ledger.hasStopped()) return null;
      if (gate.continueMessage !== null && !told) {
        told = true;
        return gate.continueMessage;
      }
      settleWaitingQuietly();
      ledger.stop('hostFinished');
      ledger.end();
      return null;
    },
    finish: (reason = 'hostFinished') => {
      settleWaitingQuietly();
      if (!ledger.hasStopped()) ledger.stop(reason);
      return ledger.end();
    },
  };
}

import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { InputError } from '../../src/core/errors.js';
import { canonicalJson } from '../../src/core/hash.js';
import { type Gate, GateDeciderError, type GateSession, type Observation, finalInstruction } from '../session/index.js';
import { parseRequest } from './parse-request.js';
import { ServiceError } from './service-error.js';
import {
  type BatchReply,
  type EndReply,
  type MarginEvent,
  type ObservationReply,
  type ObserveRequest,
  type OpenRequest,
  type SessionReply,
  type StopReply,
  type VerdictRequest,
  batchItem,
} from './wire.js';

export interface ServiceLimits {
  /** Sessions open at once. Default 10,000. */
  maxSessions: number;
  /** Milliseconds without a request after which a session expires. Default 15 minutes. */
  idleMillis: number;
  /** Milliseconds after which it expires in any case. Default one hour. */
  lifeMillis: number;
  /** Requests of one session that wait for their turn. Default 16. */
  maxWaiting: number;
}

export const DEFAULT_LIMITS: ServiceLimits = { maxSessions: 10_000, idleMillis: 900_000, lifeMillis: 3_600_000, maxWaiting: 16 };

export interface ServiceOptions {
  gate: Gate;
  limits?: Partial<ServiceLimits> | undefined;
  /** Milliseconds. Default Date.now. */
  clock?: (() => number) | undefined;
}

/** The gate as a service, without HTTP. Every method throws ServiceError for what it refuses. */
export interface Service {
  readonly gate: Gate;
  readonly open: { readonly sessions: number };
  openSession(request: OpenRequest): Promise<SessionReply>;
  observe(
    id: string,
    request: ObserveRequest,
    options?: { signal?: AbortSignal | undefined; onMargin?: ((event: MarginEvent) => void) | undefined },
  ): Promise<ObservationReply>;
  verdict(id: string, request: VerdictRequest): Promise<ObservationReply>;
  /** The agent is about to end by itself. */
  stop(id: string): StopReply;
  get(id: string): SessionReply;
  /** The summary; the same again for a while. */
  close(id: string): EndReply;
  /** Each request of its own, in order for one session and beside each other for several. */
  batch(requests: readonly unknown[]): Promise<BatchReply>;
  /** Ends what has expired; how many. */
  sweep(): number;
  /** Nothing new is opened from now on. */
  drain(): void;
  readonly draining: boolean;
}

interface Entry {
  session: GateSession;
  request: string;
  questionId: string | null;
  opened: number;
  used: number;
  waiting: number;
  /** Searches taken, those at work included. */
  steps: number;
  /** The last search and the last verdict, which a client may send again. */
  lastStep: Sent | undefined;
  lastVerdict: Sent | undefined;
}

interface Sent {
  step: number;
  digest: string;
  reply: Promise<ObservationReply>;
}

/** Ended sessions that are remembered, so that a late request is told apart from a wrong one. */
const REMEMBERED = 10_000;

export function openService({ gate, limits: given = {}, clock = Date.now }: ServiceOptions): Service {
  const limits = { ...DEFAULT_LIMITS, ...given };
  const sessions = new Map<string, Entry>();
  const ended = new LRUCache<string, EndReply>({ max: REMEMBERED });
  /** Claims and their vectors take time, in which the same request may come again: it must not open a second session, nor be logged twice. */
  const opening = new Map<string, { request: string; reply: Promise<SessionReply> }>();
  let underWay = 0;
  let draining = false;

  const entryOf = (id: string): Entry => {
    const entry = sessions.get(id);
    if (entry && !expired(entry)) {
      entry.used = clock();
      return entry;
    }
    if (entry) end(id, entry);
    if (ended.has(id)) throw new ServiceError('session_ended', `session ${id}: has been closed, or has expired`, { field: 'session' });
    throw new ServiceError('session_unknown', `session ${id}: is not known here; it was never opened, or was lost with a restart`, {
      field: 'session',
    });
  };
  const expired = ({ opened, used, waiting }: Entry): boolean =>
    waiting === 0 && (clock() - used >= limits.idleMillis || clock() - opened >= limits.lifeMillis);
  const end = (id: string, { session }: Entry): EndReply => {
    const { event: _, ...summary } = session.finish();
    sessions.delete(id);
    ended.set(id, summary);
    return summary;
  };
  const inTurn = async <T>(entry: Entry, work: () => Promise<T>): Promise<T> => {
    if (entry.waiting >= limits.maxWaiting)
      throw new ServiceError('session_busy', `session ${entry.session.id}: ${entry.waiting} requests wait for their turn`, {
        retryAfter: 1,
      });
    entry.waiting++;
    try {
      return await work();
    } catch (error) {
      throw asServiceError(error);
    } finally {
      entry.waiting--;
      entry.used = clock();
    }
  };

  const opened = async (request: OpenRequest, digest: string): Promise<SessionReply> => {
    const { session: id, question, question_id: questionId, claims, bounds } = request;
    try {
      const session = await gate.open(question, { id, questionId, claims, bounds });
      const now = clock();
      const entry: Entry = {
        session,
        request: digest,
        questionId: questionId ?? null,
        opened: now,
        used: now,
        waiting: 0,
        steps: 0,
        lastStep: undefined,
        lastVerdict: undefined,
      };
      sessions.set(session.id, entry);
      return sessionReply(entry);
    } catch (error) {
      throw asServiceError(error);
    }
  };

  const service: Service = {
    gate,
    open: {
      get sessions() {
        return sessions.size;
      },
    },
    openSession: async (request) => {
      if (draining) throw new ServiceError('shutting_down', 'the service is shutting down', { retryAfter: 5 });
      const digest = digestOf(request);
      const { session: id } = request;
      const known = id === undefined ? undefined : (sessions.get(id) ?? opening.get(id));
      if (known) {
        if (known.request === digest) return 'reply' in known ? known.reply : sessionReply(known);
        throw new ServiceError('session_exists', `session ${id}: is open with another question or other bounds`, { field: 'session' });
      }
      if (id !== undefined && ended.has(id))
        throw new ServiceError('session_exists', `session ${id}: was used before, expected a new id`, { field: 'session' });
      if (sessions.size + underWay >= limits.maxSessions) {
        service.sweep();
        if (sessions.size + underWay >= limits.maxSessions)
          throw new ServiceError('too_many_sessions', `${limits.maxSessions} sessions are open, the most that may be`, { retryAfter: 5 });
      }
      underWay++;
      const reply = opened(request, digest);
      if (id !== undefined) opening.set(id, { request: digest, reply });
      try {
        return await reply;
      } finally {
        underWay--;
        if (id !== undefined) opening.delete(id);
      }
    },
    observe: (id, request, { signal, onMargin } = {}) => {
      const entry = entryOf(id);
      const { evidence, query, sub_answer: subAnswer, tokens, step = entry.steps + 1 } = request;
      const digest = digestOf(request);
      const { lastStep } = entry;
      if (request.step !== undefined && lastStep?.step === step) {
        if (lastStep.digest === digest) return lastStep.reply.then((reply) => ({ ...reply, replayed: true }));
        throw new ServiceError('step_conflict', `step ${step}: was sent before with other content`, { field: 'step' });
      }
      if (step !== entry.steps + 1 && entry.session.stoppedBy === null)
        throw new ServiceError('step_conflict', `step: got ${step}, expected ${entry.steps + 1}`, {
          field: 'step',
          got: String(step),
          expected: String(entry.steps + 1),
        });
      entry.steps++;
      const reply = inTurn(entry, async () => {
        if (tokens !== undefined) entry.session.spend(tokens);
        const seen = await entry.session.observe(evidence, {
          query,
          subAnswer,
          signal,
          onMargin: onMargin && (({ loop, margin, perClaim }) => onMargin({ session: id, loop, margin, per_claim: [...perClaim] })),
        });
        return observationReply(entry.session, seen);
      });
      entry.lastStep = { step, digest, reply };
      return reply.catch((error: unknown) => {
        // What was refused took no step, so it may be sent again.
        entry.steps = entry.session.state.loops;
        entry.lastStep = undefined;
        throw error;
      });
    },
    verdict: (id, request) => {
      const entry = entryOf(id);
      const { covered, p, step } = request;
      const { lastVerdict, session } = entry;
      const digest = digestOf(request);
      if (step !== undefined && lastVerdict?.step === step) {
        if (lastVerdict.digest === digest) return lastVerdict.reply.then((reply) => ({ ...reply, replayed: true }));
        throw new ServiceError('step_conflict', `step ${step}: was ruled on before, with another verdict`, { field: 'step' });
      }
      const { loops, awaitsVerdict } = session.state;
      if (!awaitsVerdict) throw new ServiceError('no_verdict_awaited', `session ${id}: waits for no verdict`);
      if (step !== undefined && step !== loops)
        throw new ServiceError('step_conflict', `step: got ${step}, expected ${loops}, the loop that waits for its verdict`, {
          field: 'step',
          got: String(step),
          expected: String(loops),
        });
      const reply = inTurn(entry, async () => observationReply(session, await session.verdict({ covered, p })));
      entry.lastVerdict = { step: loops, digest, reply };
      return reply;
    },
    stop: (id) => {
      const { session } = entryOf(id);
      const message = session.nativeStop();
      return { message, stopped_by: session.stoppedBy, bound: session.bound, final_instruction: instruction(session) };
    },
    get: (id) => sessionReply(entryOf(id)),
    close: (id) => ended.get(id) ?? end(id, entryOf(id)),
    batch: async (requests) => {
      const turns = new Map<string, Promise<unknown>>();
      const results = requests.map((request, at) => {
        const id = sessionOf(request);
        const before = id === undefined ? undefined : turns.get(id);
        const mine = (before ?? Promise.resolve()).then(() => answered(service, request, at));
        if (id !== undefined) turns.set(id, mine);
        return mine;
      });
      return { results: await Promise.all(results) };
    },
    sweep: () => {
      let swept = 0;
      for (const [id, entry] of sessions) {
        if (!expired(entry)) continue;
        end(id, entry);
        swept++;
      }
      return swept;
    },
    drain: () => {
      draining = true;
    },
    get draining() {
      return draining;
    },
  };
  const sessionReply = ({ session, questionId }: Entry): SessionReply => {
    const { perClaim, awaitsVerdict, covered, ...state } = session.state;
    return {
      session: session.id,
      question_id: questionId,
      mode: session.mode,
      claims: perClaim.length,
      stopped_by: session.stoppedBy,
      bound: session.bound,
      ...state,
      per_claim: [...perClaim],
      covered,
      awaits_verdict: awaitsVerdict,
    };
  };
  return service;
}

async function answered(service: Service, request: unknown, at: number): Promise<BatchReply['results'][number]> {
  try {
    const item = parseRequest(batchItem, request, ['requests', at]);
    switch (item.op) {
      case 'open': {
        const { op: _, ...open } = item;
        return { status: 201, body: await service.openSession(open) };
      }
      case 'observe': {
        const { op: _, session, ...observe } = item;
        return { status: 200, body: await service.observe(session, observe) };
      }
      case 'verdict': {
        const { op: _, session, ...verdict } = item;
        return { status: 200, body: await service.verdict(session, verdict) };
      }
      case 'stop':
        return { status: 200, body: service.stop(item.session) };
      case 'get':
        return { status: 200, body: service.get(item.session) };
      case 'close':
        return { status: 200, body: service.close(item.session) };
    }
  } catch (error) {
    const refused = asServiceError(error);
    if (!(refused instanceof ServiceError)) throw refused;
    return { status: refused.status, body: refused.body };
  }
}

function sessionOf(request: unknown): string | undefined {
  const id = (request as { session?: unknown } | null)?.session;
  return typeof id === 'string' ? id : undefined;
}

function observationReply(session: GateSession, seen: Observation): ObservationReply {
  return {
    session: session.id,
    loop: seen.loop,
    action: seen.action,
    margin: seen.margin,
    per_claim: [...seen.perClaim],
    covered: seen.covered,
    stopped_by: seen.stoppedBy,
    bound: seen.bound,
    new_sentences: seen.newSentences,
    why: seen.because,
    error: seen.error,
    final_instruction: instruction(session),
    replayed: false,
  };
}

function instruction(session: GateSession): string | null {
  return session.stoppedBy === null ? null : finalInstruction(session);
}

function digestOf(request: unknown): string {
  return createHash('sha256').update(canonicalJson(request)).digest('base64url');
}

/** What the session refuses is the client's to mend, and a decider that fails is nobody's mistake here. */
function asServiceError(error: unknown): unknown {
  if (error instanceof ServiceError) return error;
  if (error instanceof GateDeciderError) return new ServiceError('decider_failed', error.message);
  if (error instanceof InputError) {
    const { field } = error.place;
    return new ServiceError('invalid', error.message, { field: field ?? 'evidence' });
  }
  return error;
}

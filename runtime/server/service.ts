import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { canonicalJson } from '../../src/core/hash.js';
import { monotonic } from '../session/clock.js';
import type { Gate, GateSession } from '../session/index.js';
import { asServiceError, instruction, observationReply, sessionReply } from './replies.js';
import { ServiceError } from './service-error.js';
import type {
  EndReply,
  MarginEvent,
  ObservationReply,
  ObserveRequest,
  OpenRequest,
  SessionReply,
  StopReply,
  VerdictRequest,
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
  /** Milliseconds. Default: a clock that is never set back. */
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
    options?: { onMargin?: ((event: MarginEvent) => void) | undefined },
  ): Promise<ObservationReply>;
  verdict(id: string, request: VerdictRequest): Promise<ObservationReply>;
  /** The agent is about to end by itself. */
  stop(id: string): StopReply;
  get(id: string): SessionReply;
  /** The summary; the same again for a while. */
  close(id: string): EndReply;
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
  /** Numbers of searches that were refused while later ones were taken. */
  refused: Set<number>;
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

export function openService({ gate, limits: given = {}, clock = monotonic }: ServiceOptions): Service {
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
  /** A client that is not heard of any more did not finish: where its trajectory would have ended is not known. */
  const end = (id: string, { session }: Entry, reason: 'hostFinished' | 'error' = 'error'): EndReply => {
    const { event: _, ...summary } = session.finish(reason);
    sessions.delete(id);
    ended.set(id, summary);
    return summary;
  };
  const inTurn = async <T>(entry: Entry, field: string, work: () => Promise<T>): Promise<T> => {
    if (entry.waiting >= limits.maxWaiting)
      throw new ServiceError('session_busy', `session ${entry.session.id}: ${entry.waiting} requests wait for their turn`, {
        retryAfter: 1,
      });
    entry.waiting++;
    try {
      return await work();
    } catch (error) {
      throw asServiceError(error, field);
    } finally {
      entry.waiting--;
      entry.used = clock();
    }
  };

  const opened = async (request: OpenRequest, digest: string): Promise<SessionReply> => {
    const { session: id, question, question_id: questionId, claims, bounds } = request;
    checkBounds(bounds, gate.settings.bounds);
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
        refused: new Set(),
        lastStep: undefined,
        lastVerdict: undefined,
      };
      sessions.set(session.id, entry);
      return sessionReply(session, entry.questionId);
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
      const old = id === undefined ? undefined : sessions.get(id);
      if (old && expired(old)) end(id as string, old);
      const known = id === undefined ? undefined : (sessions.get(id) ?? opening.get(id));
      if (known) {
        if (known.request === digest) return 'reply' in known ? known.reply : sessionReply(known.session, known.questionId);
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
    observe: (id, request, { onMargin } = {}) => {
      const entry = entryOf(id);
      const { evidence, query, sub_answer: subAnswer, tokens, step = entry.steps + 1 } = request;
      const digest = digestOf(request);
      const { lastStep } = entry;
      if (request.step !== undefined && lastStep?.step === step) {
        if (lastStep.digest === digest) return lastStep.reply.then((reply) => ({ ...reply, replayed: true }));
        throw new ServiceError('step_conflict', `step ${step}: was sent before with other content`, { field: 'step' });
      }
      // A search that was refused while a later one was taken is still open under its number.
      const mended = entry.refused.delete(step);
      if (!mended && step !== entry.steps + 1 && entry.session.stoppedBy === null)
        throw new ServiceError('step_conflict', `step: got ${step}, expected ${entry.steps + 1}`, {
          field: 'step',
          got: String(step),
          expected: String(entry.steps + 1),
        });
      if (!mended) entry.steps++;
      const reply = inTurn(entry, 'evidence', async () => {
        const seen = await entry.session.observe(evidence, {
          query,
          subAnswer,
          tokens,
          onMargin: onMargin && (({ loop, margin, perClaim }) => onMargin({ session: id, loop, margin, per_claim: [...perClaim] })),
        });
        return observationReply(entry.session, seen);
      });
      entry.lastStep = { step, digest, reply };
      return reply.catch((error: unknown) => {
        // A search whose decider failed was taken all the same, and the same request again fails the same way. What was refused took no step.
        if (error instanceof ServiceError && error.code === 'decider_failed') throw error;
        if (entry.lastStep?.reply === reply) {
          entry.steps--;
          entry.lastStep = undefined;
        } else entry.refused.add(step);
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
      const reply = inTurn(entry, 'covered', async () => observationReply(session, await session.verdict({ covered, p })));
      entry.lastVerdict = { step: loops, digest, reply };
      return reply.catch((error: unknown) => {
        if (entry.lastVerdict?.reply === reply) entry.lastVerdict = undefined;
        throw error;
      });
    },
    stop: (id) => {
      const { session } = entryOf(id);
      const message = session.nativeStop();
      return { message, stopped_by: session.stoppedBy, bound: session.bound, final_instruction: instruction(session) };
    },
    get: (id) => {
      const { session, questionId } = entryOf(id);
      return sessionReply(session, questionId);
    },
    close: (id) => {
      const entry = sessions.get(id);
      return entry ? end(id, entry, expired(entry) ? 'error' : 'hostFinished') : (ended.get(id) ?? end(id, entryOf(id)));
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
  return service;
}

function digestOf(request: unknown): string {
  return createHash('sha256').update(canonicalJson(request)).digest('base64url');
}

/** A client may bind a question closer than the service does, never wider: the bounds are the operator's guard against costs. */
function checkBounds(asked: OpenRequest['bounds'], most: Gate['settings']['bounds']): void {
  for (const name of Object.keys(most) as (keyof typeof most)[]) {
    const [value, limit] = [asked?.[name], most[name]];
    if (value === undefined || limit === null || (value !== null && value <= limit)) continue;
    const expected = `at most ${limit}, as the service is set`;
    throw new ServiceError('invalid', `bounds.${name}: got ${value === null ? 'no bound' : value}, expected ${expected}`, {
      field: `bounds.${name}`,
      expected,
      got: String(value),
    });
  }
}

import { InputError } from '../../src/core/errors.js';
import type { GateSession } from '../session/session.js';
import { type ChatMessage, type MessageReading, evidenceOf, tokensOf } from './chat-messages.js';
import { type GuardedSearch, guardedSearch } from './guarded-search.js';
import { DEFAULT_MAX_TURNS } from './step-loop.js';

/** What a node, an edge or a hook is told of the run that it belongs to. */
export interface RunContext {
  readonly configurable?: { readonly [name: string]: unknown } | undefined;
  readonly context?: unknown;
  readonly signal?: AbortSignal | undefined;
}

/**
 * The question's session, or how to find it: one agent serves many threads at once. A session lives in its process, outside the state that is
 * checkpointed, so a thread names it by an id of its own.
 */
export type Sessions = GateSession | ((run: RunContext) => GateSession | undefined);

/** One question's run in a graph. */
export interface GraphRun {
  readonly session: GateSession;
  readonly guard: GuardedSearch;
  /** Requests to the model before its answer was asked for. */
  turns: number;
  /** What has to be said to a model that ended by itself. */
  message: string | null;
  failed: Error | null;
  /** Notes what a request took. It is told to the session when the step has ended, behind the tools that it called. */
  took(reply: ChatMessage): void;
  tell(): void;
}

export type RunOf = (where: RunContext | undefined) => GraphRun;

export function graphRuns(sessions: Sessions, { evidence = evidenceOf, query }: MessageReading): RunOf {
  const runs = new WeakMap<GateSession, GraphRun>();
  return (where = {}) => {
    const session = typeof sessions === 'function' ? sessions(where) : sessions;
    if (!session)
      throw new InputError(
        `session: got none for thread ${JSON.stringify(where.configurable?.thread_id ?? null)}, expected an open one: sessions are not part of a thread's checkpoints, open one for it and observe what the thread has found`,
      );
    const known = runs.get(session);
    if (known) return known;
    let owed = 0;
    const run: GraphRun = {
      session,
      // A tool may answer with a Command or with its failure, which hold no evidence.
      guard: guardedSearch(session, {
        evidence: (result, input) => (isMessage(result) && result.status !== 'error' ? evidence(result, input) : ''),
        ...(query && { query }),
      }),
      turns: 0,
      message: null,
      failed: null,
      took: (reply) => {
        owed += tokensOf(reply);
      },
      tell: () => {
        session.spend(owed);
        owed = 0;
      },
    };
    runs.set(session, run);
    return run;
  };
}

/** Requests to the model before its answer is asked for, where nothing is said: enough for every search, and for being told to go on after each. */
export function mostTurns({ bounds }: GateSession, given: number | undefined): number {
  return given ?? Math.max(DEFAULT_MAX_TURNS, 2 * (bounds.maxSteps ?? 0) + 2);
}

function isMessage(value: unknown): value is ChatMessage {
  return typeof value === 'object' && value !== null && 'content' in value;
}

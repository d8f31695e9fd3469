import type { Evidence } from '../session/evidence.js';
import { refusedSearch } from '../session/final-instruction.js';
import type { GateSession } from '../session/session.js';

export interface SearchReading {
  /** What of a search tool's result is evidence. Default: the result itself, a text or a list of sentences. */
  evidence?: ((result: unknown, input: unknown) => Evidence) | undefined;
  /** The follow-up query in a search tool's input. Default: its field `query`, or the input itself where it is a text. */
  query?: ((input: unknown) => string | undefined) | undefined;
}

/** One question's searches, as the tools of a host run them. */
export interface GuardedSearch {
  readonly session: GateSession;
  /**
   * Runs a search in the session's turn, or not at all once the run has stopped: then the text that the model is told. What the tool itself throws
   * is the host's to deal with; what the gate throws is kept, because hosts hand every error of a tool to the model.
   */
  search(input: unknown, run: () => unknown, signal?: AbortSignal): Promise<unknown>;
  /** Another tool: it runs unless the run has stopped. */
  other(run: () => unknown): unknown;
  /** Throws what `search` had to keep. Called wherever the host lets an error through. */
  rethrow(): void;
  /** Whether `rethrow` would throw, or has thrown, exactly this. */
  kept(): { error: unknown } | undefined;
}

export function guardedSearch(session: GateSession, { evidence = itself, query = queryOf }: SearchReading = {}): GuardedSearch {
  let kept: { error: unknown } | undefined;
  return {
    session,
    search: async (input, run, signal) => {
      let own: { error: unknown } | undefined;
      const ran = async (): Promise<unknown> => {
        try {
          return await lastOf(run());
        } catch (error) {
          own = { error };
          throw error;
        }
      };
      try {
        const done = await session.search(ran, { evidence: (result) => evidence(result, input), query: query(input), signal });
        return done.ran ? done.result : refusedSearch(session);
      } catch (error) {
        // An aborted run is ended by its host, which knows of the abort.
        if (own?.error === error || signal?.aborted) throw error;
        kept ??= { error };
        return refusedSearch(session);
      }
    },
    other: (run) => (session.stoppedBy === null && kept === undefined ? run() : refusedSearch(session)),
    rethrow: () => {
      if (kept) throw kept.error;
    },
    kept: () => kept,
  };
}

function itself(result: unknown): Evidence {
  return result as Evidence;
}

function queryOf(input: unknown): string | undefined {
  const query: unknown = typeof input === 'string' ? input : (input as { query?: unknown } | null)?.query;
  return typeof query === 'string' ? query : undefined;
}

/** A tool may yield preliminary results: its last one counts. */
async function lastOf(result: unknown): Promise<unknown> {
  const settled: unknown = await result;
  if (typeof settled !== 'object' || settled === null || !(Symbol.asyncIterator in settled)) return settled;
  let last: unknown;
  for await (const one of settled as AsyncIterable<unknown>) last = one;
  return last;
}

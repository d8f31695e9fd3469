import type { LiveDecider, LiveDeciderSession, LiveLoop, LiveVerdict } from '../deciders/live.js';
import type { Claim } from '../../src/core/claims.js';
import { checkedVerdict } from './host-reports.js';
import { timeLimit } from './time-limit.js';

/** The decider's claims: there, to be made at the first call, or not read at all. */
export type SessionClaims = readonly Claim[] | ((signal: AbortSignal) => Promise<readonly Claim[]>) | null;

export interface DeciderCallsOptions {
  id: string;
  question: string;
  claims: SessionClaims;
  decider: LiveDecider;
  clock: () => number;
  /** Told when the claims were made at a call. */
  onClaims: (made: { k: number; ms: number }) => void;
}

export type DeciderCall =
  /** Without claims the decider is not asked. */
  | { kind: 'no claims' }
  | { kind: 'verdict'; verdict: LiveVerdict; ms: number }
  | { kind: 'failed'; stage: 'claims' | 'decider'; reason: unknown; ms: number };

export interface DeciderCalls {
  /** An empty claim list is never covered, whatever a decider would say of it. */
  readonly nothingToCover: boolean;
  /**
   * @param limit milliseconds for claims and verdict together
   * @param onCall told when the decider is really asked
   */
  call(
    history: readonly LiveLoop[],
    options: { limit: number; signal: AbortSignal | undefined; margins: readonly number[] | undefined; onCall: () => void },
  ): Promise<DeciderCall>;
}

/** One question's calls of its decider; claims that the margin does not need are made at the first of them (method.md §7). */
export function deciderCalls({ id, question, claims: given, decider, clock, onClaims }: DeciderCallsOptions): DeciderCalls {
  let claims = given;
  let ruling: LiveDeciderSession | undefined;
  const nothingToCover = (): boolean => Array.isArray(claims) && claims.length === 0;
  return {
    get nothingToCover() {
      return nothingToCover();
    },
    call: async (history, { limit: ms, signal, margins, onCall }) => {
      let since = clock();
      const took = (): number => Math.max(0, clock() - since);
      const limit = timeLimit(ms, signal);
      let stage: 'claims' | 'decider' = 'claims';
      try {
        if (typeof claims === 'function') {
          claims = await limit.race(claims(limit.signal));
          onClaims({ k: claims.length, ms: took() });
          // Making the claims has a line of its own.
          since = clock();
        }
        if (nothingToCover()) return { kind: 'no claims' };
        stage = 'decider';
        onCall();
        ruling ??= decider.open({ id, question, claims });
        const verdict = checkedVerdict(await limit.race(ruling.call(history, { signal: limit.signal, margins })));
        return { kind: 'verdict', verdict, ms: took() };
      } catch (reason) {
        // What is left of a call that was given up may still be at work on this question's state.
        if (limit.signal.aborted) ruling = undefined;
        return { kind: 'failed', stage, reason, ms: took() };
      } finally {
        limit.clear();
      }
    },
  };
}

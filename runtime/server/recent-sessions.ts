import { type GateEvent, type GateLine, type LoggedSession, groupGateEvents } from '../../src/core/gate-log.js';

/** The events of the last questions, open and ended, for the pages that show them. */
export interface RecentSessions {
  event(event: GateEvent): void;
  /** The latest first. */
  list(): LoggedSession[];
  get(id: string): LoggedSession | undefined;
  /** The header of the gate that a session names. */
  header(gate: string): GateLine | undefined;
}

/** @param keep questions at most; the oldest leaves first */
export function recentSessions(keep = 200): RecentSessions {
  const headers: GateLine[] = [];
  const events = new Map<string, GateEvent[]>();
  const read = (of: readonly GateEvent[]): LoggedSession | undefined => groupGateEvents([...headers, ...of]).sessions[0];
  return {
    event: (event) => {
      if (event.event === 'gate') headers.push(event);
      if (event.event === 'gate' || event.event === 'drift') return;
      if (event.event !== 'open') {
        events.get(event.session)?.push(event);
        return;
      }
      // An id that comes again is the latest question.
      events.delete(event.session);
      events.set(event.session, [event]);
      const oldest = events.size > keep ? events.keys().next().value : undefined;
      if (oldest !== undefined) events.delete(oldest);
    },
    list: () => [...events.values()].reverse().flatMap((of) => read(of) ?? []),
    get: (id) => {
      const of = events.get(id);
      return of && read(of);
    },
    header: (gate) => headers.find((one) => one.gate === gate),
  };
}

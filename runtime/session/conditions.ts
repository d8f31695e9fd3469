import type { GateSession } from './session.js';

/** Whether a host's loop should end, from what its session knows. */
export type StopCondition = (session: GateSession) => boolean | Promise<boolean>;

/** Any of the gate's own stops: covered, a bound, an error under `onError: 'stop'`, or the host's own end. */
export const stopped: StopCondition = (session) => session.stoppedBy !== null;

/** The decider ruled that every claim is covered. */
export const covered: StopCondition = (session) => session.stoppedBy === 'covered';

/** At least n searches. */
export function stepsAtLeast(n: number): StopCondition {
  return (session) => session.state.loops >= n;
}

/** At least n tokens of host and decider. */
export function tokensAtLeast(n: number): StopCondition {
  return (session) => session.state.tokens >= n;
}

/** The first that holds decides, in the order given; those behind it are not asked. None: never. */
export function anyOf(...conditions: readonly StopCondition[]): StopCondition {
  return async (session) => {
    for (const condition of conditions) if (await condition(session)) return true;
    return false;
  };
}

/** The first that does not hold decides, in the order given; those behind it are not asked. None: never, since a loop without a condition goes on. */
export function allOf(...conditions: readonly StopCondition[]): StopCondition {
  return async (session) => {
    for (const condition of conditions) if (!(await condition(session))) return false;
    return conditions.length > 0;
  };
}

export function not(condition: StopCondition): StopCondition {
  return async (session) => !(await condition(session));
}

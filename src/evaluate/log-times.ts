import type { GateLoop } from '../core/gate-log.js';
import { breakEven } from './break-even.js';
import { quantiles } from './margin-quantiles.js';
import type { ShadowQuestion, ShadowRun } from './log-runs.js';
import type { GateTraffic } from './log-traffic.js';
import { alwaysVerify, gate } from './policies.js';

const PROBABILITIES = [0.5, 0.9, 0.99, 1] as const;

/** Milliseconds. */
export interface Duration {
  count: number;
  mean: number;
  p50: number;
  p90: number;
  p99: number;
  most: number;
}

export interface LogTimes {
  /** Of a decider call without the making of its claims, of the gate's own work in a loop, of the host's before a loop (its follow-up and its search), of making a question's claims. */
  decider: Duration | null;
  gate: Duration | null;
  host: Duration | null;
  claims: Duration | null;
}

export function logTimes(traffic: readonly GateTraffic[]): LogTimes {
  const sessions = traffic.flatMap(({ log }) => log.sessions);
  const loops = sessions.flatMap((session) => session.loops);
  return {
    decider: duration(loops.flatMap((one) => (one.decider_ms === null ? [] : [one.decider_ms]))),
    gate: duration(loops.map((one) => one.gate_ms)),
    host: duration(loops.map((one) => one.host_ms)),
    claims: duration(sessions.flatMap(({ claims }) => (claims === null ? [] : [claims.ms]))),
  };
}

function duration(values: readonly number[]): Duration | null {
  if (values.length === 0) return null;
  const [p50, p90, p99, most] = quantiles(Float64Array.from(values), PROBABILITIES) as [number, number, number, number];
  return { count: values.length, mean: values.reduce((sum, one) => sum + one, 0) / values.length, p50, p90, p99, most };
}

/** Seconds a question, from the times in the log. */
export interface LogBreakEven {
  name: string;
  questions: number;
  /** Verification under always-verify; and under the gate, with the gate's own work, for each completion; both with the making of the claims. */
  always: number;
  gated: { pessimistic: number; optimistic: number };
  addedLoops: { pessimistic: number; optimistic: number };
  /** Seconds that one loop of the host takes at most for the gate to pay in time. */
  limit: { pessimistic: number; optimistic: number };
  /** Measured. */
  host: number;
}

/**
 * The break-even rule of the papers (CoVeR, appendix C) with this user's own times: the gate pays while one more loop of the host costs less than
 * what is saved on the decider, by added loop. A call at a loop that nobody saw takes the mean of all calls. Null where no call was timed.
 *
 * Making a question's claims counts once for whoever needs them. Made at the first call they cost always-verify, and the gate only where it
 * calls at all. Made before the first search, for the margin, they cost the gate, and always-verify where its decider reads them.
 */
export function logBreakEven(run: ShadowRun, tau: number, times: LogTimes): LogBreakEven | null {
  if (run.questions.length === 0 || times.decider === null || times.host === null) return null;
  const callMean = times.decider.mean;
  const gateMean = times.gate?.mean ?? 0;
  let always = 0;
  const gated = { pessimistic: 0, optimistic: 0 };
  const addedLoops = { pessimistic: 0, optimistic: 0 };
  for (const question of run.questions) {
    const { session, observed } = question;
    const stop = alwaysVerify(observed).stop;
    for (let loop = 1; loop <= stop; loop++) always += callTime(session.loops[loop - 1], callMean);
    const { claims } = session;
    if (claims !== null && (claims.loop > 0 || observed.deciderClaims !== null)) always += claims.ms;
    for (const which of ['pessimistic', 'optimistic'] as const) {
      const outcome = gate(tau)(question[which]);
      gated[which] += gatedTime(question, { which, tau, stop: outcome.stop, callMean, gateMean });
      addedLoops[which] += outcome.stop - stop;
    }
  }
  const n = run.questions.length;
  const each = (ms: number): number => ms / 1000 / n;
  const limitOf = (which: 'pessimistic' | 'optimistic'): number =>
    breakEven({ always: each(always), gated: each(gated[which]), addedLoops: addedLoops[which] / n });
  return {
    name: run.name,
    questions: n,
    always: each(always),
    gated: { pessimistic: each(gated.pessimistic), optimistic: each(gated.optimistic) },
    addedLoops: { pessimistic: addedLoops.pessimistic / n, optimistic: addedLoops.optimistic / n },
    limit: { pessimistic: limitOf('pessimistic'), optimistic: limitOf('optimistic') },
    host: times.host.mean / 1000,
  };
}

export function logBreakEvenWords(one: LogBreakEven): string {
  const { name, questions, always, gated, limit, host } = one;
  const pays = (which: 'pessimistic' | 'optimistic'): boolean => host < limit[which];
  const range = (low: number, high: number, digits: number): string =>
    low.toFixed(digits) === high.toFixed(digits) ? low.toFixed(digits) : `${low.toFixed(digits)} to ${high.toFixed(digits)}`;
  const least = Math.min(limit.pessimistic, limit.optimistic);
  const most = Math.max(limit.pessimistic, limit.optimistic);
  const border =
    least === Infinity
      ? 'it adds no loop, so every second saved is gained'
      : most === 0
        ? 'it saves no time on verification, whatever a loop costs'
        : `it pays in time while a loop of the host takes less than ${most === Infinity ? `${least.toFixed(2)} s, or whatever it takes,` : `${range(least, most, 2)} s`} and one takes ${host.toFixed(2)} s`;
  const verdict =
    pays('pessimistic') && pays('optimistic')
      ? 'The gate pays.'
      : !pays('pessimistic') && !pays('optimistic')
        ? 'The gate does not pay.'
        : 'Whether the gate pays is open: it depends on loops that nobody saw. A log of runs that go on after a fire would say it.';
  return `${name}: verification takes ${always.toFixed(3)} s a question when always asked, ${range(gated.optimistic, gated.pessimistic, 3)} s with the gate and its own work, claims included (measured on ${questions} questions in shadow); ${border}. ${verdict}`;
}

interface GatedTime {
  which: 'pessimistic' | 'optimistic';
  tau: number;
  stop: number;
  callMean: number;
  gateMean: number;
}

function gatedTime({ session, ...runs }: ShadowQuestion, { which, tau, stop, callMean, gateMean }: GatedTime): number {
  const { claims, loops } = session;
  let [total, calls] = [0, 0];
  for (let loop = 1; loop <= stop; loop++) {
    total += loops[loop - 1]?.gate_ms ?? gateMean;
    if ((runs[which].margins[loop - 1] as number) > tau) continue;
    calls++;
    total += callTime(loops[loop - 1], callMean);
  }
  return claims !== null && (claims.loop === 0 || calls > 0) ? total + claims.ms : total;
}

function callTime(loop: GateLoop | undefined, mean: number): number {
  return loop?.decider_ms ?? mean;
}

import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from 'prom-client';
import type { GateEvent } from '../../src/core/gate-log.js';
import type { Service } from './service.js';

export interface ServiceMetrics {
  readonly contentType: string;
  text(): Promise<string>;
  /** Counts a gate's event. */
  event(event: GateEvent): void;
  answered(answered: { route: string; status: number; code: string | null; seconds: number }): void;
  /** Whose open sessions are told. */
  watch(service: Service, lost: () => number): void;
}

/** Seconds; from a cached encoder's fraction of a millisecond to a language model's minute. */
const SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** The service's Prometheus metrics, in a registry of their own. No label has a session's or a question's name. */
export function serviceMetrics(): ServiceMetrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry, prefix: 'hopgate_' });
  const opened = new Counter({ name: 'hopgate_sessions_opened_total', help: 'Questions opened.', labelNames: ['mode'], registers });
  const ended = new Counter({
    name: 'hopgate_sessions_ended_total',
    help: 'Questions ended, by what stopped them and the bound that was reached.',
    labelNames: ['stopped_by', 'bound'],
    registers,
  });
  const loops = new Counter({
    name: 'hopgate_loops_total',
    help: 'Searches observed: whether the decider was asked, and why or why not.',
    labelNames: ['asked', 'because'],
    registers,
  });
  const verdicts = new Counter({
    name: 'hopgate_verdicts_total',
    help: 'What the decider said.',
    labelNames: ['verdict', 'because'],
    registers,
  });
  const failures = new Counter({
    name: 'hopgate_decider_failures_total',
    help: 'Loops without the verdict that was asked for.',
    registers,
  });
  const deciderTime = new Histogram({ name: 'hopgate_decider_seconds', help: 'Decider calls.', buckets: SECONDS, registers });
  const gateTime = new Histogram({ name: 'hopgate_gate_seconds', help: 'Encoding and margin of a loop.', buckets: SECONDS, registers });
  const hostTime = new Histogram({ name: 'hopgate_host_seconds', help: "The agent's own time of a loop.", buckets: SECONDS, registers });
  const margins = new Histogram({
    name: 'hopgate_margin',
    help: 'State margins.',
    buckets: [0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 1, 2],
    registers,
  });
  const open = new Gauge({ name: 'hopgate_sessions_open', help: 'Questions open now.', registers });
  const lost = new Gauge({ name: 'hopgate_log_events_lost', help: 'Events that could not be written to the log.', registers });
  let refresh = (): void => undefined;
  const drift = new Gauge({ name: 'hopgate_drift_alarm', help: '1 after the test of drift raised its alarm.', registers });
  const requests = new Histogram({
    name: 'hopgate_http_request_seconds',
    help: 'Answered requests.',
    labelNames: ['route', 'status', 'code'],
    buckets: SECONDS,
    registers,
  });
  drift.set(0);
  return {
    contentType: registry.contentType,
    text: () => {
      refresh();
      return registry.metrics();
    },
    answered: ({ route, status, code, seconds }) => requests.observe({ route, status: String(status), code: code ?? '' }, seconds),
    watch: (service, lostEvents) => {
      refresh = () => {
        open.set(service.open.sessions);
        lost.set(lostEvents());
      };
    },
    event: (event) => {
      if (event.event === 'open') opened.inc({ mode: event.mode });
      else if (event.event === 'end') ended.inc({ stopped_by: event.stopped_by, bound: event.bound ?? '' });
      else if (event.event === 'drift') drift.set(1);
      else if (event.event === 'loop') {
        loops.inc({ asked: String(event.asked), because: event.because });
        if (event.asked && event.covered !== null)
          verdicts.inc({ verdict: event.covered ? 'covered' : 'not_covered', because: event.because });
        if (event.error !== null && event.covered === null) failures.inc();
        if (event.decider_ms !== null) deciderTime.observe(event.decider_ms / 1000);
        gateTime.observe(event.gate_ms / 1000);
        hostTime.observe(event.host_ms / 1000);
        if (event.margin !== null) margins.observe(event.margin);
      }
    },
  };
}

import type { GateEvent } from '../../src/core/gate-log.js';
import type { Gate } from '../session/create-gate.js';
import type { GateLogSink } from '../session/gate-log-file.js';
import { type HttpOptions, type HttpServer, listen } from './http-server.js';
import { serviceMetrics } from './metrics.js';
import { type RecentSessions, recentSessions } from './recent-sessions.js';
import { type Service, type ServiceLimits, openService } from './service.js';
import type { GateSpans } from './spans.js';

export interface StartOptions extends Omit<HttpOptions, 'metrics' | 'onAnswered' | 'pages'> {
  /** Makes the gate with this log; what it logs is also counted, and shown. */
  gateOf: (log: GateLogSink) => Gate;
  /** Where the events are kept. Stays its owner's. */
  log?: GateLogSink | undefined;
  limits?: Partial<ServiceLimits> | undefined;
  spans?: GateSpans | undefined;
  /** Pages over the last questions, by path. Default: none. */
  pages?: ((recent: RecentSessions) => NonNullable<HttpOptions['pages']>) | undefined;
}

export interface RunningService {
  readonly service: Service;
  readonly http: HttpServer;
  close(): Promise<void>;
}

/** The whole service: gate, sessions, HTTP, metrics. Encoder, drafter, decider and log stay their owners'. */
export async function startService({ gateOf, log, limits, spans, pages, ...http }: StartOptions): Promise<RunningService> {
  const metrics = serviceMetrics();
  const recent = pages && recentSessions();
  const sink: GateLogSink = {
    write: (event: GateEvent) => {
      log?.write(event);
      metrics.event(event);
      spans?.event(event);
      recent?.event(event);
    },
    get lost() {
      return log?.lost ?? { events: 0, reason: null };
    },
    close: () => undefined,
  };
  const service = openService({ gate: gateOf(sink), limits });
  metrics.watch(service, () => sink.lost.events);
  const server = await listen(service, {
    ...http,
    metrics: { contentType: metrics.contentType, text: () => metrics.text() },
    onAnswered: (answered) => metrics.answered(answered),
    pages: recent && pages(recent),
  });
  return {
    service,
    http: server,
    close: async () => {
      await server.close();
      spans?.close();
    },
  };
}

import { type Context, type Span, type Tracer, type TracerProvider, SpanStatusCode, context, trace } from '@opentelemetry/api';
import type { GateEvent, GateLoop } from '../../src/core/gate-log.js';
import { monotonic } from '../session/clock.js';

/** Makes OpenTelemetry spans of a gate's events, by the conventions for generative AI. */
export interface GateSpans {
  event(event: GateEvent): void;
  /** Ends the spans of questions that were not ended. */
  close(): void;
}

/**
 * One span a question (`invoke_agent`), and in it one a search (`execute_tool`) with the gate's word as an evaluation event on it. Queries are
 * attributes only where the log has content. Times are those of the log: a span of a search holds the agent's own time, the gate's and the decider's, and not that of making claims.
 */
export function gateSpans(provider: TracerProvider, { clock = monotonic }: { clock?: (() => number) | undefined } = {}): GateSpans {
  const tracer = provider.getTracer('hopgate');
  const open = new Map<string, { span: Span; within: Context }>();
  return {
    event: (event) => {
      if (event.event === 'open') {
        const span = tracer.startSpan('invoke_agent', {
          startTime: event.at,
          attributes: {
            'gen_ai.operation.name': 'invoke_agent',
            'gen_ai.conversation.id': event.session,
            'hopgate.mode': event.mode,
            'hopgate.claims': event.claims,
          },
        });
        open.set(event.session, { span, within: trace.setSpan(context.active(), span) });
      } else if (event.event === 'loop') {
        const parent = open.get(event.session);
        if (parent) searchSpan(tracer, event, parent.within, clock());
      } else if (event.event === 'end') {
        const parent = open.get(event.session);
        open.delete(event.session);
        parent?.span.setAttributes({
          'hopgate.stopped_by': event.stopped_by,
          ...(event.bound !== null && { 'hopgate.bound': event.bound }),
          'hopgate.loops': event.loops,
          'hopgate.decider_calls': event.calls,
          'hopgate.skips': event.skips,
          'hopgate.tokens': event.tokens,
        });
        if (event.stopped_by === 'error') parent?.span.setStatus({ code: SpanStatusCode.ERROR });
        parent?.span.end(clock());
      }
    },
    close: () => {
      for (const { span } of open.values()) span.end(clock());
      open.clear();
    },
  };
}

function searchSpan(tracer: Tracer, loop: GateLoop, within: Context, now: number): void {
  const took = loop.host_ms + loop.gate_ms + (loop.decider_ms ?? 0);
  const span = tracer.startSpan(
    'execute_tool search',
    {
      startTime: now - took,
      attributes: {
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.tool.name': 'search',
        ...(loop.query !== null && { 'gen_ai.tool.call.arguments': JSON.stringify({ query: loop.query }) }),
        'hopgate.loop': loop.loop,
        'hopgate.new_sentences': loop.new_sentences,
        'hopgate.asked': loop.asked,
        'hopgate.because': loop.because,
        ...(loop.margin !== null && { 'hopgate.margin': loop.margin }),
      },
    },
    within,
  );
  span.addEvent(
    'gen_ai.evaluation.result',
    {
      'gen_ai.evaluation.name': 'coverage',
      'gen_ai.evaluation.score.label':
        loop.covered === null ? (loop.asked ? 'unknown' : 'not asked') : loop.covered ? 'covered' : 'not covered',
      ...(loop.p !== null && { 'gen_ai.evaluation.score.value': loop.p }),
    },
    now,
  );
  if (loop.error !== null) span.setStatus({ code: SpanStatusCode.ERROR, message: loop.error });
  span.end(now);
}

export interface Exporter {
  provider: TracerProvider;
  close(): Promise<void>;
}

/**
 * Sends spans to an OTLP endpoint by HTTP (`OTEL_EXPORTER_OTLP_ENDPOINT` and its kin say where). The two packages are optional and loaded here alone;
 * throws what `load` throws where they are missing.
 *
 * @param load imports a package by its name
 */
export async function otlpExporter(load: (name: string) => Promise<unknown>): Promise<Exporter> {
  const sdk = (await load('@opentelemetry/sdk-trace-base')) as {
    BasicTracerProvider: new (options: object) => TracerProvider & { shutdown(): Promise<void> };
    BatchSpanProcessor: new (exporter: unknown) => unknown;
  };
  const otlp = (await load('@opentelemetry/exporter-trace-otlp-http')) as { OTLPTraceExporter: new () => unknown };
  const provider = new sdk.BasicTracerProvider({ spanProcessors: [new sdk.BatchSpanProcessor(new otlp.OTLPTraceExporter())] });
  return { provider, close: () => provider.shutdown() };
}

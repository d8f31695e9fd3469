import { SpanStatusCode } from '@opentelemetry/api';
import { BasicTracerProvider, InMemorySpanExporter, type ReadableSpan, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import type { GateOptions } from '../../../runtime/index.js';
import { gateSpans, otlpExporter, startService } from '../../../runtime/server/index.js';
import { type Script, scriptedGate } from '../../support/scripted-gate.js';

// The scripted gate: claims on the axes 1,0,0 and 0,1,0, τ 0.4; a sentence's vector stands at its end.
const FIRST = 'Secret: 1,0,0';
const SECOND = 'Secret: 0,1,0';

interface Traced {
  post: (path: string, body: object) => Promise<Response>;
  close: (id: string) => Promise<Response>;
  /** Finished spans, in the order in which they ended. */
  spans: () => ReadableSpan[];
  shutDown: () => Promise<void>;
}

async function traced(t: TestContext, script: Script, options: Partial<GateOptions> = {}): Promise<Traced> {
  const exporter = new InMemorySpanExporter();
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  const running = await startService({
    gateOf: (log) => scriptedGate(script, { ...options, log, clock: Date.now }).gate,
    spans: gateSpans(provider),
  });
  t.after(() => running.close());
  const { address } = running.http;
  return {
    post: (path, body) =>
      fetch(`${address}${path}`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
    close: (id) => fetch(`${address}/v1/sessions/${id}`, { method: 'DELETE' }),
    spans: () => exporter.getFinishedSpans(),
    shutDown: () => running.close(),
  };
}

test('a question is one span of an agent, and each search one of a tool inside it, by the gen_ai conventions', async (t) => {
  const { post, close, spans } = await traced(t, () => true);
  await post('/v1/sessions', { question: 'Secret?', session: 'a', question_id: 'q1' });
  await post('/v1/sessions/a/observe', { evidence: [FIRST], query: 'Secret query' });
  await post('/v1/sessions/a/observe', { evidence: [SECOND], query: 'Secret query', sub_answer: 'Secret answer' });
  await close('a');
  const [skipped, called, agent, ...more] = spans();
  assert.deepEqual(more, []);
  assert.deepEqual(
    [skipped, called, agent].map((span) => span?.name),
    ['execute_tool search', 'execute_tool search', 'invoke_agent'],
  );
  const root = agent?.spanContext();
  assert.equal(agent?.parentSpanContext, undefined);
  for (const span of [skipped, called]) {
    assert.equal(span?.spanContext().traceId, root?.traceId);
    assert.equal(span?.parentSpanContext?.spanId, root?.spanId);
  }
  assert.deepEqual(agent?.attributes, {
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.conversation.id': 'a',
    'hopgate.mode': 'enforce',
    'hopgate.claims': 2,
    'hopgate.stopped_by': 'covered',
    'hopgate.loops': 2,
    'hopgate.decider_calls': 1,
    'hopgate.skips': 1,
    'hopgate.tokens': 0,
  });
  // Only the first claim is near: margin 1 > 0.4, so the decider was not asked.
  assert.deepEqual(skipped?.attributes, {
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': 'search',
    'hopgate.loop': 1,
    'hopgate.new_sentences': 1,
    'hopgate.asked': false,
    'hopgate.because': 'gate',
    'hopgate.margin': 1,
  });
  assert.deepEqual(
    [skipped, called].map((span) => span?.events.map(({ name, attributes }) => [name, attributes])),
    [
      [['gen_ai.evaluation.result', { 'gen_ai.evaluation.name': 'coverage', 'gen_ai.evaluation.score.label': 'not asked' }]],
      [['gen_ai.evaluation.result', { 'gen_ai.evaluation.name': 'coverage', 'gen_ai.evaluation.score.label': 'covered' }]],
    ],
  );
});

test('no question, query, answer or sentence is in a span unless the gate logs content', async (t) => {
  for (const content of [false, true]) {
    const { post, close, spans } = await traced(t, () => true, { content });
    await post('/v1/sessions', { question: 'Secret?', session: 'a', question_id: 'q1' });
    await post('/v1/sessions/a/observe', { evidence: [FIRST, SECOND], query: 'Secret query', sub_answer: 'Secret answer' });
    await close('a');
    const text = JSON.stringify(spans().map(({ name, attributes, events, status }) => ({ name, attributes, events, status })));
    assert.equal(text.includes('Secret'), content);
    assert.equal(spans()[0]?.attributes['gen_ai.tool.call.arguments'], content ? '{"query":"Secret query"}' : undefined);
  }
});

test('P88: a span says which bound ended a question, and a decider that failed is an error of its search, not of the run', async (t) => {
  const { post, close, spans } = await traced(t, () => {
    throw new Error('the model is gone');
  });
  await post('/v1/sessions', { question: 'Who?', session: 'a', bounds: { maxSteps: 1 } });
  await post('/v1/sessions/a/observe', { evidence: [FIRST, SECOND] });
  await close('a');
  const [search, agent] = spans();
  assert.deepEqual(search?.status, { code: SpanStatusCode.ERROR, message: 'decider failed: Error' });
  assert.deepEqual(search?.events[0]?.attributes?.['gen_ai.evaluation.score.label'], 'unknown');
  assert.deepEqual([agent?.attributes['hopgate.stopped_by'], agent?.attributes['hopgate.bound']], ['maxSteps', 'maxSteps']);
  assert.equal(agent?.status.code, SpanStatusCode.UNSET);
});

test('questions that are open when the service ends have their spans ended, and many at once keep theirs apart', async (t) => {
  const { post, spans, shutDown } = await traced(t, () => false);
  const ids = Array.from({ length: 8 }, (_, at) => `s${at}`);
  await Promise.all(ids.map((session) => post('/v1/sessions', { question: 'Who?', session })));
  await Promise.all(ids.map((session) => post(`/v1/sessions/${session}/observe`, { evidence: [FIRST] })));
  assert.equal(spans().length, 8);
  await shutDown();
  const agents = spans().filter(({ name }) => name === 'invoke_agent');
  assert.deepEqual(new Set(agents.map(({ attributes }) => attributes['gen_ai.conversation.id'])), new Set(ids));
  const searches = spans().filter(({ name }) => name === 'execute_tool search');
  assert.deepEqual(
    new Set(searches.map(({ parentSpanContext: parent }) => parent?.spanId)),
    new Set(agents.map((span) => span.spanContext().spanId)),
  );
});

test('the exporter sends spans by OTLP over HTTP to where the environment says, through the real packages', async (t) => {
  const bodies: string[] = [];
  const collector = createServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on('data', (piece: Buffer) => pieces.push(piece));
    request.on('end', () => {
      bodies.push(`${request.method} ${request.url} ${Buffer.concat(pieces).toString('latin1')}`);
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    });
  });
  await new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve));
  t.after(() => collector.close());
  const { port } = collector.address() as AddressInfo;
  process.env.OTEL_EXPORTER_OTLP_ENDPOINT = `http://127.0.0.1:${port}`;
  t.after(() => delete process.env.OTEL_EXPORTER_OTLP_ENDPOINT);
  const exporter = await otlpExporter((name) => import(name));
  const spans = gateSpans(exporter.provider);
  spans.event({
    event: 'open',
    gate: 'g',
    session: 'the-session',
    at: Date.now(),
    question_id: null,
    question: null,
    mode: 'shadow',
    run_on: false,
    budget: 6,
    bounds: { maxSteps: 6, maxCalls: null, maxTokens: null, maxMillis: null, noProgress: null },
    claims: 2,
    claim_texts: null,
  });
  spans.close();
  await exporter.close();
  assert.equal(bodies.length, 1);
  assert.match(bodies[0] as string, /^POST \/v1\/traces /);
  for (const part of ['invoke_agent', 'gen_ai.conversation.id', 'the-session']) assert.ok(bodies[0]?.includes(part), part);
});

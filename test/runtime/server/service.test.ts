import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { type TestContext, test } from 'node:test';
import { type Serving, ask, serving } from '../../support/serving.js';

const QUESTION = 'Where was the director of the film born?';
type Options = Parameters<typeof serving>[1];

async function served(t: TestContext, script: Parameters<typeof serving>[0], options?: Options): Promise<Serving> {
  const one = await serving(script, options);
  t.after(() => one.running.close());
  return one;
}

const code = ({ status, body }: { status: number; body: { [field: string]: unknown } }): unknown[] => {
  const { error } = body as { error?: { code: string; field?: string } };
  return [status, error?.code, ...(error?.field === undefined ? [] : [error.field])];
};

test('a question is opened, observed, covered and closed, and afterwards is told apart from an unknown one', async (t) => {
  const { ask: send } = await served(t, () => true);
  const opened = await send('POST', '/v1/sessions', { json: { question: QUESTION, session: 'q', question_id: '7' } });
  assert.deepEqual([opened.status, opened.body.claims, opened.body.mode, opened.body.question_id], [201, 2, 'enforce', '7']);
  const skipped = await send('POST', '/v1/sessions/q/observe', { json: { evidence: ['1,0,0'], query: 'film', step: 1 } });
  assert.deepEqual(
    [skipped.body.action, skipped.body.margin, skipped.body.covered, skipped.body.final_instruction],
    ['skip', 1, null, null],
  );
  const covered = await send('POST', '/v1/sessions/q/observe', {
    json: { evidence: [{ title: 'B', text: '0,1,0' }], step: 2, tokens: 12 },
  });
  assert.deepEqual([covered.body.action, covered.body.stopped_by], ['call', 'covered']);
  assert.match(covered.body.final_instruction as string, /^The evidence that was found covers the question\. Do not search again\./);
  const state = await send('GET', '/v1/sessions/q');
  assert.deepEqual([state.body.loops, state.body.calls, state.body.tokens, state.body.covered], [2, 1, 12, true]);
  const closed = await send('DELETE', '/v1/sessions/q');
  assert.deepEqual([closed.status, closed.body.stopped_by], [200, 'covered']);
  assert.deepEqual((await send('DELETE', '/v1/sessions/q')).body, closed.body);
  assert.deepEqual(code(await send('GET', '/v1/sessions/q')), [410, 'session_ended', 'session']);
  assert.deepEqual(code(await send('POST', '/v1/sessions/r/observe', { json: { evidence: [] } })), [404, 'session_unknown', 'session']);
});

test('the same step again is answered as before and not counted twice; another content or a gap is refused', async (t) => {
  const { ask: send, scripted } = await served(t, () => false);
  await send('POST', '/v1/sessions', { json: { question: QUESTION, session: 'q' } });
  const step = { evidence: ['1,1,0'], step: 1 };
  const [first, again] = await Promise.all([0, 1].map(() => send('POST', '/v1/sessions/q/observe', { json: step })));
  assert.deepEqual([first?.body.replayed, again?.body.replayed], [false, true]);
  assert.deepEqual([scripted.calls.length, (await send('GET', '/v1/sessions/q')).body.loops], [1, 1]);
  const other = await send('POST', '/v1/sessions/q/observe', { json: { evidence: ['0,0,1'], step: 1 } });
  assert.deepEqual(code(other), [409, 'step_conflict', 'step']);
  const gap = await send('POST', '/v1/sessions/q/observe', { json: { evidence: ['0,0,1'], step: 3 } });
  assert.deepEqual(
    [...code(gap), (gap.body.error as { message: string }).message],
    [409, 'step_conflict', 'step', 'step: got 3, expected 2'],
  );
  // A refused observation took no step.
  const bad = {
    evidence: [
      { text: 'x', page: 1, sentence: 1 },
      { text: 'y', page: 1 },
    ],
    step: 2,
  };
  assert.equal((await send('POST', '/v1/sessions/q/observe', { json: bad })).status, 400);
  assert.equal((await send('POST', '/v1/sessions/q/observe', { json: { evidence: ['0,0,1'], step: 2 } })).body.loop, 2);
});

test('opening the same question under the same id opens nothing new, and another under it is refused', async (t) => {
  const { ask: send } = await served(t, () => false);
  const open = { question: QUESTION, session: 'q' };
  await Promise.all([0, 1, 2].map(() => send('POST', '/v1/sessions', { json: open })));
  assert.equal((await send('POST', '/v1/sessions', { json: open })).status, 201);
  assert.deepEqual(code(await send('POST', '/v1/sessions', { json: { ...open, question: 'Who?' } })), [409, 'session_exists', 'session']);
  assert.match((await send('GET', '/metrics')).text, /hopgate_sessions_open 1\n/);
});

test('a decider of the client’s is asked for, and hands its verdict in once', async (t) => {
  const { ask: send } = await served(t, () => false, { gate: { decider: 'host' } });
  await send('POST', '/v1/sessions', { json: { question: QUESTION, session: 'q' } });
  const verdict = (json: unknown) => send('POST', '/v1/sessions/q/verdict', { json });
  assert.deepEqual(code(await verdict({ covered: true })), [409, 'no_verdict_awaited']);
  assert.deepEqual((await send('POST', '/v1/sessions/q/observe', { json: { evidence: ['1,1,0'] } })).body.action, 'call');
  assert.deepEqual(code(await verdict({ covered: true, step: 2 })), [409, 'step_conflict', 'step']);
  assert.equal((await verdict({ covered: true, step: 1 })).body.stopped_by, 'covered');
  assert.equal((await verdict({ covered: true, step: 1 })).body.replayed, true);
  assert.deepEqual(code(await verdict({ covered: false, step: 1 })), [409, 'step_conflict', 'step']);
});

test('a client may bind a question closer than the service does, and no wider', async (t) => {
  const { ask: send } = await served(t, () => false, { gate: { bounds: { maxSteps: 4, maxCalls: 3 } } });
  const open = (bounds: object) => send('POST', '/v1/sessions', { json: { question: QUESTION, bounds } });
  assert.equal((await open({ maxSteps: 2, maxTokens: 100 })).status, 201);
  const wide = await open({ maxSteps: 5 });
  assert.deepEqual(code(wide), [400, 'invalid', 'bounds.maxSteps']);
  assert.equal((wide.body.error as { message: string }).message, 'bounds.maxSteps: got 5, expected at most 4, as the service is set');
  assert.deepEqual(code(await open({ maxCalls: null })), [400, 'invalid', 'bounds.maxCalls']);
});

test('what is refused spends no token and takes no step, and its number stays open where later ones were taken', async (t) => {
  const { service } = (await served(t, () => false)).running;
  await service.openSession({ question: QUESTION, session: 'q' });
  const step = (number: number, evidence: string | { text: string }[]) => service.observe('q', { evidence, step: number, tokens: 10 });
  const bad = [{ text: 'y'.repeat(999_999) }, { text: 'zz' }];
  const [refused, taken] = await Promise.allSettled([step(1, bad), step(2, [{ text: '1,0,0' }])]);
  assert.deepEqual([refused.status, taken.status], ['rejected', 'fulfilled']);
  assert.equal((await step(1, [{ text: '0,1,0' }])).loop, 2);
  const { loops, tokens } = service.get('q');
  assert.deepEqual([loops, tokens], [2, 20]);
  assert.equal((await step(3, [{ text: '0,0,1' }])).loop, 3);
});

test('a batch answers each request for itself, those of one session in order, and a bad one spoils no other', async (t) => {
  const { ask: send } = await served(t, () => true);
  const requests = [
    { op: 'open', question: QUESTION, session: 'a' },
    { op: 'observe', session: 'a', evidence: ['1,0,0'] },
    { op: 'observe', session: 'a', evidence: 7 },
    { op: 'observe', session: 'a', evidence: ['0,1,0'] },
    { op: 'leap', session: 'a' },
    { op: 'get', session: 'b' },
    { op: 'close', session: 'a' },
  ];
  const { body } = await send('POST', '/v1/batch', { json: { requests } });
  const results = body.results as { status: number; body: { [field: string]: unknown } }[];
  assert.deepEqual(
    results.map((one) => (one.body.error ? code(one) : [one.status, one.body.stopped_by])),
    [
      [201, null],
      [200, null],
      [400, 'invalid', 'requests[2].evidence'],
      [200, 'covered'],
      [400, 'invalid', 'requests[4].op'],
      [404, 'session_unknown', 'session'],
      [200, 'covered'],
    ],
  );
});

test('a long verdict is streamed: the margin at once, comments, and the verdict at its end', async (t) => {
  const slow = async (): Promise<boolean> => {
    await new Promise((resolve) => setTimeout(resolve, 120));
    return true;
  };
  const { ask: send } = await served(t, slow, { keepAliveMillis: 30 });
  await send('POST', '/v1/sessions', { json: { question: QUESTION, session: 'q' } });
  const headers = { accept: 'text/event-stream' };
  const { headers: got, text } = await send('POST', '/v1/sessions/q/observe', { json: { evidence: ['1,1,0'] }, headers });
  assert.equal(got['content-type'], 'text/event-stream; charset=utf-8');
  const [margin, ...rest] = text.trimEnd().split('\n\n');
  assert.equal(margin, 'event: margin\ndata: {"session":"q","loop":1,"margin":0.292893,"per_claim":[0.292893,0.292893]}');
  assert.match(rest.at(-1) as string, /^event: verdict\ndata: \{.*"stopped_by":"covered"/);
  assert.ok(rest.length > 1 && rest.slice(0, -1).every((one) => one === ': still at work'), text);
});

test('a decider that fails under onError throw is a 502 of its own, in a stream an error event', async (t) => {
  const broken = () => {
    throw new Error('down');
  };
  const { ask: send } = await served(t, broken, { gate: { onError: 'throw' } });
  for (const session of ['a', 'b']) await send('POST', '/v1/sessions', { json: { question: QUESTION, session } });
  assert.deepEqual(code(await send('POST', '/v1/sessions/a/observe', { json: { evidence: ['1,1,0'] } })), [502, 'decider_failed']);
  const headers = { accept: 'text/event-stream' };
  const { text } = await send('POST', '/v1/sessions/b/observe', { json: { evidence: ['1,1,0'] }, headers });
  assert.match(text, /event: error\ndata: \{"status":502,"error":\{"code":"decider_failed","message":"decider failed: Error"\}\}/);
});

test('sessions expire when they are idle and when they are old, and there are no more of them than allowed', async (t) => {
  const { ask: send } = await served(t, () => false, { limits: { maxSessions: 2, idleMillis: 150, lifeMillis: 400 } });
  const open = async (session: string) => send('POST', '/v1/sessions', { json: { question: QUESTION, session } });
  await open('a');
  await open('b');
  assert.deepEqual(code(await open('c')), [503, 'too_many_sessions']);
  await new Promise((resolve) => setTimeout(resolve, 160));
  assert.equal((await open('c')).status, 201);
  assert.deepEqual(code(await send('GET', '/v1/sessions/a')), [410, 'session_ended', 'session']);
  for (let at = 0; at < 5; at++) {
    await new Promise((resolve) => setTimeout(resolve, 90));
    await send('GET', '/v1/sessions/c');
  }
  assert.deepEqual(code(await send('GET', '/v1/sessions/c')), [410, 'session_ended', 'session']);
});

test('an address beyond loopback needs a token, which every request but health has to show', async (t) => {
  await assert.rejects(
    serving(() => true, { host: '0.0.0.0' }),
    {
      message: 'address 0.0.0.0: expected a token, which any other address than loopback needs',
    },
  );
  const { address, ask: send } = await served(t, () => true, { host: '0.0.0.0', token: 'secret-of-1234' });
  assert.deepEqual([(await send('GET', '/healthz')).status, (await send('GET', '/readyz')).status], [200, 200]);
  for (const authorization of [undefined, 'Bearer wrong', 'Bearer secret-of-123', 'Basic secret-of-1234', 'Bearer']) {
    const reply = await send('GET', '/metrics', authorization === undefined ? {} : { headers: { authorization } });
    assert.deepEqual(code(reply), [401, 'unauthorized', 'authorization'], authorization);
    assert.equal(reply.headers['www-authenticate'], 'Bearer');
    assert.doesNotMatch(reply.text, /secret/);
  }
  const headers = { authorization: 'Bearer secret-of-1234' };
  assert.equal((await ask(address, 'POST', '/v1/sessions', { json: { question: QUESTION }, headers })).status, 201);
});

test('on loopback a name that somebody else bound to it is refused', async (t) => {
  const { ask: send } = await served(t, () => true, { allowedHosts: ['agent.internal'] });
  assert.deepEqual(code(await send('GET', '/healthz', { headers: { host: 'evil.example' } })), [403, 'host_not_allowed', 'host']);
  for (const host of ['localhost:1', '127.0.0.1', '[::1]:80', 'agent.internal'])
    assert.equal((await send('GET', '/healthz', { headers: { host } })).status, 200, host);
});

test('too many requests in a minute are told when to come again, and health is not counted', async (t) => {
  const { ask: send } = await served(t, () => true, { requestsPerMinute: 3 });
  for (let at = 0; at < 3; at++) assert.equal((await send('GET', '/openapi.json')).status, 200);
  const limited = await send('GET', '/openapi.json');
  assert.deepEqual(code(limited), [429, 'rate_limited']);
  assert.ok(Number(limited.headers['retry-after']) > 0);
  assert.equal((await send('GET', '/healthz')).status, 200);
});

test('at shutdown nothing new is opened, and what runs is answered first', async () => {
  let finish: (word: boolean) => void = () => undefined;
  const { ask: send, running, scripted } = await serving(() => new Promise<boolean>((resolve) => (finish = resolve)));
  await send('POST', '/v1/sessions', { json: { question: QUESTION, session: 'q' } });
  const running1 = send('POST', '/v1/sessions/q/observe', { json: { evidence: ['1,1,0'] } });
  while (scripted.calls.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  const closing = running.close();
  await assert.rejects(send('POST', '/v1/sessions', { json: { question: QUESTION } }));
  finish(true);
  assert.equal((await running1).body.stopped_by, 'covered');
  await closing;
});

test('what is no HTTP request is answered in the one shape of errors, and closed', async (t) => {
  const { address } = await served(t, () => true);
  const { port } = new URL(address);
  const raw = (text: string): Promise<string> =>
    new Promise((resolve) => {
      const socket = connect(Number(port), '127.0.0.1', () => socket.write(text));
      let got = '';
      socket.setEncoding('utf8').on('data', (part: string) => (got += part));
      socket.on('close', () => resolve(got));
    });
  assert.match(await raw('NONSENSE\r\n\r\n'), /^HTTP\/1\.1 400 .*"code":"bad_request"/s);
  assert.match(await raw(`GET / HTTP/1.1\r\nhost: x\r\nx: ${'y'.repeat(40_000)}\r\n\r\n`), /^HTTP\/1\.1 431 .*"code":"headers_too_large"/s);
});

test('metrics count what was opened, asked, ruled and ended, and name no session', async (t) => {
  const { ask: send } = await served(t, () => true);
  await send('POST', '/v1/sessions', { json: { question: QUESTION, session: 'named-q' } });
  await send('POST', '/v1/sessions/named-q/observe', { json: { evidence: ['1,0,0'] } });
  await send('POST', '/v1/sessions/named-q/observe', { json: { evidence: ['0,1,0'] } });
  // Nobody is asked about a question without claims, so nobody said anything.
  await send('POST', '/v1/sessions', { json: { question: QUESTION, session: 'none-q', claims: [] } });
  await send('POST', '/v1/sessions/none-q/observe', { json: { evidence: ['1,0,0'] } });
  await send('GET', '/v1/sessions/unknown-q');
  const { text, headers } = await send('GET', '/metrics');
  assert.match(headers['content-type'] as string, /^text\/plain; version=0\.0\.4/);
  for (const line of [
    'hopgate_sessions_opened_total{mode="enforce"} 2',
    'hopgate_loops_total{asked="false",because="no_claims"} 1',
    'hopgate_decider_failures_total 0',
    'hopgate_sessions_ended_total{stopped_by="covered",bound=""} 1',
    'hopgate_loops_total{asked="false",because="gate"} 1',
    'hopgate_loops_total{asked="true",because="gate"} 1',
    'hopgate_verdicts_total{verdict="covered",because="gate"} 1',
    'hopgate_http_request_seconds_count{route="/v1/sessions/:session",status="404",code="session_unknown"} 1',
  ])
    assert.ok(text.includes(`${line}\n`), `${line}\n${text}`);
  assert.doesNotMatch(text, /named-q|unknown-q|none-q|verdict="not_covered"/);
});

import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { type ChatRequest, LanguageModelError, openBudget, openHttpModel, paidModel } from '../../src/llm/index.js';
import { type ChatAnswer, completion, refusal, serveChat } from '../support/chat-server.js';

const REQUEST: ChatRequest = { messages: [{ role: 'user', content: 'Capital of France?' }], maxTokens: 8 };
/** No test waits for a pause of its own. */
const QUICK = { backoffMs: 1, timeoutMs: 5000 };

test('a request is greedy, and everything that was asked for is in it', async (t) => {
  const server = await serveChat(t, () => completion('Paris'));
  const model = openHttpModel({ url: `${server.url}/v1/`, model: 'm', ...QUICK });
  assert.deepEqual(await model.chat(REQUEST), {
    text: 'Paris',
    finish: 'stop',
    usage: { promptTokens: 7, completionTokens: 3 },
    logprobs: null,
  });
  await openHttpModel({ url: server.url, model: 'm', apiKey: 'sk-1', ...QUICK }).chat({
    ...REQUEST,
    stop: ['\n'],
    schema: { type: 'object' },
  });
  await openHttpModel({ url: server.url, model: 'm', schema: false, ...QUICK }).chat({ ...REQUEST, schema: { type: 'object' } });
  const plain = { model: 'm', messages: REQUEST.messages, max_tokens: 8, temperature: 0, stream: false };
  assert.deepEqual(server.requests, [
    plain,
    {
      ...plain,
      stop: ['\n'],
      response_format: { type: 'json_schema', json_schema: { name: 'reply', strict: true, schema: { type: 'object' } } },
    },
    plain,
  ]);
  assert.deepEqual([...new Set(server.paths)], ['/v1/chat/completions']);
  assert.deepEqual(server.authorizations, [undefined, 'Bearer sk-1', undefined]);
});

test('the identity holds what moves replies, and neither address nor key', () => {
  const model = openHttpModel({ url: 'http://127.0.0.1:1', model: 'm', revision: '2', apiKey: 'sk-secret-secret' });
  assert.deepEqual(model.identity, { door: 'openai', model: 'm', revision: '2', schema: true });
  assert.equal(model.constrains, true);
});

test('log-probabilities are one entry a token, their texts joined the reply, whatever the server adds behind it', async (t) => {
  const top = (token: string): object[] => [
    { token: ' No', logprob: -3, bytes: null },
    { token, logprob: -0.1, bytes: null },
  ];
  // The form that OpenAI documents; the e acute is two tokens, the stop string and the end token are listed as vLLM lists them.
  const content = [
    { token: ' Caf', logprob: -0.5, bytes: [32, 67, 97, 102], top_logprobs: top(' Caf') },
    { token: '\\xc3', logprob: -0.25, bytes: [0xc3], top_logprobs: top('\\xc3') },
    { token: '\\xa9', logprob: -0.125, bytes: [0xa9], top_logprobs: top('\\xa9') },
    { token: '!\n', logprob: -0.75, bytes: [33, 10], top_logprobs: top('!\n') },
    { token: '<|im_end|>', logprob: -1, bytes: null, top_logprobs: top('<|im_end|>') },
  ];
  const server = await serveChat(t, () => completion(' Café!\n', { logprobs: { content } }));
  const model = openHttpModel({ url: server.url, model: 'm', ...QUICK });
  const reply = await model.chat({ ...REQUEST, logprobs: 1, stop: ['\n'] });
  assert.equal(reply.text, ' Café!');
  assert.deepEqual(
    reply.logprobs?.map(({ token, logprob }) => [token, logprob]),
    [
      [' Caf', -0.5],
      ['', -0.25],
      ['é', -0.125],
      ['!', -0.75],
    ],
  );
  assert.deepEqual(reply.logprobs?.[0]?.top, [{ token: ' Caf', logprob: -0.1 }]);
  assert.deepEqual([server.requests[0]?.logprobs, server.requests[0]?.top_logprobs], [true, 1]);
});

test('names as they stand in the vocabulary, with marks for their blanks, are those of the reply', async (t) => {
  const replies: [string, string[], string[]][] = [
    ['Yes', ['▁Yes'], ['Yes']],
    [' Yes.', ['ĠYes', '.'], [' Yes', '.']],
    ['It is\nso', ['It', 'Ġis', 'Ċ', 'so'], ['It', ' is', '\n', 'so']],
    ['Yes it is', ['▁', 'Yes', '▁it', '▁is'], ['', 'Yes', ' it', ' is']],
    ['Yes ▁ Ġ', ['Yes', ' ▁', ' Ġ'], ['Yes', ' ▁', ' Ġ']],
  ];
  const server = await serveChat(t, (_, number) => {
    const [text, names] = replies[number] as [string, string[], string[]];
    return completion(text, { logprobs: { content: names.map((token) => ({ token, logprob: -1, bytes: null, top_logprobs: [] })) } });
  });
  const model = openHttpModel({ url: server.url, model: 'm', ...QUICK });
  for (const [, , tokens] of replies)
    assert.deepEqual(
      (await model.chat({ ...REQUEST, logprobs: 0 })).logprobs?.map(({ token }) => token),
      tokens,
    );
});

test('log-probabilities that are missing though asked for, or those of another text, are an error that says so', async (t) => {
  const entry = (token: string): object => ({ token, logprob: -1, bytes: null, top_logprobs: [] });
  const replies = [
    completion('Paris'),
    completion('Paris', { logprobs: null }),
    completion('Paris', { logprobs: { content: [entry('Paris')] } }),
    completion('Paris', { logprobs: { content: [entry('London')] } }),
    completion('Paris', { logprobs: { content: [entry('Par')] } }),
    refusal(400, 'logprobs is not supported'),
    refusal(400, 'another reason'),
  ];
  const server = await serveChat(t, (_, number) => replies[number] as object);
  const model = openHttpModel({ url: server.url, model: 'm', ...QUICK });
  const address = `${server.url}/v1/chat/completions`;
  const rejects = (logprobs: number, message: string, name = 'LanguageModelError'): Promise<void> =>
    assert.rejects(model.chat({ ...REQUEST, logprobs }), { name, message: `${address}: ${message}` });
  const missing = 'a reply without log-probabilities of its tokens, which were asked for; not every server gives them';
  await rejects(0, missing, 'NoLogprobsError');
  await rejects(0, missing, 'NoLogprobsError');
  await rejects(2, 'a reply without the 2 most probable tokens at each place, which were asked for', 'NoLogprobsError');
  await rejects(0, 'log-probabilities of other tokens than those of the reply ("London" where it has "Paris")');
  await rejects(0, 'log-probabilities of 1 tokens, which end before "is"');
  await rejects(0, 'status 400: "logprobs is not supported"', 'NoLogprobsError');
  await rejects(0, 'status 400: "another reason"');
});

test('429 and 5xx are sent again within their bound, after what Retry-After asks for, and nothing else is', async (t) => {
  const answers = [refusal(429, 'slow down', { 'retry-after': '0.2' }), refusal(503, 'busy'), completion('Paris')];
  const server = await serveChat(t, (_, number) => answers[number] ?? refusal(500, 'down'));
  const model = openHttpModel({ url: server.url, model: 'm', retries: 3, ...QUICK });
  const began = performance.now();
  assert.equal((await model.chat(REQUEST)).text, 'Paris');
  assert.ok(performance.now() - began >= 190, 'the pause that was asked for was not kept');
  await assert.rejects(model.chat(REQUEST), {
    name: 'LanguageModelError',
    message: `${server.url}/v1/chat/completions: status 500 after 4 tries: "down"`,
  });
  assert.equal(server.requests.length, 3 + 4);
});

test('a storm of 429 ends after the retries, one error a call, and an abort ends its pause at once', async (t) => {
  const server = await serveChat(t, () => refusal(429, 'storm', { 'retry-after': '30' }));
  const model = openHttpModel({ url: server.url, model: 'm', retries: 2, ...QUICK });
  const abort = new AbortController();
  setTimeout(() => abort.abort(new Error('enough')), 100);
  const began = performance.now();
  await assert.rejects(model.chat(REQUEST, { signal: abort.signal }), { message: 'enough' });
  assert.ok(performance.now() - began < 5000);
  assert.equal(server.requests.length, 1);
});

test('a server that breaks its replies ends in one clear error each, none of them sent again', async (t) => {
  const html = { 'content-type': 'text/html' };
  const cases: [ChatAnswer, string][] = [
    [
      (response) => response.writeHead(200, { 'content-type': 'application/json' }).end('{"choices": [{"mess'),
      'got "{\\"choices\\": [{\\"mess", expected JSON',
    ],
    [
      (response) => response.writeHead(200, html).end('<h1>hello</h1>'),
      'got content type "text/html" ("<h1>hello</h1>"), expected application/json',
    ],
    [{ choices: [] }, 'no chat completion (choices.0: Invalid input: expected object, received undefined)'],
    [{ error: { message: 'no' } }, 'status 200, but an error: "no"'],
    [{ object: 'error', error: 'overloaded', code: 1 }, 'status 200, but an error: "overloaded"'],
    [{ error: null }, 'no chat completion (choices: Invalid input: expected tuple, received undefined)'],
    [
      { choices: [{ message: { content: 'Paris' } }] },
      'no chat completion (usage: the server gives no usage, which the budget and the cost ledger need)',
    ],
    [completion('x', { finish: 'content_filter' }), 'the reply ended with finish_reason "content_filter", expected stop or length'],
    [refusal(404, 'no such model'), 'status 404: "no such model"'],
    [refusal(302, '', { location: '/elsewhere' }), 'unexpected redirect'],
  ];
  const server = await serveChat(t, (_, number) => (cases[number] as [ChatAnswer, string])[0]);
  const model = openHttpModel({ url: server.url, model: 'm', ...QUICK });
  for (const [, message] of cases)
    await assert.rejects(model.chat(REQUEST), { name: 'LanguageModelError', message: `${server.url}/v1/chat/completions: ${message}` });
  assert.equal(server.requests.length, cases.length);
});

test('a reply of 100 MB is not read beyond its bound', async (t) => {
  let sent = 0;
  const server = await serveChat(t, () => async (response: ServerResponse) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    const block = Buffer.alloc(1 << 20, 'x');
    for (; sent < 100 && !response.destroyed; sent++) {
      if (!response.write(block))
        await Promise.race([
          new Promise((resolve) => response.once('drain', resolve)),
          new Promise((resolve) => response.once('close', resolve)),
        ]);
    }
    response.end();
  });
  const model = openHttpModel({ url: server.url, model: 'm', maxReplyBytes: 4 << 20, ...QUICK });
  await assert.rejects(model.chat(REQUEST), {
    name: 'LanguageModelError',
    message: `${server.url}/v1/chat/completions: a reply of over 4194304 bytes, which is not read on`,
  });
  assert.ok(sent < 50, `${sent} MB were sent`);
});

test('a server that hangs, before its reply or within it, is given up after the time-out', async (t) => {
  const server = await serveChat(t, (_, number) => (response: ServerResponse) => {
    if (number === 1) response.writeHead(200, { 'content-type': 'application/json' }).write('{"choices"');
  });
  const model = openHttpModel({ url: server.url, model: 'm', timeoutMs: 200 });
  const address = `${server.url}/v1/chat/completions`;
  await assert.rejects(model.chat(REQUEST), { name: 'LanguageModelError', message: `${address}: no answer within 0.2 s` });
  await assert.rejects(model.chat(REQUEST), { name: 'LanguageModelError', message: `${address}: no whole reply within 0.2 s` });
});

test('a connection that is cut within the reply, or refused, is one error', async (t) => {
  const server = await serveChat(t, () => async (response: ServerResponse) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' }).write('{"choices"');
    await wait(50);
    response.destroy();
  });
  const model = openHttpModel({ url: server.url, model: 'm', ...QUICK });
  await assert.rejects(model.chat(REQUEST), {
    name: 'LanguageModelError',
    message: `${server.url}/v1/chat/completions: the connection broke off within the reply (UND_ERR_SOCKET)`,
  });
  // Nothing listens on port 2.
  await assert.rejects(openHttpModel({ url: 'http://127.0.0.1:2', model: 'm' }).chat(REQUEST), {
    name: 'LanguageModelError',
    message: 'http://127.0.0.1:2/v1/chat/completions: ECONNREFUSED',
  });
});

test('a server that repeats the key, in an error or in a reply, does not bring it out', async (t) => {
  const key = 'sk-very-secret-key';
  const answers = [
    refusal(401, JSON.stringify({ error: `wrong key ${key}, ${Buffer.from(key).toString('base64')}` })),
    completion(`your key is ${key}`),
    refusal(200, `<p>${key}</p>`, { 'content-type': 'text/html' }),
    refusal(200, `{"${key}`),
  ];
  const server = await serveChat(t, (_, number) => answers[number] as object);
  const model = openHttpModel({ url: server.url, model: 'm', apiKey: key, ...QUICK });
  for (const expected of [
    /status 401: .*wrong key …, …/,
    /a reply that repeats the key, which is not kept/,
    /content type "text\/html" \("<p>…<\/p>"\)/,
    /got "\{\\"…", expected JSON/,
  ]) {
    const error: unknown = await model.chat(REQUEST).then(
      () => assert.fail('no error'),
      (one: unknown) => one,
    );
    assert.ok(error instanceof LanguageModelError);
    assert.match(error.message, expected);
    assert.ok(!`${error.message}${error.stack}`.includes(key) && error.cause === undefined);
  }
});

test('a key that is escaped, whatever way, is in no error and in no reply', async (t) => {
  const key = 'sk/very-secret+key';
  const units = Array.from(key, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`).join('');
  const escaped = [
    key,
    key.replace('/', '\\/'),
    units,
    JSON.stringify(units).slice(1, -1),
    encodeURIComponent(key),
    encodeURIComponent(encodeURIComponent(key)),
    Array.from(key, (one) => `&#${one.charCodeAt(0)};`).join(''),
    Array.from(key, (one) => `&#x${one.charCodeAt(0).toString(16)};`).join(''),
  ];
  const content = JSON.stringify(completion('KEY'));
  const answers = escaped.flatMap((form) => [
    refusal(401, `{"error": "wrong key ${form}"}`),
    refusal(200, `{"error": "wrong key ${form}"}`),
    refusal(200, '[', { 'content-type': `text/${form}` }),
    refusal(200, content.replace('KEY', form)),
  ]);
  const server = await serveChat(t, (_, number) => answers[number] as object);
  const model = openHttpModel({ url: server.url, model: 'm', apiKey: key, ...QUICK });
  for (let at = 0; at < answers.length; at++) {
    const { message } = (await model.chat(REQUEST).catch((error: unknown) => error)) as Error;
    assert.match(
      message,
      /completions: (status 401: |status 200, but an error: |got content type |a reply that repeats the key, which is not kept$)/,
    );
    assert.ok(!/secret|u0073|&#|%2F/.test(message), message);
  }
});

test('log-probabilities above 0 are refused, those that rounding put there are 0', async (t) => {
  const logprobs = [700, 0.0005];
  const server = await serveChat(t, (_, number) =>
    completion('Paris', { logprobs: { content: [{ token: 'Paris', logprob: logprobs[number] }] } }),
  );
  const model = openHttpModel({ url: server.url, model: 'm', ...QUICK });
  await assert.rejects(model.chat({ ...REQUEST, logprobs: 0 }), {
    message: `${server.url}/v1/chat/completions: no chat completion (choices.0.logprobs.content.0.logprob: expected a log-probability, at most 0)`,
  });
  assert.equal((await model.chat({ ...REQUEST, logprobs: 0 })).logprobs?.[0]?.logprob, 0);
});

test('a schema that the server refuses is named together with the way to ask without one', async (t) => {
  const server = await serveChat(t, () => refusal(400, 'response_format is not supported'));
  const model = openHttpModel({ url: server.url, model: 'm', ...QUICK });
  await assert.rejects(model.chat({ ...REQUEST, schema: { type: 'object' } }), {
    message: `${server.url}/v1/chat/completions: status 400: "response_format is not supported" (asked with a JSON schema; --no-llm-schema asks without one)`,
  });
});

test('a model that knows only max_completion_tokens is asked with it from then on', async (t) => {
  const server = await serveChat(t, (body) =>
    'max_tokens' in body ? refusal(400, "Unsupported parameter: 'max_tokens'; use 'max_completion_tokens' instead") : completion('ok'),
  );
  const model = openHttpModel({ url: server.url, model: 'm', ...QUICK });
  await model.chat(REQUEST);
  await model.chat(REQUEST);
  assert.deepEqual(
    server.requests.map((body) => 'max_completion_tokens' in body),
    [false, true, true],
  );
});

test('no more requests are under way than the limit, and those that wait are aborted unsent', async (t) => {
  const server = await serveChat(t, async () => {
    await wait(50);
    return completion('ok');
  });
  const door = openHttpModel({ url: server.url, model: 'm', ...QUICK });
  const model = paidModel(door, { budget: openBudget(), concurrency: 3 });
  const abort = new AbortController();
  const calls = Array.from({ length: 9 }, (_, at) => model.chat(REQUEST, at < 8 ? {} : { signal: abort.signal }));
  abort.abort(new Error('left'));
  const ends = await Promise.allSettled(calls);
  assert.deepEqual(
    ends.map(({ status }) => status),
    [...Array.from({ length: 8 }, () => 'fulfilled'), 'rejected'],
  );
  assert.deepEqual([server.requests.length, server.underWay.most], [8, 3]);
});

test('an address is refused with a password, without http, or with a query, and its version is kept', async (t) => {
  const refuses = (url: string, message: string): void =>
    assert.throws(() => openHttpModel({ url, model: 'm' }), { name: 'InputError', message: `--llm-url: ${message}` });
  refuses('localhost:8000', 'got "localhost:8000", expected http or https');
  refuses('nonsense', 'got "nonsense", expected an address such as http://localhost:8000');
  refuses('http://user:secret@host', 'got an address with a password in it, expected the key in the environment');
  refuses('http://host/v1?key=secret', "got an address with a query, expected the server's base address");
  const server = await serveChat(t, () => completion('ok'));
  for (const path of ['', '/v1', '/api/', '/v1beta/openai', '/paas/v4'])
    await openHttpModel({ url: server.url + path, model: 'm' }).chat(REQUEST);
  assert.deepEqual(
    server.paths,
    ['/v1', '/v1', '/api/v1', '/v1beta/openai', '/paas/v4'].map((path) => `${path}/chat/completions`),
  );
});

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { rayClient } from '../../train/index.js';

interface Asked {
  method: string | undefined;
  url: string | undefined;
  headers: { [name: string]: unknown };
  body: string;
}

/** A server that gives one answer after the other; null breaks the connection. The last one is given again and again. */
async function server(t: TestContext, answers: ([status: number, body: string] | null)[]): Promise<{ address: string; asked: Asked[] }> {
  const asked: Asked[] = [];
  const own = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (piece: string) => (body += piece));
    request.on('end', () => {
      asked.push({ method: request.method, url: request.url, headers: request.headers, body });
      const answer = answers.length > 1 ? answers.shift() : answers[0];
      if (!answer) request.socket.destroy();
      else response.writeHead(answer[0]).end(answer[1]);
    });
  });
  await new Promise<void>((resolve) => own.listen(0, '127.0.0.1', resolve));
  t.after(() => own.close());
  return { address: `http://127.0.0.1:${(own.address() as AddressInfo).port}`, asked };
}

const quick = { backoffMs: 1 };
const running = JSON.stringify({ status: 'RUNNING', message: 'Job is currently running.' });

test('a broken connection and an answer of 5xx are tried again, an answer of 4xx is not', async (t) => {
  const { address, asked } = await server(t, [null, [503, 'busy'], [200, running], [400, 'Traceback …\nValueError: no such thing\n']]);
  const client = rayClient(address, {}, quick);
  assert.equal((await client.job('a job'))?.status, 'RUNNING');
  assert.deepEqual(
    asked.map(({ url }) => url),
    ['/api/jobs/a%20job', '/api/jobs/a%20job', '/api/jobs/a%20job'],
  );
  await assert.rejects(client.logs('x'), {
    name: 'InputError',
    message: `${address}/api/jobs/x/logs: the server answered 400 ("ValueError: no such thing")`,
  });
  assert.equal(asked.length, 4);
});

test('what stays broken is one sentence', async (t) => {
  const { address } = await server(t, [[500, 'Traceback\n  File "x"\nRuntimeError: the agent is gone']]);
  await assert.rejects(rayClient(address, {}, { ...quick, retries: 2 }).job('x'), {
    message: `${address}/api/jobs/x: the server answered 500 ("RuntimeError: the agent is gone")`,
  });
  const silent = await server(t, [null]);
  await assert.rejects(rayClient(silent.address, {}, { ...quick, retries: 2 }).job('x'), {
    message: `${silent.address}: no answer (socket hang up), tried 3 times`,
  });
  const other = await server(t, [[200, '<html>a page</html>']]);
  await assert.rejects(rayClient(other.address, {}, quick).version(), {
    message: `${other.address}/api/version: answered "<html>a page</html>", expected what Ray's Jobs API answers; is it the dashboard's address?`,
  });
});

test('a job whose submission was answered by a broken connection is not submitted twice, nor taken for failed', async (t) => {
  const { address, asked } = await server(t, [null, [200, running]]);
  await rayClient(address, {}, quick).submit({ entrypoint: 'true', submission_id: 'one' });
  assert.deepEqual(
    asked.map(({ method, url }) => `${method ?? ''} ${url ?? ''}`),
    ['POST /api/jobs/', 'GET /api/jobs/one'],
  );
  const busy = await server(t, [
    [503, ''],
    [404, ''],
    [200, '{}'],
  ]);
  await rayClient(busy.address, {}, quick).submit({ entrypoint: 'true', submission_id: 'one' });
  assert.deepEqual(
    busy.asked.map(({ method }) => method),
    ['POST', 'GET', 'POST'],
  );
});

test('the token comes from the environment, goes into a header, and no message shows it', async (t) => {
  const { address, asked } = await server(t, [
    [200, running],
    [403, 'Forbidden: Invalid authentication token'],
  ]);
  const client = rayClient(address, { RAY_AUTH_TOKEN: ' s3cret\n', RAY_JOB_HEADERS: '{"X-Proxy": "p4ss"}' }, quick);
  await client.job('x');
  assert.equal(asked[0]?.headers.authorization, 'Bearer s3cret');
  assert.equal(asked[0]?.headers['x-proxy'], 'p4ss');
  // Ray takes a request with one of fetch()'s Sec-Fetch headers for a browser's, and lets it only read.
  assert.deepEqual(
    Object.keys(asked[0]?.headers ?? {}).filter((name) => name.startsWith('sec-')),
    [],
  );
  await assert.rejects(client.job('x'), {
    message: `${address}/api/jobs/x: the server answered 403 ("Forbidden: Invalid authentication token"); RAY_AUTH_TOKEN holds another token than the cluster has`,
  });
  assert.throws(() => rayClient(address, { RAY_JOB_HEADERS: 'p4ss' }), {
    message: 'RAY_JOB_HEADERS: expected a JSON object of header names and texts',
  });
});

test('a package that the cluster has is not uploaded again', async (t) => {
  const { address, asked } = await server(t, [
    [404, 'does not exist'],
    [200, ''],
    [200, ''],
  ]);
  const client = rayClient(address, {}, quick);
  assert.equal(await client.upload('_ray_pkg_1.zip', Buffer.from('bytes')), 'gcs://_ray_pkg_1.zip');
  await client.upload('_ray_pkg_1.zip', Buffer.from('bytes'));
  assert.deepEqual(
    asked.map(({ method, url, body }) => `${method ?? ''} ${url ?? ''} ${body}`),
    ['GET /api/packages/gcs/_ray_pkg_1.zip ', 'PUT /api/packages/gcs/_ray_pkg_1.zip bytes', 'GET /api/packages/gcs/_ray_pkg_1.zip '],
  );
});

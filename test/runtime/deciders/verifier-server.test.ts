import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { type LabelScores, type Verifier, openServerVerifier, openVerifier, scoreNaive, serverScores } from '../../../runtime/index.js';
import { LABELS } from '../../../src/core/labels.js';
import { serveCompletions } from '../../support/completions-server.js';
import { somePairs, verifierFolderOf } from '../../support/verifier-folder.js';

let folder: string;
let verifier: Verifier;
let top: [string, number][];

before(async () => {
  folder = await verifierFolderOf();
  verifier = await openVerifier(folder, { provider: 'cpu', threads: 1 });
  top = LABELS.map((label) => [label, verifier.tokens.labelIds[label][0] as number]);
});
after(() => verifier.close());

const key = 'sk-a-secret-that-nobody-may-see';
const fast = { backoffMs: 1, timeoutMs: 20_000 };

function difference(a: readonly LabelScores[], b: readonly LabelScores[]): number {
  assert.equal(a.length, b.length);
  return Math.max(
    ...a.flatMap((one, at) => {
      const { lp_match, lp_partial, lp_null } = b[at] as LabelScores;
      return [one.lp_match - lp_match, one.lp_partial - lp_partial, one.lp_null - lp_null].map(Math.abs);
    }),
  );
}

for (const named of ['text', 'id'] as const) {
  test(`a server’s scores are those of the imported graph, labels from the next token, named by ${named}`, async (t) => {
    const server = await serveCompletions(t, verifier.graph, { top, named });
    const served = await openServerVerifier(folder, { url: `${server.url}/v1/`, model: 'verifier-lora', apiKey: key, ...fast, batch: 5 });
    const pairs = somePairs();
    const scores = await served.score(pairs);
    const here = await verifier.score(pairs);
    verifier.release();
    // The same graph, read by plain passes here and as a tree there.
    assert.ok(difference(scores, here) <= 1e-5);
    assert.ok(server.requests.every(({ echo, model }) => echo === undefined && model === 'verifier-lora'));
    assert.deepEqual(
      server.requests.map(({ prompt }) => prompt.length).toSorted((a, b) => a - b),
      [2, 4, 5, 5],
    );
    assert.deepEqual(new Set(server.authorizations), new Set([`Bearer ${key}`]));
    assert.deepEqual(await served.prepare(), { golden_rows: 4, golden_flips: 0 });
    assert.equal(served.counts().pairs, 12);
  });
}

test('where the next tokens lack a label, and for labels of several tokens, each label is read behind the prompt', async (t) => {
  const server = await serveCompletions(t, verifier.graph, { top: top.slice(0, 2), named: 'text' });
  const served = await openServerVerifier(folder, { url: server.url, model: 'm', ...fast });
  const pairs = somePairs().slice(0, 3);
  assert.ok(difference(await served.score(pairs), await verifier.score(pairs)) <= 1e-5);
  const several = { match: [6347], partial: [37_420, 2921], null: [2921, 6347, 2921] };
  const prompts = pairs.map((pair) => verifier.tokens.prompt(pair).ids);
  const { of: score } = serverScores(several, { url: server.url, model: 'm', ...fast });
  const naive = await scoreNaive(verifier.graph, prompts, { labels: several, padId: 0 });
  server.requests.length = 0;
  assert.ok(difference(await score(prompts), naive) <= 1e-5);
  assert.deepEqual(
    server.requests.map(({ echo, prompt }) => [echo, prompt.length]),
    [[true, 9]],
  );
});

test('another model behind the address is refused with the largest difference, before a pair is scored', async (t) => {
  const other = await openVerifier(await verifierFolderOf({ seed: 14 }), { provider: 'cpu', threads: 1 });
  t.after(() => other.close());
  const server = await serveCompletions(t, other.graph, { top, named: 'id' });
  const served = await openServerVerifier(folder, { url: server.url, model: 'm', ...fast });
  await assert.rejects(served.score(somePairs()), (error: Error) => {
    const found =
      /^(.*): m is not this verifier: the largest difference of a log-probability on the 4 golden rows is ([\d.]+) \(row row \d\), expected at most 0\.1; \d labels differ, expected at most 0$/.exec(
        error.message,
      );
    assert.ok(found, error.message);
    assert.equal(found[1], server.url);
    assert.ok(Number(found[2]) > 0.1);
    return true;
  });
  assert.equal(server.requests.length, 1);
});

test('429 and 5xx are tried again, and nothing else; the key is never shown', async (t) => {
  const server = await serveCompletions(t, verifier.graph, { top, named: 'id' });
  const prompts = [[1, 2, 3]];
  const { of: score } = serverScores(verifier.tokens.labelIds, { url: server.url, model: 'm', apiKey: key, retries: 2, ...fast });
  server.statuses.push(429, 503);
  await score(prompts);
  assert.equal(server.authorizations.length, 3);
  server.statuses.push(500, 500, 500);
  await assert.rejects(score(prompts), { message: `${server.url}/v1/completions: status 500 after 3 tries: "busy"` });
  server.statuses.push(401);
  server.errorText = `wrong key ${key}`;
  await assert.rejects(score(prompts), { message: `${server.url}/v1/completions: status 401: "wrong key …"` });
});

test('a server that is silent, away or no server is an error by name; an abort ends the wait', async (t) => {
  const server = await serveCompletions(t, verifier.graph, { top, named: 'id' });
  server.delayMs = 2_000;
  const labels = verifier.tokens.labelIds;
  await assert.rejects(serverScores(labels, { url: server.url, model: 'm', timeoutMs: 50 }).of([[1, 2]]), {
    message: `${server.url}/v1/completions: no answer within 0.05 s`,
  });
  const stop = new AbortController();
  setTimeout(() => stop.abort(), 50);
  await assert.rejects(serverScores(labels, { url: server.url, model: 'm' }).of([[1, 2]], { signal: stop.signal }), { name: 'AbortError' });
  const closed = createServer();
  closed.listen(0, '127.0.0.1');
  await once(closed, 'listening');
  const url = `http://127.0.0.1:${(closed.address() as AddressInfo).port}`;
  closed.close();
  await assert.rejects(serverScores(labels, { url, model: 'm' }).of([[1]]), { message: `${url}/v1/completions: ECONNREFUSED` });
  assert.throws(() => serverScores(labels, { url: 'localhost', model: 'm' }), {
    message: '--server: got "localhost", expected an address such as http://localhost:8000',
  });
  assert.throws(() => serverScores(labels, { url: 'http://me:pass@host', model: 'm' }), {
    message: '--server: got an address with a password in it, expected the key in the environment',
  });
});

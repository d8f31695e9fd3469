import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sharedEncoder } from '../../../runtime/index.js';
import { numberEncoder } from '../../support/number-encoder.js';
import { scriptedGate } from '../../support/scripted-gate.js';

test('what many sessions ask for at once goes in one request, each text once', async () => {
  const encoder = numberEncoder();
  const shared = sharedEncoder(encoder);
  const [a, b] = await Promise.all([shared.encode(['1,0,0', '0,1,0'], 'passage'), shared.encode(['0,1,0', '0,0,1'], 'passage')]);
  assert.deepEqual(encoder.requests, [['1,0,0', '0,1,0', '0,0,1']]);
  assert.deepEqual([[...(a[1] as Float32Array)], [...(b[1] as Float32Array)]], [[0, 1, 0], [0, 0, 1]]); // prettier-ignore
  await shared.encode(['0,0,1'], 'passage');
  assert.deepEqual([encoder.requests.length, shared.counts], [1, { requests: 1, encoded: 3, kept: 1 }]);
  // Another role is another prefix, so another vector.
  await shared.encode(['0,0,1'], 'query');
  assert.equal(encoder.requests.length, 2);
});

test('what is asked for while a request runs waits and goes together in the next one, at most maxTexts', async () => {
  const encoder = numberEncoder();
  const shared = sharedEncoder(encoder, { maxTexts: 2 });
  const first = shared.encode(['1,0,0'], 'passage');
  await new Promise((resolve) => setImmediate(resolve));
  await Promise.all([first, ...['1,1,0', '0,1,1', '1,0,1'].map((text) => shared.encode([text], 'passage'))]);
  assert.deepEqual(encoder.requests, [['1,0,0'], ['1,1,0', '0,1,1'], ['1,0,1']]);
});

test('a failed request fails those who asked, is not kept, and holds up nobody behind it', async () => {
  const encoder = numberEncoder();
  const shared = sharedEncoder(encoder);
  encoder.failure = new Error('out of memory');
  const both = await Promise.allSettled([shared.encode(['1,0,0'], 'passage'), shared.encode(['0,1,0'], 'passage')]);
  assert.deepEqual(both.map(({ status }) => status), ['rejected', 'rejected']); // prettier-ignore
  encoder.failure = null;
  assert.equal((await shared.encode(['1,0,0'], 'passage')).length, 1);
});

test('one session’s text that the encoder fails at fails nobody else, and a request that hangs holds nobody for ever', async () => {
  const encoder = numberEncoder();
  const plain = numberEncoder();
  encoder.encode = (texts, role) => (texts.includes('bad') ? Promise.reject(new Error('bad text')) : plain.encode(texts, role));
  const shared = sharedEncoder(encoder, { timeout: 30 });
  const [bad, good] = await Promise.allSettled([shared.encode(['bad'], 'passage'), shared.encode(['1,0,0'], 'passage')]);
  assert.deepEqual([bad.status, good.status], ['rejected', 'fulfilled']);
  encoder.encode = () => new Promise(() => undefined);
  await assert.rejects(shared.encode(['0,1,0'], 'passage'), { message: 'no answer within 30 ms' });
  encoder.encode = (texts, role) => plain.encode(texts, role);
  assert.equal((await shared.encode(['0,1,0'], 'passage')).length, 1);
});

test('one session’s abort ends its waiting and nobody else’s', async () => {
  const shared = sharedEncoder(numberEncoder());
  const controller = new AbortController();
  const mine = shared.encode(['1,0,0'], 'passage', { signal: controller.signal });
  const theirs = shared.encode(['1,0,0'], 'passage');
  controller.abort(new Error('gone'));
  await assert.rejects(mine, { message: 'gone' });
  assert.equal((await theirs).length, 1);
});

test('two hundred sessions beside each other have the margins that each has alone', async () => {
  const texts = (at: number): string[] => [`${1 + (at % 7)},${at % 5},1`, `${at % 3},${1 + (at % 11)},0`, `1,${at % 13},${at % 2}`];
  const margins = async (of: readonly number[]): Promise<Map<number, (number | null)[]>> => {
    const { gate } = scriptedGate(() => false);
    const run = async (at: number): Promise<[number, (number | null)[]]> => {
      const session = await gate.open('Who?', { id: `s${at}` });
      const seen: (number | null)[] = [];
      for (const text of texts(at)) seen.push((await session.observe([text])).margin);
      return [at, seen];
    };
    return new Map(await Promise.all(of.map(run)));
  };
  const all = Array.from({ length: 200 }, (_, at) => at);
  const together = await margins(all);
  for (const at of [0, 17, 113, 199]) assert.deepEqual(together.get(at), (await margins([at])).get(at));
});

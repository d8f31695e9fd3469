import assert from 'node:assert/strict';
import { appendFile, mkdtemp, open, readFile, readdir, stat, truncate } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { cachedEncoder, identityHash } from '../../../runtime/index.js';
import { countingEncoder } from '../../support/counting-encoder.js';

const newCache = (): Promise<string> => mkdtemp(join(tmpdir(), 'hopgate-'));

async function shards(cacheDir: string): Promise<string[]> {
  const folder = join(cacheDir, 'embeddings', identityHash(countingEncoder().identity));
  return (await readdir(folder)).filter((name) => name.endsWith('.shard')).map((name) => join(folder, name));
}

const texts = Array.from({ length: 600 }, (_, at) => `text ${at}`);

test('a second pass, in this process or another, gives the same vectors and asks the encoder nothing', async () => {
  const cacheDir = await newCache();
  const below = countingEncoder();
  const first = await cachedEncoder(below, cacheDir);
  const vectors = await first.encode(texts, 'passage');
  // 600 texts in chunks of 256.
  assert.deepEqual(first.counts, { calls: 3, encoded: 600, cached: 0 });
  assert.deepEqual(await first.encode(texts, 'passage'), vectors);
  assert.deepEqual(first.counts, { calls: 3, encoded: 600, cached: 600 });
  await first.close();
  const later = countingEncoder();
  const second = await cachedEncoder(later, cacheDir);
  assert.deepEqual(await second.encode(texts, 'passage'), vectors);
  await second.close();
  assert.equal(later.calls, 0);
  assert.deepEqual(vectors, await below.encode(texts, 'passage'), 'in the order of the texts');
});

test('P29: a text under another role is another vector', async () => {
  const cached = await cachedEncoder(countingEncoder(), await newCache());
  const [query] = await cached.encode(['a'], 'query');
  const [passage] = await cached.encode(['a'], 'passage');
  await cached.close();
  assert.notDeepEqual(query, passage);
  assert.equal(cached.counts.encoded, 2);
});

test('a text that stands several times is encoded once', async () => {
  const below = countingEncoder();
  const cached = await cachedEncoder(below, await newCache());
  const [a, b, c] = await cached.encode(['x', 'y', 'x'], 'query');
  await cached.close();
  assert.deepEqual(a, c);
  assert.notDeepEqual(a, b);
  assert.deepEqual(below.texts.toSorted(), ['x', 'y']);
});

test('P31: another encoder never sees the vectors of this one', async () => {
  const cacheDir = await newCache();
  const one = await cachedEncoder(countingEncoder(), cacheDir);
  await one.encode(['a'], 'query');
  await one.close();
  for (const change of [
    { name: 'other' },
    { query_prefix: '' },
    { pooling: 'cls' },
    { dtype: 'int8' },
    { tokenizer_sha256: 'f'.repeat(64) },
  ] as const) {
    const below = countingEncoder();
    const other = await cachedEncoder({ ...below, identity: { ...below.identity, ...change } }, cacheDir);
    await other.encode(['a'], 'query');
    await other.close();
    assert.deepEqual(other.counts, { calls: 1, encoded: 1, cached: 0 }, JSON.stringify(change));
  }
});

test('a shard torn anywhere in its last record gives back all the others', async () => {
  // 32 bytes of key, four floats, four bytes of checksum.
  const record = 52;
  for (const cut of [1, 4, 20, 51]) {
    const cacheDir = await newCache();
    const first = await cachedEncoder(countingEncoder(), cacheDir);
    const vectors = await first.encode(texts.slice(0, 10), 'passage');
    await first.close();
    const [file] = (await shards(cacheDir)) as [string];
    assert.equal((await stat(file)).size, 10 * record);
    await truncate(file, 10 * record - cut);
    const again = await cachedEncoder(countingEncoder(), cacheDir);
    assert.deepEqual(await again.encode(texts.slice(0, 10), 'passage'), vectors);
    await again.close();
    assert.deepEqual(again.counts, { calls: 1, encoded: 1, cached: 9 }, `cut ${cut}`);
  }
});

test('a record whose bytes were changed, or a tail of zeros, is made again', async () => {
  const cacheDir = await newCache();
  const first = await cachedEncoder(countingEncoder(), cacheDir);
  const vectors = await first.encode(texts.slice(0, 10), 'passage');
  await first.close();
  const [file] = (await shards(cacheDir)) as [string];
  const handle = await open(file, 'r+');
  await handle.write(Buffer.of(((await readFile(file))[52 * 3 + 40] as number) ^ 1), 0, 1, 52 * 3 + 40);
  await handle.close();
  await appendFile(file, Buffer.alloc(52 * 2));
  const again = await cachedEncoder(countingEncoder(), cacheDir);
  assert.deepEqual(await again.encode(texts.slice(0, 10), 'passage'), vectors);
  await again.close();
  assert.deepEqual(again.counts, { calls: 1, encoded: 1, cached: 9 });
});

test('encoders that are open at the same time write shards of their own, and later ones read all', async () => {
  const cacheDir = await newCache();
  const open = await Promise.all([0, 1, 2].map(() => cachedEncoder(countingEncoder(), cacheDir)));
  await Promise.all(open.map((one, at) => one.encode(texts.slice(at * 100, at * 100 + 150), 'query')));
  await Promise.all(open.map((one) => one.close()));
  assert.equal((await shards(cacheDir)).length, 3);
  const later = await cachedEncoder(countingEncoder(), cacheDir);
  const vectors = await later.encode(texts.slice(0, 350), 'query');
  await later.close();
  assert.deepEqual(later.counts, { calls: 0, encoded: 0, cached: 350 });
  assert.deepEqual(vectors, await countingEncoder().encode(texts.slice(0, 350), 'query'));
});

test('an abort keeps the chunks that were finished', async () => {
  const cacheDir = await newCache();
  const abort = new AbortController();
  const first = await cachedEncoder(countingEncoder(), cacheDir);
  const work = first.encode(texts, 'query', {
    signal: abort.signal,
    onProgress: (done) => {
      if (done >= 256) abort.abort(new Error('enough'));
    },
  });
  // Reported at 256 done, stopped before the chunk after the one in hand.
  await assert.rejects(work, { message: 'enough' });
  await first.close();
  assert.deepEqual(first.counts, { calls: 2, encoded: 512, cached: 0 });
  const again = await cachedEncoder(countingEncoder(), cacheDir);
  await again.encode(texts, 'query');
  await again.close();
  assert.deepEqual(again.counts, { calls: 1, encoded: 88, cached: 512 });
});

test('two hundred thousand vectors are found again within seconds', async () => {
  const cacheDir = await newCache();
  const many = Array.from({ length: 200_000 }, (_, at) => `t${at}`);
  const first = await cachedEncoder(countingEncoder(), cacheDir);
  await first.encode(many, 'passage');
  await first.close();
  const started = process.hrtime.bigint();
  const again = await cachedEncoder(countingEncoder(), cacheDir);
  await again.encode(many, 'passage');
  await again.close();
  assert.equal(again.counts.cached, 200_000);
  const seconds = Number(process.hrtime.bigint() - started) / 1e9;
  // About two seconds on two cores; a search that looks through the shards for each text would take hours.
  assert.ok(seconds < 30, `${seconds} s`);
});

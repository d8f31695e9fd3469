import assert from 'node:assert/strict';
import { readFile, readdir, rm, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { type Encoder, writeCorpus } from '../../../runtime/index.js';
import { SHARD_BLOCK, shardFolder } from '../../../src/core/corpus.js';
import { sha256 } from '../../../src/core/hash.js';
import { corpusPassages, densePassages, openCorpusFolder } from '../../../src/retrieval/index.js';
import { temporaryFile, temporaryFolder } from '../../support/files.js';
import { countingEncoder } from '../../support/counting-encoder.js';
import { wordsEncoder } from '../../support/words-encoder.js';

const corpus = (count: number): Promise<string> =>
  temporaryFile(
    'corpus.jsonl',
    Array.from(
      { length: count },
      (_, at) => `${JSON.stringify({ id: `p${at}`, contents: `"T ${at % 50}"\nPassage ${at} is here. It has a second sentence.` })}\n`,
    ).join(''),
  );

const write = (file: string, dir: string, encoder: Encoder, more: Partial<Parameters<typeof writeCorpus>[2]> = {}) =>
  writeCorpus(corpusPassages(file), encoder, { dir, file, seed: 13, ...more });

async function hashes(dir: string): Promise<string[]> {
  const names = (await readdir(dir)).toSorted();
  return Promise.all(names.map(async (name) => `${name} ${sha256(await readFile(join(dir, name)))}`));
}

test('an interrupted corpus goes on behind its last whole part, does a damaged one again, and ends with the same bytes', async () => {
  const file = await corpus(1000);
  const [calm, torn] = [await temporaryFolder(), await temporaryFolder()];
  const first = await write(file, calm, countingEncoder(), { partRows: 300 });
  assert.deepEqual(first.manifest.counts, { passages: 1000, sentences: 2000, cut_passages: 0, parts: 4, corpus_passages: 1000 });
  assert.equal(first.encoded, 1000);

  const breaks = (at: number): Encoder & { calls: number } => {
    const encoder = countingEncoder();
    const encode = encoder.encode.bind(encoder);
    encoder.encode = (texts, role) => (encoder.calls + 1 > at ? Promise.reject(new Error('gone')) : encode(texts, role));
    return encoder;
  };
  // A part of 300 is two calls of at most 256: the fifth is in the third part.
  await assert.rejects(write(file, torn, breaks(5), { partRows: 300 }), /^Error: gone$/);
  await truncate(join(torn, '.unfinished', 'vectors-00001.arrow'), 100);
  const again = countingEncoder();
  const resumed = await write(file, torn, again, { partRows: 300, resume: true });
  // The first part was whole; the second was damaged, the third had not been finished.
  assert.equal(resumed.encoded, 700);
  assert.equal(again.texts.length, 700);
  assert.deepEqual(await hashes(torn), await hashes(calm));
  assert.ok(again.texts[0]?.startsWith('T 0\nPassage 300'));
});

test('shards of a corpus find together what the whole finds, with the same scores and ties', async () => {
  const count = 2 * SHARD_BLOCK + 100;
  const file = await corpus(count);
  const [whole, parts] = [await temporaryFolder(), await temporaryFolder()];
  await write(file, whole, wordsEncoder(), {});
  for (const index of [1, 0])
    await write(file, join(parts, shardFolder(index, 2)), wordsEncoder(), { shard: { index, of: 2 }, partRows: 1500 });
  const found = async (dir: string) => {
    const opened = await openCorpusFolder(dir);
    const source = densePassages(opened, { encode: (queries) => wordsEncoder().encode(queries, 'query') });
    // Asked at once: one pass. All passages of a title share their words but one, so there are ties.
    const all = await Promise.all(
      ['passage here', 'T 7 passage', 'Passage 4096', 'nothing of it'].map((query, at) => source.find(query, 3 + at)),
    );
    assert.deepEqual([source.work.passes, source.work.queries, source.work.vectors], [1, 4, count]);
    await opened.close();
    return all;
  };
  const expected = await found(whole);
  assert.deepEqual(
    expected.map((one) => one.length),
    [3, 4, 5, 6],
  );
  assert.deepEqual(await found(parts), expected);
  await rm(join(parts, shardFolder(0, 2), 'manifest.json'));
  await assert.rejects(openCorpusFolder(parts), /shard-00000-of-00002: no manifest\.json/);
});

test('a part over 1 GiB, a shard without a passage, and shards of two encoders are refused', async () => {
  const file = await corpus(10);
  await assert.rejects(
    write(file, await temporaryFolder(), countingEncoder(), { partRows: 100_000_000 }),
    /^InputError: --part-rows: got 100000000, expected at most 67108864 vectors of 4 numbers \(1 GiB\)$/,
  );
  await assert.rejects(
    write(file, await temporaryFolder(), countingEncoder(), { shard: { index: 1, of: 2 } }),
    /--shard 1\/2: has no passage; the corpus has 10, in blocks of 4096$/,
  );
  const two = await corpus(SHARD_BLOCK + 1);
  const dir = await temporaryFolder();
  await write(two, join(dir, shardFolder(0, 2)), countingEncoder('one'), { shard: { index: 0, of: 2 } });
  await assert.rejects(openCorpusFolder(join(dir, shardFolder(0, 2))), /is shard 0 of 2, expected the folder of all shards$/);
  await write(two, join(dir, shardFolder(1, 2)), countingEncoder('two'), { shard: { index: 1, of: 2 } });
  await assert.rejects(openCorpusFolder(dir), /was made from another corpus file, or by another encoder, than the first shard$/);
});

test('passage ids that repeat are counted over the whole corpus, whatever the shard, and said', async () => {
  const ids = Array.from({ length: SHARD_BLOCK + 3 }, (_, at) => (at < SHARD_BLOCK ? `p${at}` : 'p0'));
  const file = await temporaryFile('corpus.jsonl', ids.map((id) => `${JSON.stringify({ id, contents: 'T\nA text.' })}\n`).join(''));
  for (const index of [0, 1]) {
    const { manifest } = await write(file, await temporaryFolder(), countingEncoder(), { shard: { index, of: 2 } });
    assert.equal(manifest.counts.repeated_ids, 3);
    assert.deepEqual(manifest.warnings, ["3 of the corpus's 4099 passages have an id that stood before; all are kept"]);
  }
});

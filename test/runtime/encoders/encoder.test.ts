import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import { type Encoder, openEncoder } from '../../../runtime/index.js';
import { random } from '../../../src/core/random.js';
import { largestDifference, openMinilm, testCache } from '../../support/encoder-cache.js';
import { writeTinyBert } from '../../support/tiny-bert.js';
import { sentenceOf } from '../../support/written-run.js';

const where = { cacheDir: testCache, modelDir: testCache };
const declared = { queryPrefix: 'query: ', passagePrefix: 'passage: ', pooling: 'mean' } as const;

async function tinyFolder(file?: string): Promise<string> {
  const folder = join(await mkdtemp(join(tmpdir(), 'hopgate-')), 'tiny');
  await mkdir(folder);
  await writeTinyBert(folder, file);
  return folder;
}

test('every batch composition gives the same vector within 1e-6, in the order of the texts, unit length', async () => {
  const encoder = await openMinilm();
  // Of one word to far beyond the limit, so that many lengths share the batches.
  const texts = Array.from({ length: 120 }, (_, at) => (at % 10 === 0 ? 'one '.repeat(at) : sentenceOf(1, at)));
  const alone: Float32Array[] = [];
  for (const text of texts) alone.push((await encoder.encode([text], 'passage'))[0] as Float32Array);
  const order = random(13, 'order').shuffle(texts.map((_, at) => at));
  for (const size of [2, 17, 120]) {
    for (let from = 0; from < order.length; from += size) {
      const part = order.slice(from, from + size);
      const vectors = await encoder.encode(
        part.map((at) => texts[at] as string),
        'passage',
      );
      for (const [k, at] of part.entries()) {
        const difference = largestDifference(vectors[k] as Float32Array, alone[at] as Float32Array);
        assert.ok(difference <= 1e-6, `batches of ${size}, text ${at}: ${difference}`);
      }
    }
  }
  await encoder.close();
  for (const vector of alone) {
    const length = Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0));
    // 384 roundings to 32 bits of at most 2^-25 relative each.
    assert.ok(Math.abs(length - 1) < 1e-6, String(length));
  }
});

test('gives back nothing for no texts, and reports progress up to the number of texts', async () => {
  const encoder = await openMinilm();
  assert.deepEqual(await encoder.encode([], 'query'), []);
  const seen: [number, number | null][] = [];
  await encoder.encode(['a', 'b b b b b b', 'c'], 'query', { onProgress: (done, total) => seen.push([done, total]) });
  await encoder.close();
  // 'a' and 'c' have three tokens, the other one eight.
  assert.deepEqual(seen, [
    [2, 3],
    [3, 3],
  ]);
});

test('stops between batches when its signal is aborted', async () => {
  const encoder = await openMinilm();
  const abort = new AbortController();
  const work = encoder.encode(
    Array.from({ length: 400 }, (_, at) => sentenceOf(2, at)),
    'passage',
    { signal: abort.signal, onProgress: () => abort.abort(new Error('enough')) },
  );
  await assert.rejects(work, { message: 'enough' });
  await encoder.close();
});

test('P29: embedding without a role is a type error, and the role decides the prefix', async () => {
  const folder = await tinyFolder();
  const encoder = await openEncoder(folder, { ...where, ...declared });
  const unwritten = (one: Encoder): unknown =>
    // @ts-expect-error a role is required
    one.encode(['text']);
  assert.equal(typeof unwritten, 'function');
  const plain = await openEncoder(folder, { ...where, queryPrefix: '', passagePrefix: '', pooling: 'mean' });
  const [query] = await encoder.encode(['abc'], 'query');
  const [passage] = await encoder.encode(['abc'], 'passage');
  const written = await plain.encode(['query: abc', 'passage: abc', 'abc'], 'query');
  await Promise.all([encoder.close(), plain.close()]);
  assert.deepEqual(query, written[0]);
  assert.deepEqual(passage, written[1]);
  assert.ok(largestDifference(query as Float32Array, written[2] as Float32Array) > 0.01);
});

test('P30: the prefixes in use are recorded in the identity; E5 has "query: " on both sides unless told otherwise', async () => {
  const models = await mkdtemp(join(tmpdir(), 'hopgate-'));
  const folder = await tinyFolder();
  await rename(folder, join(models, 'e5-base-v2'));
  const encoder = await openEncoder('e5-base-v2', { cacheDir: testCache, modelDir: models });
  const asymmetric = await openEncoder('e5-base-v2', { cacheDir: testCache, modelDir: models, passagePrefix: 'passage: ' });
  await Promise.all([encoder.close(), asymmetric.close()]);
  const { model_sha256: model, tokenizer_sha256: tokenizer, ...rest } = encoder.identity;
  assert.match(model, /^[0-9a-f]{64}$/);
  assert.match(tokenizer, /^[0-9a-f]{64}$/);
  assert.deepEqual(rest, {
    name: 'e5-base-v2',
    converter: null,
    query_prefix: 'query: ',
    passage_prefix: 'query: ',
    pooling: 'mean',
    dtype: 'fp32',
    max_tokens: 12,
    dimensions: 16,
  });
  assert.deepEqual(asymmetric.identity, { ...encoder.identity, passage_prefix: 'passage: ' });
});

test('P37: a text beyond the limit keeps its first tokens and its last special token', async () => {
  const folder = await tinyFolder();
  // Twelve positions: ten letters between [CLS] and [SEP].
  const encoder = await openEncoder(folder, { ...where, queryPrefix: '', passagePrefix: '', pooling: 'mean' });
  const [long, cut, shorter] = await encoder.encode(['abcdefghijklmnop', 'abcdefghij', 'abcdefghi'], 'query');
  await encoder.close();
  assert.deepEqual(long, cut);
  assert.notDeepEqual(long, shorter);
});

test('pooling cls is the first state and differs from the mean', async () => {
  const folder = await tinyFolder();
  const [mean, cls] = [
    await openEncoder(folder, { ...where, ...declared }),
    await openEncoder(folder, { ...where, ...declared, pooling: 'cls' }),
  ];
  const [[a], [b]] = [await mean.encode(['abc'], 'query'), await cls.encode(['abc'], 'query')];
  await Promise.all([mean.close(), cls.close()]);
  assert.ok(largestDifference(a as Float32Array, b as Float32Array) > 0.01);
  assert.equal(cls.identity.pooling, 'cls');
});

test('finds prefixes and pooling in the folder, where sentence-transformers writes them', async () => {
  const folder = await tinyFolder('model.onnx');
  await mkdir(join(folder, '1_Pooling'));
  await writeFile(
    join(folder, '1_Pooling', 'config.json'),
    JSON.stringify({ pooling_mode_cls_token: true, pooling_mode_mean_tokens: false }),
  );
  await writeFile(join(folder, 'config_sentence_transformers.json'), JSON.stringify({ prompts: { query: 'q: ', passage: 'p: ' } }));
  await writeFile(join(folder, 'sentence_bert_config.json'), JSON.stringify({ max_seq_length: 9 }));
  const encoder = await openEncoder(folder, where);
  await encoder.close();
  const { identity } = encoder;
  assert.equal(identity.name, 'tiny');
  assert.deepEqual([identity.query_prefix, identity.passage_prefix, identity.pooling, identity.max_tokens], ['q: ', 'p: ', 'cls', 9]);
});

const refusals: [name: string, change: (folder: string) => Promise<unknown>, options: object, message: (folder: string) => string][] = [
  [
    'P29: refuses a folder that says no prefixes',
    async () => undefined,
    { pooling: 'mean' },
    (folder) =>
      `${folder}: config_sentence_transformers.json has no prompts for both query and document: name --query-prefix TEXT and --passage-prefix TEXT (the empty text where the model wants none)`,
  ],
  [
    'P29: refuses a folder that says one prefix',
    (folder) => writeFile(join(folder, 'config_sentence_transformers.json'), JSON.stringify({ prompts: { query: 'query: ' } })),
    { pooling: 'mean' },
    (folder) =>
      `${folder}: config_sentence_transformers.json has no prompts for both query and document: name --passage-prefix TEXT (the empty text where the model wants none)`,
  ],
  [
    'P37: refuses a folder that says no pooling',
    async () => undefined,
    { queryPrefix: '', passagePrefix: '' },
    (folder) => `${folder}: no 1_Pooling/config.json: name the pooling with --pooling mean|cls`,
  ],
  [
    'P37: refuses a dtype that is not there instead of taking another one',
    async () => undefined,
    { ...declared, dtype: 'int8' },
    (folder) =>
      `${folder}: no ONNX model in int8: looked for ${['onnx/model_int8', 'onnx/model_quantized', 'model_int8', 'model_quantized'].map((one) => join(folder, `${one}.onnx`)).join(', ')}; another --dtype?`,
  ],
  [
    'refuses a model of another family',
    (folder) => writeFile(join(folder, 'config.json'), JSON.stringify({ model_type: 'qwen2', max_position_embeddings: 12 })),
    declared,
    (folder) =>
      `${join(folder, 'config.json')}, field model_type: got "qwen2", expected one of bert, distilbert, electra, roberta, xlm-roberta, camembert, mpnet`,
  ],
  [
    'refuses a folder without a tokenizer',
    (folder) => rm(join(folder, 'tokenizer.json')),
    declared,
    (folder) => `${folder}: no tokenizer.json: not the folder of an ONNX sentence encoder`,
  ],
];

for (const [name, change, options, message] of refusals) {
  test(name, async () => {
    const folder = await tinyFolder();
    await change(folder);
    await assert.rejects(openEncoder(folder, { ...where, ...options }), { name: 'InputError', message: message(folder) });
  });
}

test('refuses a config that is not JSON', async () => {
  const folder = await tinyFolder();
  await writeFile(join(folder, 'config.json'), '{');
  // What follows is the parser's own sentence, which differs between versions of Node.
  await assert.rejects(openEncoder(folder, { ...where, ...declared }), (error: Error) =>
    error.message.startsWith(`${join(folder, 'config.json')}: not JSON (`),
  );
});

test('refuses a model file that is damaged', async () => {
  const folder = await tinyFolder();
  await writeFile(join(folder, 'onnx', 'model.onnx'), 'no graph');
  await assert.rejects(openEncoder(folder, { ...where, ...declared }), (error: Error) => {
    assert.equal(error.name, 'InputError');
    assert.ok(error.message.startsWith(`${folder}: the model cannot be loaded (`), error.message);
    return true;
  });
});

test('P110: says where a known encoder was looked for, and that nothing is downloaded', async () => {
  const models = join(tmpdir(), 'no-such-models');
  await assert.rejects(openEncoder('e5-base-v2', { cacheDir: testCache, modelDir: models }), {
    name: 'InputError',
    message: `encoder e5-base-v2: no folder ${join(models, 'e5-base-v2')}; nothing is downloaded by itself: hopgate models pull e5-base-v2 fetches it, or put the files of https://huggingface.co/intfloat/e5-base-v2 there, or name another --model-dir`,
  });
  await assert.rejects(openEncoder('e6', where), {
    name: 'InputError',
    message:
      'no encoder "e6": expected minilm, e5-base-v2, e5-large-v2, bge-base, bge-large, gte-base, or a folder with an ONNX sentence encoder',
  });
});

test('the same model under another tokenizer is another encoder', async () => {
  const folder = await tinyFolder();
  const one = await openEncoder(folder, { ...where, ...declared });
  const tokenizer = await readFile(join(folder, 'tokenizer.json'), 'utf8');
  await writeFile(join(folder, 'tokenizer.json'), tokenizer.replace('"lowercase":true', '"lowercase":false'));
  const two = await openEncoder(folder, { ...where, ...declared });
  await Promise.all([one.close(), two.close()]);
  assert.equal(one.identity.model_sha256, two.identity.model_sha256);
  assert.notEqual(one.identity.tokenizer_sha256, two.identity.tokenizer_sha256);
  assert.equal(basename(folder), one.identity.name);
});

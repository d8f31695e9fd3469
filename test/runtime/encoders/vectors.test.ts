import assert from 'node:assert/strict';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { type EmbeddingTexts, openVectors, writeEmbeddings } from '../../../runtime/index.js';
import { embeddingKey } from '../../../src/core/embeddings.js';
import { openOutputFolder } from '../../../src/core/output-folder.js';
import { countingEncoder } from '../../support/counting-encoder.js';

function textsOf(count: number): EmbeddingTexts {
  const entries = Array.from({ length: count }, (_, at) => {
    const [role, text] = [at % 3 === 0 ? ('query' as const) : ('passage' as const), `text ${at}`];
    return { key: embeddingKey(role, text), role, text };
  });
  return {
    entries: entries.toSorted((a, b) => (a.key < b.key ? -1 : 1)),
    inputs: [],
    details: { what: ['evidence'], claims: [], evidence_texts: ['sentence'] },
    counts: { evidence: count },
    warnings: [],
  };
}

for (const format of ['arrow', 'jsonl'] as const) {
  // 5,000 rows are two batches of the table and two blocks of memory.
  test(`gives back every vector that was written, bit by bit, ${format}`, async () => {
    const dir = await mkdtemp(join(tmpdir(), 'hopgate-'));
    const encoder = countingEncoder();
    await writeEmbeddings(textsOf(5000), encoder, { dir, seed: 13, format });
    const vectors = await openVectors(dir);
    assert.equal(vectors.size, 5000);
    assert.deepEqual(vectors.identity, encoder.identity);
    assert.deepEqual(vectors.manifest.details.evidence_texts, ['sentence']);
    for (const at of [0, 1, 4094, 4095, 4096, 4999]) {
      const role = at % 3 === 0 ? 'query' : 'passage';
      assert.deepEqual([vectors.get(role, `text ${at}`)], await encoder.encode([`text ${at}`], role));
    }
    assert.equal(vectors.has('passage', 'text 0'), false);
    assert.throws(() => vectors.get('passage', 'text 0'), {
      name: 'InputError',
      message: `${dir}: no vector of the passage "text 0": embed it with "hopgate embed RUN --encoder counting" and the --claims, --claim-text and --evidence-text that are used here`,
    });
  });
}

test('refuses a folder of another kind, and one that does not name its encoder', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'hopgate-'));
  const out = await openOutputFolder({ dir, kind: 'claims', command: 'claims build', options: {}, seed: 13, inputs: [] });
  await out.finish({ counts: {} });
  await assert.rejects(openVectors(dir), {
    name: 'InputError',
    message: `${join(dir, 'manifest.json')}: got a folder of kind "claims", expected "embeddings"`,
  });
  const nameless = await mkdtemp(join(tmpdir(), 'hopgate-'));
  const other = await openOutputFolder({ dir: nameless, kind: 'embeddings', command: 'embed', options: {}, seed: 13, inputs: [] });
  await other.finish({ counts: {} });
  await assert.rejects(openVectors(nameless), {
    name: 'InputError',
    message: `${nameless}, field details.encoder: the manifest does not say the encoder's identity`,
  });
});

test('P37: texts beyond the limit of the encoder are counted and said', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'hopgate-'));
  // The counting encoder has a token a letter and 512 of them.
  const texts = textsOf(2);
  const entries = ['x'.repeat(512), 'x'.repeat(513)].map((text) => ({ key: embeddingKey('query', text), role: 'query' as const, text }));
  const manifest = await writeEmbeddings({ ...texts, entries }, countingEncoder(), { dir, seed: 13 });
  assert.deepEqual(manifest.warnings, ["1 of 2 texts have more than the encoder's 512 tokens; what lies beyond was not embedded"]);
});

import assert from 'node:assert/strict';
import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { type Row, bool, choice, float, int, list, nullable, struct, text, vector } from '../../src/core/columns.js';
import { sha256 } from '../../src/core/hash.js';
import { readManifest } from '../../src/core/manifest.js';
import { openOutputFolder } from '../../src/core/output-folder.js';
import { collect, readTable } from '../../src/core/tables.js';

const columns = {
  id: text(),
  n: int(),
  x: nullable(float()),
  yes: bool(),
  kind: choice(['a', 'b']),
  words: list(text()),
  places: list(struct({ page: int(), name: nullable(text()) })),
  v: vector(),
} as const;

function rows(n: number): Row<typeof columns>[] {
  return Array.from({ length: n }, (_, i) => ({
    id: `q${i} é\u0000"`,
    n: i - 5,
    x: i % 3 === 0 ? null : i / 7,
    yes: i % 2 === 0,
    kind: i % 2 === 0 ? ('a' as const) : ('b' as const),
    words: Array.from({ length: i % 4 }, (__, k) => `w${k}`),
    places: Array.from({ length: i % 3 }, (__, k) => ({ page: k, name: k === 0 ? null : `p${i}` })),
    v: Float32Array.from([i, i + 0.5, -i - 1]),
  }));
}

async function written(dir: string, format: 'arrow' | 'jsonl', n: number): Promise<void> {
  const out = await openOutputFolder({ dir, kind: 'claims', command: 'test', options: {}, seed: 13, inputs: [] });
  const count = await out.table('claims', columns, rows(n), format);
  await out.finish({ counts: { claims: count } });
}

for (const format of ['arrow', 'jsonl'] as const) {
  // 9,000 rows are three record batches, the last one short.
  for (const n of [0, 1, 9000]) {
    test(`gives back ${n} rows as they were written, ${format}`, async () => {
      const dir = await mkdtemp(join(tmpdir(), 'hopgate-'));
      await written(dir, format, n);
      const manifest = await readManifest(dir, 'claims');
      assert.deepEqual(await collect(readTable(dir, manifest, 'claims', columns)), rows(n));
    });
  }
}

test('two folders with the same rows are byte-identical, manifest included', async () => {
  const [a, b] = [await mkdtemp(join(tmpdir(), 'hopgate-')), await mkdtemp(join(tmpdir(), 'hopgate-'))];
  await written(a, 'arrow', 100);
  await written(b, 'arrow', 100);
  for (const name of ['claims.arrow', 'manifest.json']) {
    assert.equal(sha256(await readFile(join(a, name))), sha256(await readFile(join(b, name))), name);
  }
});

test('one flipped byte in a table is refused by its sha256', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'hopgate-'));
  await written(dir, 'arrow', 100);
  const file = join(dir, 'claims.arrow');
  const bytes = await readFile(file);
  const before = sha256(bytes);
  bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] as number) ^ 1;
  await writeFile(file, bytes);
  const manifest = await readManifest(dir, 'claims');
  await assert.rejects(collect(readTable(dir, manifest, 'claims', columns)), {
    name: 'InputError',
    message: `${file}: got sha256 ${sha256(bytes)}, expected ${before} as in the manifest: the file was changed or damaged`,
  });
});

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { writeArrow } from '../../src/core/arrow.js';
import { passageVectorColumns } from '../../src/core/corpus.js';
import { random } from '../../src/core/random.js';
import { searchVectors } from '../../src/retrieval/index.js';
import { temporaryFolder } from '../support/files.js';
import { pythonOrSkip, runPython } from '../support/python.js';

function unitVectors(count: number, width: number, name: string): Float32Array[] {
  const draw = random(13, name);
  return Array.from({ length: count }, () => {
    const one = Float32Array.from({ length: width }, () => draw.float() - 0.5);
    const length = Math.hypot(...one);
    return one.map((value) => value / length);
  });
}

async function files(
  vectors: readonly Float32Array[],
  cuts: readonly number[],
): Promise<{ path: string; numberOf: (row: number) => number }[]> {
  const folder = await temporaryFolder();
  const made = [];
  for (const [at, from] of cuts.entries()) {
    const path = join(folder, `${at}.arrow`);
    await writeArrow(
      path,
      passageVectorColumns,
      vectors.slice(from, cuts[at + 1]).map((vector) => ({ vector })),
    );
    made.push({ path, numberOf: (row: number) => from + row });
  }
  return made;
}

const numbers = (hits: readonly { number: number }[]): number[] => hits.map(({ number }) => number);

test('the best of 9,000 vectors are those of numpy, whatever files they lie in and whatever is searched with them', async (t) => {
  const python = pythonOrSkip(t, ['numpy']);
  if (python === undefined) return;
  // 30 is no multiple of four, 9,000 none of a batch's 4,096.
  const [vectors, queries, top] = [unitVectors(9000, 30, 'vectors'), unitVectors(7, 30, 'queries'), 10];
  const expected = runPython(python, 'inner_products.py', {
    vectors: vectors.map((one) => [...one]),
    queries: queries.map((one) => [...one]),
    top,
  }) as [number, number][][];
  const whole = await searchVectors(await files(vectors, [0]), queries, { column: 'vector', top });
  for (const [at, hits] of whole.hits.entries()) {
    assert.deepEqual(
      numbers(hits),
      expected[at]?.map(([row]) => row),
    );
    // Both in 64-bit floats: they differ in the order of 30 additions of numbers below 1.
    for (const [rank, { score }] of hits.entries()) assert.ok(Math.abs(score - (expected[at]?.[rank]?.[1] as number)) < 1e-14);
  }
  const cut = await searchVectors(await files(vectors, [0, 100, 5000]), queries, { column: 'vector', top });
  assert.deepEqual(
    cut.hits.map((hits) => hits.map(({ number, score }) => [number, score])),
    whole.hits.map((hits) => hits.map(({ number, score }) => [number, score])),
  );
  const [alone] = (await searchVectors(await files(vectors, [0]), queries.slice(3, 4), { column: 'vector', top })).hits;
  assert.deepEqual(alone, whole.hits[3]);
  assert.ok(whole.seconds > 0);
});

test('equal scores stand by their number, also where a later file has the lower ones', async () => {
  const same = Float32Array.from([1, 0]);
  const [first, second] = await files([same, same, same, same], [0, 2]);
  const swapped = [second, first] as [NonNullable<typeof second>, NonNullable<typeof first>];
  const { hits } = await searchVectors(swapped, [same], { column: 'vector', top: 3 });
  assert.deepEqual(numbers(hits[0] ?? []), [0, 1, 2]);
  const all = await searchVectors(swapped, [same], { column: 'vector', top: 9 });
  assert.deepEqual(numbers(all.hits[0] ?? []), [0, 1, 2, 3]);
});

test('a query of another width is refused with the file', async () => {
  const [file] = await files([Float32Array.from([1, 0])], [0]);
  await assert.rejects(
    searchVectors([file as NonNullable<typeof file>], [Float32Array.from([1, 0, 0])], { column: 'vector', top: 1 }),
    /0\.arrow: has vectors of 2 numbers, expected 3 as of the query$/,
  );
});

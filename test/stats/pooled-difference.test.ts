import assert from 'node:assert/strict';
import { test } from 'node:test';

import { random } from '../../src/core/random.js';
import { pairedBootstrap, pooledDifference } from '../../src/stats/index.js';

function answers(name: string, n: number): { name: string; system: number[]; reference: number[] } {
  const stream = random(13, 'pooled', name);
  return { name, system: Array.from({ length: n }, () => stream.int(2)), reference: Array.from({ length: n }, () => stream.int(2)) };
}

const [large, small] = [answers('HotpotQA', 90), answers('2Wiki', 30)];
const flat = { name: 'MuSiQue', system: [1, 0, 0, 1], reference: [1, 0, 0, 1] };

test('sets count by their questions, and each is redrawn at its own size', () => {
  const { difference, n, pooled } = pooledDifference({ sets: [large, small], resamples: 199 });
  assert.deepEqual([n, pooled], [120, ['HotpotQA', '2Wiki']]);
  const values = [large, small].flatMap(({ system, reference }) => system.map((right, i) => right - (reference[i] as number)));
  const alone = pairedBootstrap({
    columns: { values },
    strata: values.map((_, i) => (i < 90 ? 'HotpotQA' : '2Wiki')),
    statistic: (total, { units }) => total.values / units,
    resamples: 199,
  });
  assert.deepEqual(difference, alone);
});

test('a set whose differences never vary stays in for non-inferiority, and is left out by rule and named for equivalence', () => {
  const kept = pooledDifference({ sets: [large, small, flat], resamples: 199 });
  assert.deepEqual([kept.n, kept.leftOut], [124, []]);
  const left = pooledDifference({ sets: [large, small, flat], leaveOutDegenerate: true, resamples: 199 });
  assert.deepEqual([left.n, left.pooled, left.leftOut], [120, ['HotpotQA', '2Wiki'], ['MuSiQue']]);
  assert.deepEqual(left.difference, pooledDifference({ sets: [large, small], resamples: 199 }).difference);
  // Four questions that never differ narrow the pooled interval.
  assert.ok((kept.difference?.standardError as number) < (left.difference?.standardError as number));
});

test('where every set is degenerate there is no pooled difference', () => {
  assert.deepEqual(pooledDifference({ sets: [flat], leaveOutDegenerate: true }), {
    difference: null,
    n: 0,
    pooled: [],
    leftOut: ['MuSiQue'],
  });
});

test('rows of one id are drawn together, and equal ids of two sets are two questions', () => {
  const ids = large.system.map((_, i) => `q${i}`);
  const doubled = {
    name: 'HotpotQA',
    system: [...large.system, ...large.system],
    reference: [...large.reference, ...large.reference],
    clusters: [...ids, ...ids],
  };
  const once = pooledDifference({ sets: [large], resamples: 199 });
  assert.deepEqual(pooledDifference({ sets: [doubled], resamples: 199 }).difference, once.difference);
  const other = { ...small, clusters: small.system.map((_, i) => `q${i}`) };
  const plain = pooledDifference({ sets: [{ ...large, clusters: ids }, small], resamples: 199 });
  assert.deepEqual(pooledDifference({ sets: [{ ...large, clusters: ids }, other], resamples: 199 }).difference, plain.difference);
});

test('no set and a name that stands twice are refused', () => {
  assert.throws(() => pooledDifference({ sets: [] }), { name: 'RangeError', message: 'sets: got none, expected at least one' });
  assert.throws(() => pooledDifference({ sets: [flat, flat] }), {
    name: 'RangeError',
    message: 'sets: got "MuSiQue" twice, expected each name once',
  });
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { random } from '../../src/core/random.js';

test('the same seed and labels give the same numbers, others give others', () => {
  const draw = (seed: number, ...labels: string[]): number[] => {
    const stream = random(seed, ...labels);
    return Array.from({ length: 5 }, () => stream.int(1000));
  };
  assert.deepEqual(draw(13, 'a'), draw(13, 'a'));
  assert.notDeepEqual(draw(13, 'a'), draw(13, 'b'));
  assert.notDeepEqual(draw(13, 'a'), draw(14, 'a'));
  // ('a', 'b') and ('ab') are different labels, not one text.
  assert.notDeepEqual(draw(13, 'a', 'b'), draw(13, 'ab'));
});

test('integers are uniform: chi-square of 60,000 draws over 6 values is below its 0.999 quantile', () => {
  const stream = random(13, 'uniform');
  const counts = [0, 0, 0, 0, 0, 0];
  for (let i = 0; i < 60_000; i++) {
    const value = stream.int(6);
    counts[value] = (counts[value] as number) + 1;
  }
  const chi = counts.reduce((sum, count) => sum + (count - 10_000) ** 2 / 10_000, 0);
  // scipy.stats.chi2.ppf(0.999, 5) = 20.515
  assert.ok(chi < 20.515, `chi-square ${chi}`);
});

test('a shuffle moves every item to every place about equally often', () => {
  const places = [0, 0, 0, 0];
  for (let i = 0; i < 40_000; i++) {
    const place = random(i, 'shuffle').shuffle(['x', 'a', 'b', 'c']).indexOf('x');
    places[place] = (places[place] as number) + 1;
  }
  const chi = places.reduce((sum, count) => sum + (count - 10_000) ** 2 / 10_000, 0);
  // scipy.stats.chi2.ppf(0.999, 3) = 16.266
  assert.ok(chi < 16.266, `chi-square ${chi}`);
});

test('a sample keeps the order of its items and has no repeats', () => {
  const items = Array.from({ length: 50 }, (_, i) => i);
  const chosen = random(13, 'sample').sample(items, 20);
  assert.deepEqual(
    chosen,
    [...new Set(chosen)].toSorted((a, b) => a - b),
  );
  assert.throws(() => random(13).sample(items, 51), { name: 'RangeError', message: 'sample: got k = 51, expected at most 50' });
});

test('a seed that is no integer and an empty range are refused', () => {
  assert.throws(() => random(1.5), { name: 'RangeError', message: 'seed: got 1.5, expected an integer' });
  assert.throws(() => random(1).int(0), { name: 'RangeError', message: 'int(n): got 0, expected an integer of at least 1' });
});

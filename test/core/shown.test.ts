import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { shown } from '../../src/core/errors.js';

test('any value can be shown, in at most the asked-for length', () => {
  fc.assert(
    fc.property(fc.anything({ withBigInt: true, withNullPrototype: true, withDate: true, withMap: true }), fc.nat(200), (value, limit) => {
      assert.ok(shown(value, limit).length <= limit + 1);
    }),
  );
});

test('what JSON cannot show has a fixed text instead of an error', () => {
  let deep: unknown = [];
  for (let level = 0; level < 100_000; level++) deep = [deep];
  const circle: { self?: unknown } = {};
  circle.self = circle;
  const throwing = {
    toJSON: () => {
      throw new Error('no');
    },
  };
  for (const value of [deep, circle, throwing, { n: 1n }, Object.assign(() => 1, {})])
    assert.equal(shown(value), 'a value that JSON cannot show');
  assert.equal(shown(1n), '1');
  assert.equal(shown(undefined), 'undefined');
  assert.equal(shown('a'.repeat(100), 5), '"aaaa…');
});

import fc from 'fast-check';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { callsDecider, createMargin, gate } from '../../../runtime/index.js';

test('P93: skips above the threshold, calls at it and below it', () => {
  assert.equal(gate(0.160001, 0.16), 'skip');
  assert.equal(gate(0.16, 0.16), 'call');
  assert.equal(gate(0.159999, 0.16), 'call');
  assert.equal(gate(2, 0.16), 'skip');
  assert.equal(gate(0, 0.16), 'call');
});

test('P93: over a run of growing evidence the gate skips first and calls later', () => {
  const claims = [Float32Array.of(1, 0), Float32Array.of(0, 1)];
  const tracker = createMargin({ targets: claims });
  const seen = [[Float32Array.of(0.6, 0.8)], [Float32Array.of(1, 0)], [Float32Array.of(0, 1)]].map((sentences) =>
    gate(tracker.observe(sentences).margin, 0.1),
  );
  // Margins: max(0.4, 0.2), then max(0, 0.2), then 0.
  assert.deepEqual(seen, ['skip', 'skip', 'call']);
});

test('P93: for every threshold between 0 and 2 there is a margin that is skipped and one that is called', () => {
  fc.assert(
    fc.property(fc.double({ min: 0, max: 1.9, noNaN: true }), (tau) => {
      assert.equal(callsDecider(gate(Math.floor(tau * 1e6) / 1e6, tau)), true);
      assert.equal(callsDecider(gate(Math.min(2, tau + 2e-6), tau)), false);
    }),
  );
});

test('a margin is rounded to 1e-6 before it is compared, so the last bits of another machine decide nothing', () => {
  assert.equal(gate(0.16 + 4e-7, 0.16), 'call');
  assert.equal(gate(0.16 + 6e-7, 0.16), 'skip');
});

test('P33: without claims it abstains, and an abstention is a call whatever the threshold', () => {
  for (const tau of [-Infinity, 0, 0.16, Infinity]) {
    assert.equal(gate(null, tau), 'abstain');
    assert.equal(callsDecider(gate(null, tau)), true);
  }
});

test('an infinite threshold always calls, a negative infinite one never does', () => {
  for (const margin of [0, 0.16, 2]) {
    assert.equal(gate(margin, Infinity), 'call');
    assert.equal(gate(margin, -Infinity), 'skip');
  }
});

test('refuses a threshold or a margin that is no number', () => {
  assert.throws(() => gate(0.1, NaN), { name: 'RangeError', message: 'tau: got NaN, expected a number' });
  for (const margin of [NaN, -0.1, 2.1]) {
    assert.throws(() => gate(margin, 0.16), { name: 'RangeError', message: `margin: got ${margin}, expected a number in [0, 2]` });
  }
});

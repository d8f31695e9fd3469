import assert from 'node:assert/strict';
import { test } from 'node:test';
import { claimOrderWork } from '../../src/evaluate/claim-order.js';
import { continueTrigger } from '../../src/evaluate/continue-trigger.js';
import { alwaysVerify, gate } from '../../src/evaluate/policies.js';
import { question } from './question-runs.js';

// Claim 0 is matched at loop 1, claim 1 at loop 3; three sentences a loop, the match being the second of its loop.
const two = question([0.8, 0.7, 0.2], '..F', {
  matchedAt: [1, 3],
  claimPairs: [Int32Array.from([2, 0, 0]), Int32Array.from([3, 3, 2])],
  claimMargins: [Float64Array.from([0.1, 0.1, 0.1]), Float64Array.from([0.8, 0.7, 0.2])],
});

test('the order by margin reaches the open claim first, and every order reads the same claims in the end', () => {
  assert.deepEqual(claimOrderWork([two], alwaysVerify), [
    // Loops 1, 2: claim 1 alone (3 and 3 pairs); loop 3: claim 1 (2 pairs), then claim 0 against everything since it was last read (2).
    { order: 'margin', calls: 3, claimVerdicts: 4, pairs: 10 },
    // Claim 0 first in each call, matched at once; then claim 1.
    { order: 'index', calls: 3, claimVerdicts: 6, pairs: 10 },
    { order: 'every', calls: 3, claimVerdicts: 6, pairs: 10 },
  ]);
  // τ = 0.2 calls at loop 3 alone: all pairs are read there.
  assert.deepEqual(
    claimOrderWork([two], gate(0.2)).map(({ calls, claimVerdicts, pairs }) => [calls, claimVerdicts, pairs]),
    [[1, 2, 10], [1, 2, 10], [1, 2, 10]],
  ); // prettier-ignore
  // Without a fire the order by margin never comes to the covered claim.
  const open = { ...two, matchedAt: [1, Infinity], fires: [false, false, false] };
  assert.deepEqual(claimOrderWork([open], alwaysVerify).map(({ pairs }) => pairs), [8, 10, 10]); // prettier-ignore
  assert.throws(() => claimOrderWork([question([1], '.')], alwaysVerify), {
    name: 'RangeError',
    message: "question q: an order of claims needs a decider that rules on the margin's claims one by one",
  });
});

test('the continue-side trigger flags native stops above τ, the random one as many', () => {
  const ended = (id: string, last: number, goldLoop: number | null, stopReason: 'no_follow_up' | 'budget' = 'no_follow_up') =>
    question([0.9, last], '..', { id, goldLoop, stopReason });
  const questions = [
    ended('a', 0.6, Infinity),
    ended('b', 0.7, 2),
    ended('c', 0.2, Infinity),
    ended('d', 0.1, 1),
    ended('e', 0.8, null),
    ended('f', 0.8, Infinity, 'budget'),
  ];
  const trigger = continueTrigger(questions, { tau: 0.5, seeds: 500 });
  // a and b are flagged, a rightly; a and c are uncovered.
  assert.deepEqual([trigger.native, trigger.withGold, trigger.uncovered], [5, 4, 2]);
  assert.deepEqual(trigger.margin, { flagged: 2, precision: 0.5, recall: 0.5 });
  assert.equal(trigger.random.flagged, 2);
  // Two of four at random, two of four uncovered: 1/2; standard deviation of a draw 0.29 (hypergeometric), of the mean of 500 0.013.
  assert.ok(Math.abs((trigger.random.precision as number) - 0.5) < 0.065);
  assert.deepEqual(continueTrigger(questions.toReversed(), { tau: 0.5, seeds: 500 }), trigger);
  assert.deepEqual(continueTrigger(questions, { tau: 2 }).random, { seeds: 20, flagged: 0, precision: null, recall: 0 });
});

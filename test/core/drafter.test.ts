import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type DrafterDetails, type FrontierEntry, beatsBaselines } from '../../src/core/drafter.js';

const heldOut: NonNullable<DrafterDetails['held_out']> = {
  cosine: 0.6,
  cosine_per_slot: [0.6],
  count_accuracy: 1,
  baselines: { mean_claim: 0.4, question: 0.5 },
  pairwise_cosine: 0.3,
  pairwise_cosine_of_claims: 0.2,
  collapsed: false,
};

function entry(drafter: number): FrontierEntry {
  const rest = { decider: 'gold', agreement: 0.9, mean_claim: 0.3, question: 0.4, claim_text: 0.7 };
  return { dataset: '2wiki', questions: 10, left_out: { training: 0, epoch: 0 }, drafter, ...rest };
}

test('a drafter beats its baselines by its cuts on runs, and without runs by its held-out cosine', () => {
  assert.equal(beatsBaselines(heldOut, []), true);
  assert.equal(beatsBaselines({ ...heldOut, cosine: 0.5 }, []), false);
  assert.equal(beatsBaselines(null, []), false);
  assert.equal(beatsBaselines(null, [entry(0.5)]), true);
  assert.equal(beatsBaselines(heldOut, [entry(0.5), entry(0.4)]), false);
});

test('a collapsed drafter beats no baseline, whatever its cuts or its cosine', () => {
  const collapsed = { ...heldOut, collapsed: true };
  assert.equal(beatsBaselines(collapsed, []), false);
  assert.equal(beatsBaselines(collapsed, [entry(0.5)]), false);
});

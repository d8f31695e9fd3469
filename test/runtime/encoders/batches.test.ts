import fc from 'fast-check';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { planBatches } from '../../../runtime/encoders/batches.js';

const lengths = fc.array(fc.integer({ min: 2, max: 3000 }), { maxLength: 300 });

test('every text is in one batch, at a padded length that follows from its own length alone', () => {
  fc.assert(
    fc.property(lengths, (all) => {
      const batches = planBatches(all);
      assert.deepEqual(
        batches.flatMap((batch) => batch.members).toSorted((a, b) => a - b),
        all.map((_, at) => at),
      );
      for (const { length, members } of batches) for (const at of members) assert.equal(length, 4 * Math.ceil((all[at] as number) / 4));
    }),
  );
});

test('a batch has at most 1,024 tokens, or one text', () => {
  fc.assert(
    fc.property(lengths, (all) => {
      for (const { length, members } of planBatches(all)) assert.ok(members.length === 1 || members.length * length <= 1024);
    }),
  );
});

test('an int8 model gets each text by itself, unpadded', () => {
  assert.deepEqual(planBatches([5, 3], true), [
    { length: 5, members: [0] },
    { length: 3, members: [1] },
  ]);
});

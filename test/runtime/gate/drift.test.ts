import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type DriftState, createDrift, driftReference, marginHistogram, observeDrift } from '../../../runtime/index.js';
import { type Random, random } from '../../../src/core/random.js';
import { exampleProfile } from './example-profile.js';

/** The state after a stream, up to an alarm. */
function watched(state: DriftState, margins: Iterable<number>): DriftState {
  let now = state;
  for (const margin of margins) {
    now = observeDrift(now, margin);
    if (now.alarmAt !== null) break;
  }
  return now;
}

/** Margins that heap up in few bins, with one value that many share. */
function drawn(draw: Random, count: number, shift = 0): number[] {
  return Array.from({ length: count }, () => (draw.float() < 0.2 ? 0.3 + shift : (draw.float() + draw.float()) / 2.5 + shift));
}

test('without drift an alarm comes at most as often as stated, on streams of 600 questions after 60 calibrating ones, ties and all', (t) => {
  for (const alpha of [0.05, 0.2]) {
    let alarms = 0;
    for (let seed = 0; seed < 400; seed++) {
      const draw = random(seed, 'no drift');
      const reference = marginHistogram(drawn(draw, 60));
      if (watched(createDrift(reference, { alpha, seed }), drawn(draw, 600)).alarmAt !== null) alarms++;
    }
    t.diagnostic(`α ${alpha}: ${alarms} false alarms in 400 streams, ${(alarms / 400).toFixed(4)}`);
    assert.ok(alarms / 400 <= alpha);
  }
});

test('questions that are unlike the calibration raise the alarm, whether margins are higher, lower, wider or narrower', (t) => {
  const draw = random(13, 'drift');
  const reference = marginHistogram(drawn(draw, 300));
  const streams = {
    higher: drawn(draw, 400, 0.1),
    lower: Array.from({ length: 400 }, () => 0.2 * draw.float()),
    wider: Array.from({ length: 400 }, () => (draw.float() < 0.5 ? 0.05 * draw.float() : 0.75 + 0.05 * draw.float())),
    narrower: Array.from({ length: 400 }, () => 0.4 + 0.1 * draw.float()),
  };
  for (const [name, margins] of Object.entries(streams)) {
    const { alarmAt } = watched(createDrift(reference), margins);
    t.diagnostic(`${name}: alarm after ${alarmAt} questions`);
    assert.ok(alarmAt !== null && alarmAt <= 150, name);
  }
});

test('a drift that sets in after 1,000 quiet questions is found as well', (t) => {
  const draw = random(13, 'late drift');
  const start = createDrift(marginHistogram(drawn(draw, 300)));
  const quiet = watched(start, drawn(draw, 1000));
  assert.equal(quiet.alarmAt, null);
  const { alarmAt } = watched(quiet, drawn(draw, 300, 0.2));
  t.diagnostic(`alarm ${(alarmAt ?? Infinity) - 1000} questions after the drift set in`);
  assert.ok(alarmAt !== null && alarmAt <= 1150);
});

test('a state is plain data of fixed size that no later question changes, and the same stream gives the same states', () => {
  const draw = random(13, 'states');
  const start = createDrift(marginHistogram(drawn(draw, 50)));
  const before = JSON.stringify(start);
  const once = watched(start, drawn(random(1, 'stream'), 100));
  const again = watched(JSON.parse(before) as DriftState, drawn(random(1, 'stream'), 100));
  assert.equal(JSON.stringify(start), before);
  assert.deepEqual(again, once);
  assert.equal(once.counts.length, start.counts.length);
  assert.equal(once.questions, 100);
  assert.notDeepEqual(createDrift(marginHistogram([0.1]), { seed: 1 }), createDrift(marginHistogram([0.1]), { seed: 2 }));
});

test('margins are counted in bins that hold their lower end', () => {
  assert.deepEqual(marginHistogram([0.005, 0.009999, 0.01, 0.29, 0.29], 0.005), {
    width: 0.005,
    firstBin: 1,
    counts: [2, 1, ...Array.from({ length: 55 }, () => 0), 2],
  });
  assert.deepEqual(marginHistogram([2]), { width: 0.005, firstBin: 400, counts: [1] });
  assert.throws(() => marginHistogram([2.1]), { name: 'RangeError', message: 'margin: got 2.1, expected a number in [0, 2]' });
  assert.throws(() => createDrift(marginHistogram([])), { message: 'reference: got no margin, expected at least one' });
  assert.throws(() => createDrift(marginHistogram([1]), { alpha: 0 }), {
    message: 'alpha: got 0, expected a number between 0 and 1, both excluded',
  });
});

test('a profile gives the margins of the datasets that chose τ together, or of one; one without them gives none', () => {
  const first_margins = {
    width: 0.005,
    datasets: [
      { dataset: 'hotpotqa', questions: 3, first_bin: 10, counts: [1, 2] },
      { dataset: '2wiki', questions: 4, first_bin: 9, counts: [1, 3] },
      { dataset: 'musique', questions: 1, first_bin: 0, counts: [1] },
    ],
  };
  const profile = { first_margins, trained_on: ['hotpotqa', '2wiki'] };
  assert.deepEqual(driftReference(profile), { width: 0.005, firstBin: 9, counts: [1, 4, 2] });
  assert.deepEqual(driftReference(profile, 'musique'), { width: 0.005, firstBin: 0, counts: [1] });
  assert.equal(driftReference(profile, 'bamboogle'), null);
  const { first_margins: _, ...older } = exampleProfile();
  assert.equal(driftReference(older), null);
});

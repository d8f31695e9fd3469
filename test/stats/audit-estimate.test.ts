import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { random } from '../../src/core/random.js';
import { auditEstimate, binomialAtLeast, binomialAtMost } from '../../src/stats/index.js';

test('the estimate is fired over share, and the interval is the exact inversion of the binomial', () => {
  // scipy: min(F for F in range(3, 2000) if binom.sf(2, F, .02) > .025) == 32; max(F if binom.cdf(3, F, .02) > .025) == 435.
  const { wouldFire, saved } = auditEstimate({ skips: 5000, audited: 100, fired: 3, share: 0.02 });
  assert.deepEqual(wouldFire, { value: 150, low: 32, high: 435 });
  // 4,900 skips were not audited; 150 − 3 of them would have fired.
  assert.deepEqual(saved, { value: 4753, low: 4900 - 432, high: 4900 - 29 });
});

test('no audited skip that fired: the interval ends where so few would be a surprise', () => {
  // 0.98^182 = 0.0253 > 0.025, 0.98^183 = 0.0248.
  assert.deepEqual(auditEstimate({ skips: 1000, audited: 20, fired: 0, share: 0.02 }).wouldFire, { value: 0, low: 0, high: 182 });
  // 20 skips, 5 of them audited in vain: at most 15 would have fired.
  assert.deepEqual(auditEstimate({ skips: 20, audited: 5, fired: 0, share: 0.02 }).wouldFire, { value: 0, low: 0, high: 15 });
});

test('every skip audited: nothing is left to estimate', () => {
  assert.deepEqual(auditEstimate({ skips: 40, audited: 40, fired: 7, share: 1 }), {
    wouldFire: { value: 7, low: 7, high: 7 },
    saved: { value: 0, low: 0, high: 0 },
  });
});

test('counts that cannot be are refused', () => {
  assert.throws(() => auditEstimate({ skips: 3, audited: 4, fired: 0, share: 0.1 }), {
    name: 'RangeError',
    message: 'audited: got 4, expected at most skips = 3',
  });
  assert.throws(() => auditEstimate({ skips: 3, audited: 2, fired: 3, share: 0.1 }), {
    message: 'fired: got 3, expected at most audited = 2',
  });
  assert.throws(() => auditEstimate({ skips: 3, audited: 2, fired: 1, share: 0 }), {
    message: 'share: got 0, expected a number between 0 and 1, both excluded',
  });
});

test('the ends are those of a search over every whole number', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 120 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      fc.double({ min: 0.01, max: 0.99, noNaN: true }),
      (skips, ofSkips, ofAudited, share) => {
        const audited = Math.floor(ofSkips * skips);
        const fired = Math.floor(ofAudited * audited);
        const { low, high } = auditEstimate({ skips, audited, fired, share }).wouldFire;
        const possible = Array.from({ length: skips - audited + 1 }, (_, at) => fired + at).filter(
          (n) => binomialAtLeast(fired, { n, p: share }) > 0.025 && binomialAtMost(fired, { n, p: share }) > 0.025,
        );
        // Nothing possible: the audits drew what is hardly to be drawn, and the certain bounds decide.
        if (possible.length > 0) assert.deepEqual([low, high], [possible[0], possible.at(-1)]);
        assert.ok(low >= fired && high <= skips - audited + fired && low <= high);
      },
    ),
    { seed: 13, numRuns: 300 },
  );
});

/** A run of the gate: skips at which the decider would fire or not, each audited by chance; an audit that fires ends its question. */
function gatedRun(share: number, seed: number): { skips: number; audited: number; fired: number; wouldFire: number; saved: number } {
  const draw = random(seed, 'audit simulation');
  const counts = { skips: 0, audited: 0, fired: 0, wouldFire: 0, saved: 0 };
  for (let question = 0; question < 400; question++) {
    // Each question has an evidence of its own, so fires come in runs, as they do in life.
    const ready = 1 + draw.int(8);
    for (let loop = 1; loop <= 6; loop++) {
      if (draw.float() < 0.35) continue;
      const fires = loop >= ready && draw.float() < 0.6;
      const audited = draw.float() < share;
      counts.skips++;
      if (fires) counts.wouldFire++;
      if (audited) counts.audited++;
      else if (!fires) counts.saved++;
      if (!(audited && fires)) continue;
      counts.fired++;
      break;
    }
  }
  return counts;
}

for (const share of [0.02, 0.1, 0.5]) {
  test(`with ${share} of the skips audited the 95% interval covers the truth in at least 93% of 500 repetitions, and the estimate is unbiased`, (t) => {
    let [fires, saved, estimated, estimatedSaved, squares] = [0, 0, 0, 0, 0];
    let [truth, truthSaved] = [0, 0];
    for (let seed = 0; seed < 500; seed++) {
      const { wouldFire, saved: inVain, ...counts } = gatedRun(share, seed);
      const estimate = auditEstimate({ ...counts, share });
      if (estimate.wouldFire.low <= wouldFire && wouldFire <= estimate.wouldFire.high) fires++;
      if (estimate.saved.low <= inVain && inVain <= estimate.saved.high) saved++;
      estimated += estimate.wouldFire.value;
      estimatedSaved += estimate.saved.value;
      squares += (estimate.wouldFire.value - wouldFire) ** 2;
      truth += wouldFire;
      truthSaved += inVain;
    }
    t.diagnostic(
      `share ${share}: covered ${fires / 500} (fires) and ${saved / 500} (saved); mean ${(estimated / 500).toFixed(1)} for ${(truth / 500).toFixed(1)}`,
    );
    assert.ok(fires / 500 >= 0.93 && saved / 500 >= 0.93);
    // The mean of 500 errors, within four of its own standard errors of 0.
    const error = Math.sqrt(squares) / 500;
    assert.ok(Math.abs(estimated - truth) / 500 <= 4 * error);
    assert.ok(Math.abs(estimatedSaved - truthSaved) / 500 <= 4 * error);
  });
}

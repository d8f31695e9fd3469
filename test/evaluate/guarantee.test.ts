import assert from 'node:assert/strict';
import { test } from 'node:test';
import { random } from '../../src/core/random.js';
import { roundMargin } from '../../src/core/units.js';
import { certify } from '../../src/evaluate/guarantee.js';
import { ALWAYS_CALL } from '../../src/evaluate/policies.js';
import type { QuestionRun } from '../../src/evaluate/question-run.js';
import { selectTau } from '../../src/evaluate/select-tau.js';
import { pointAt, thresholdCurve } from '../../src/evaluate/threshold-curve.js';
import { question } from './question-runs.js';

/** Questions that fire at loop 2 of 3 with a uniform margin there: agreement at τ is τ in the population. */
function drawn(n: number, seed: number): QuestionRun[] {
  const stream = random(seed, 'guarantee test');
  return Array.from({ length: n }, (_, row) =>
    question([1.5, roundMargin(stream.float()), 0.9], '.F.', { id: `q${row}`, row, goldLoop: 2 }),
  );
}

test('fewer than ln δ / ln b questions certify nothing: always call', () => {
  // 28 questions at b = 0.9 and δ = 0.05: 0.9^28 = 0.0523 > 0.05; 0.9^29 = 0.0471.
  const too = certify([thresholdCurve(drawn(28, 1))], { bar: 0.9, delta: 0.05 });
  assert.equal(too.floor, ALWAYS_CALL);
  assert.equal(too.parts[0]?.tau, null);
  assert.equal(too.parts[0]?.questionsNeeded, 29);
  const enough = certify([thresholdCurve(drawn(29, 1))], { bar: 0.9, delta: 0.05 });
  assert.notEqual(enough.parts[0]?.tau, null);
  // 22 at δ = 0.1: 0.9^22 = 0.0985.
  assert.equal(certify([thresholdCurve(drawn(22, 1))], { bar: 0.9, delta: 0.1 }).parts[0]?.questionsNeeded, 22);
});

test('the certified τ keeps the agreement that the binomial tail asks for', () => {
  const curve = thresholdCurve(drawn(200, 3));
  const { floor, parts } = certify([curve], { bar: 0.9, delta: 0.1 });
  const part = parts[0] as (typeof parts)[number];
  // scipy.stats.binom.sf(185, 200, 0.9) = 0.0930, sf(184, …) = 0.143: at least 186 of 200 have to agree.
  assert.equal(part.agreeingNeeded, 186);
  assert.ok(pointAt(curve, floor).agreeing >= 186);
  assert.ok(pointAt(curve, floor - 1e-6).agreeing < 186);
});

test('under the guarantee the share of draws whose true agreement misses the bar is at most δ', () => {
  // 600 draws of 100 questions; the truth at τ is min(τ, 1) by construction. With δ = 0.1 the count of misses is at most
  // Bin(600, 0.1): above 60 + 3·√(600·0.1·0.9) = 82 would happen once in 700 runs of a correct rule; the seeds are fixed.
  const rounds = 600;
  let misses = 0;
  let plainMisses = 0;
  for (let seed = 0; seed < rounds; seed++) {
    const curve = thresholdCurve(drawn(100, seed));
    const { floor } = certify([curve], { bar: 0.9, delta: 0.1 });
    const { tau } = selectTau([curve], { grid: 'exact', floor });
    if (Math.min(tau, 1) < 0.9) misses++;
    // The point selection takes the sample's own quantile and misses about half of the time.
    const plain = [...curve.taus].find((one) => pointAt(curve, one).agreeing >= 90) as number;
    if (plain < 0.9) plainMisses++;
  }
  assert.ok(misses <= 82, `${misses} misses`);
  assert.ok(plainMisses > 240, `${plainMisses} misses of the point selection`);
});

test('several datasets share δ, so that one sentence holds for all of them', () => {
  const curves = [thresholdCurve(drawn(200, 4)), thresholdCurve(drawn(200, 5))];
  const both = certify(curves, { bar: 0.9, delta: 0.1 });
  const alone = curves.map((curve) => certify([curve], { bar: 0.9, delta: 0.05 }).floor);
  assert.equal(both.floor, Math.max(...alone));
});

test('P7: rows of one id are one draw, which agrees only where all its rows do', () => {
  // 15 ids, each twice: 30 rows would reach the 29 that δ = 0.05 needs (0.9^29 = 0.0471), 15 ids do not.
  const twice = [...drawn(15, 1), ...drawn(15, 1)].map((one, row) => ({ ...one, row }));
  const [part] = certify([thresholdCurve(twice)], { bar: 0.9, delta: 0.05 }).parts;
  assert.deepEqual([part?.tau, part?.questions, part?.questionsNeeded], [null, 15, 29]);
  // Rows of one id that agree from 0.2 and from 0.6 on: the id does from 0.6 on.
  const curve = thresholdCurve([question([0.2, 0.1], 'F.', { id: 'a' }), question([0.6, 0.1], 'F.', { id: 'a', row: 1 })]);
  assert.deepEqual([...curve.taus], [0.1, 0.2, 0.6]);
  assert.deepEqual([...curve.agreeing], [0, 0, 1, 2]);
  assert.deepEqual([curve.ids, ...curve.agreeingIds], [1, 0, 0, 0, 1]);
});

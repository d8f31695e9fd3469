import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { ALWAYS_CALL, NEVER_CALL } from '../../src/evaluate/policies.js';
import type { QuestionRun } from '../../src/evaluate/question-run.js';
import { onTraining, selectTau } from '../../src/evaluate/select-tau.js';
import { pointAt, thresholdCurve } from '../../src/evaluate/threshold-curve.js';
import { anyQuestions, question } from './question-runs.js';

function naive(parts: readonly QuestionRun[][], bar: number, reference: 'own' | 'none'): number {
  const curves = parts.map((part) => thresholdCurve(part));
  const margins = parts.flat().flatMap((one) => Array.from(one.margins));
  const taus = [...new Set([NEVER_CALL, ALWAYS_CALL, ...margins])].sort((a, b) => a - b);
  let best: { tau: number; calls: number } | undefined;
  for (const tau of taus) {
    const points = curves.map((curve) => pointAt(curve, tau));
    const holds = points.every((point, at) => {
      const own = (curves[at] as (typeof curves)[number]).always;
      if (point.agreeing / point.questions < bar) return false;
      return reference === 'none' || point.early === 0 || own.early === 0 || point.safe / point.early >= own.safe / own.early;
    });
    const calls = points.reduce((sum, one) => sum + one.calls, 0);
    if (holds && (!best || calls <= best.calls)) best = { tau, calls };
  }
  return (best as { tau: number }).tau;
}

test('the selected τ equals trying every candidate on every dataset', () => {
  fc.assert(
    fc.property(
      fc.array(anyQuestions, { minLength: 1, maxLength: 3 }),
      fc.constantFrom(0.5, 0.8, 0.9),
      fc.constantFrom('own' as const, 'none' as const),
      (parts, bar, reference) => {
        const selection = selectTau(
          parts.map((part) => thresholdCurve(part)),
          { bar, safetyReference: reference, grid: 'exact' },
        );
        assert.equal(selection.tau, naive(parts, bar, reference));
      },
    ),
    { numRuns: 300 },
  );
});

test('the selected τ meets its constraints whatever the grid', () => {
  fc.assert(
    fc.property(anyQuestions, fc.constantFrom(0.005, 0.05, 'exact' as const), (questions, grid) => {
      const { after } = selectTau([thresholdCurve(questions)], { grid });
      assert.ok((after.agreement[0] as number) >= 0.9);
    }),
  );
});

test('the exact choice cuts at least as much as the grid’s', () => {
  fc.assert(
    fc.property(anyQuestions, (questions) => {
      const curves = [thresholdCurve(questions)];
      assert.ok(selectTau(curves, { grid: 'exact' }).after.callCut >= selectTau(curves, { grid: 0.005 }).after.callCut);
    }),
  );
});

/** Ten questions that fire at loop 2 of 3 with margin 0.30, 0.31, … 0.39; first-loop margin 0.8. */
const ten = Array.from({ length: 10 }, (_, row) => question([0.8, 0.3 + row / 100, 0.2], '.FF', { id: `q${row}`, row, goldLoop: 2 }));

test('takes the smallest agreement quantile by hand: nine of ten questions at bar 0.90', () => {
  // τ = 0.38 keeps nine; τ = 0.39 keeps ten. At 0.38 the tenth stops at loop 3, its last one, so both τ cost ten calls of twenty,
  // and of equal cuts the larger τ wins: 0.79… is skipped only from 0.8 on, so on the exact candidates 0.39.
  const exact = selectTau([thresholdCurve(ten)], { grid: 'exact' });
  assert.equal(exact.tau, 0.39);
  assert.equal(exact.after.callCut, 0.5);
  assert.deepEqual(exact.after.agreement, [1]);
  // On the grid of 0.005 the largest τ below 0.8 with the same cut is 0.795.
  const grid = selectTau([thresholdCurve(ten)]);
  assert.equal(grid.tau, 0.795);
  assert.equal(grid.after.callCut, 0.5);
});

test('a grid’s values are the multiples as they are printed', () => {
  // 0.795 / 0.005 = 159; 159 × 0.005 in floating point is 0.795, 29 × 0.005 is 0.14500000000000002.
  const one = thresholdCurve([question([0.9, 0.1449, 0.1], '.FF', { goldLoop: 2 }), question([0.9, 0.145001, 0.1], '...')]);
  assert.equal(selectTau([one], { bar: 1 }).tau, 0.145);
});

test('P32: gives before and after with the objective', () => {
  const { before, after, unchanged } = selectTau([thresholdCurve(ten)], { grid: 'exact' });
  assert.deepEqual(before, { tau: ALWAYS_CALL, callCut: 0, agreement: [1], coverageSafety: [1] });
  assert.deepEqual(after, { tau: 0.39, callCut: 0.5, agreement: [1], coverageSafety: [1] });
  assert.equal(unchanged, null);
});

test('P32: says flat where every τ that calls at all costs what calling always costs', () => {
  // One call at loop 1, whatever τ ≥ 0.4; below it the question is never asked and disagrees.
  const flat = selectTau([thresholdCurve([question([0.4, 0.4], 'F.', { goldLoop: 1 })])], { grid: 'exact' });
  assert.equal(flat.unchanged, 'flat');
  assert.equal(flat.extent, 'calls always');
  assert.deepEqual(flat.refused, { agreement: 1, safety: 0, guarantee: 0 });
});

test('P32: says infeasible where the τ that would save calls fail a constraint, and which', () => {
  // The only fire has the largest margin, so every τ that skips something loses it: at 0.3 one call instead of two.
  const one = [question([0.3, 0.8, 0.9], '.F.', { goldLoop: 1 })];
  const lost = selectTau([thresholdCurve(one)], { grid: 'exact' });
  assert.equal(lost.unchanged, 'infeasible');
  assert.equal(lost.tau, ALWAYS_CALL);
  // Never call, and τ = 0.3: both cut, both disagree.
  assert.deepEqual(lost.refused, { agreement: 2, safety: 0, guarantee: 0 });
  const floored = selectTau([thresholdCurve(ten)], { grid: 'exact', bar: 0.5, floor: ALWAYS_CALL });
  assert.equal(floored.unchanged, 'infeasible');
  // "Never call" agrees nowhere; of the candidates that cut, all eleven distinct margins below 0.8 and "never call" are below the floor.
  assert.equal(floored.refused.guarantee, 12);
});

test('undefined coverage safety meets any reference', () => {
  const never = [question([0.5, 0.4], '..', { goldLoop: Infinity })];
  assert.equal(selectTau([thresholdCurve(never)], { grid: 'exact' }).extent, 'never calls');
  assert.equal(selectTau([thresholdCurve(never)], { grid: 'exact', safetyReference: 0.99 }).extent, 'never calls');
});

test('a safety reference given as a number that nothing meets leaves τ at always call', () => {
  const unsafe = [question([0.8, 0.4, 0.2], '.FF', { goldLoop: 3 })];
  const selection = selectTau([thresholdCurve(unsafe)], { grid: 'exact', safetyReference: 0.5, bar: 1 });
  assert.equal(selection.tau, ALWAYS_CALL);
  assert.equal(selection.feasible, 0);
  assert.equal(selection.unchanged, 'infeasible');
});

test('the per-dataset rule protects a dataset that the pooled rule gives up', () => {
  // A: 19 questions; τ = 0.35 skips their first loop and keeps every stop, τ ≥ 0.5 calls at both loops.
  // B: one question that fires at loop 1 with margin 0.6 and is lost below it.
  const a = Array.from({ length: 19 }, (_, row) => question([0.5, 0.35, 0.35], '.FF', { row, goldLoop: 2 }));
  const b = [question([0.6, 0.9, 0.1], 'F..', { goldLoop: 1 })];
  const each = selectTau([thresholdCurve(a), thresholdCurve(b)], { grid: 'exact', bar: 0.95 });
  const pooled = selectTau([thresholdCurve([...a, ...b])], { grid: 'exact', bar: 0.95 });
  // Pooled: 19 of 20 agree at 0.35, with 19 + 1 calls of 38 + 1.
  assert.equal(pooled.tau, 0.35);
  assert.equal(pooled.after.callCut, 1 - 20 / 39);
  assert.deepEqual(onTraining([thresholdCurve(b)], pooled.tau).agreement, [0]);
  // B alone asks for τ ≥ 0.6, which calls everywhere.
  assert.equal(each.tau, ALWAYS_CALL);
  assert.deepEqual(each.after.agreement, [1, 1]);
});

test('P28: a shifted and squeezed cosine scale moves τ along and changes nothing else', () => {
  fc.assert(
    fc.property(anyQuestions, (questions) => {
      // E5's cosines lie in 0.7 … 1: margins 0 … 2 become 0.01 … 0.31. The map keeps the order, and distinct margins distinct.
      const squeeze = (margin: number): number => 0.01 + margin * 0.15;
      const shifted = questions.map((one) => ({ ...one, margins: one.margins.map(squeeze) }));
      const plain = selectTau([thresholdCurve(questions)], { grid: 'exact' });
      const moved = selectTau([thresholdCurve(shifted)], { grid: 'exact' });
      assert.equal(moved.after.callCut, plain.after.callCut);
      assert.deepEqual(moved.after.agreement, plain.after.agreement);
      if (plain.extent === 'between') assert.equal(moved.tau, squeeze(plain.tau));
      assert.equal(moved.extent, plain.extent);
    }),
  );
});

test('refuses a grid that has no step', () => {
  assert.throws(() => selectTau([thresholdCurve(ten)], { grid: 0 }), {
    name: 'RangeError',
    message: 'grid: got 0, expected a step in (0, 2] or "exact"',
  });
});

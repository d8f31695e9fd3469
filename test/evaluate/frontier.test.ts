import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { cutAtAgreement, extent, frontier, frontierPoints } from '../../src/evaluate/frontier.js';
import { ALWAYS_CALL, NEVER_CALL, alwaysVerify, gate } from '../../src/evaluate/policies.js';
import type { QuestionRun } from '../../src/evaluate/question-run.js';
import { callCut, pointAt, thresholdCurve } from '../../src/evaluate/threshold-curve.js';
import { anyQuestions, question } from './question-runs.js';

/** The definitions of method.md §1 run question by question at one τ: the plain, quadratic way. */
function plain(questions: readonly QuestionRun[], tau: number) {
  const sums = { calls: 0, alwaysCalls: 0, agreeing: 0, early: 0, safe: 0 };
  for (const one of questions) {
    const [gated, always] = [gate(tau)(one), alwaysVerify(one)];
    sums.calls += gated.calls;
    sums.alwaysCalls += always.calls;
    if (gated.stop === always.stop) sums.agreeing++;
    if (one.goldLoop !== null && gated.stop < one.margins.length) {
      sums.early++;
      if (gated.stop >= one.goldLoop) sums.safe++;
    }
  }
  return { tau, questions: questions.length, ...sums };
}

function plainCandidates(questions: readonly QuestionRun[]): number[] {
  return [...new Set([NEVER_CALL, ALWAYS_CALL, ...questions.flatMap((one) => [...one.margins])])].sort((a, b) => a - b);
}

test('the curve equals replaying every question, at every distinct margin and between them', () => {
  fc.assert(
    fc.property(anyQuestions, fc.double({ min: -1, max: 2, noNaN: true }), (questions, between) => {
      const curve = thresholdCurve(questions);
      for (const tau of [...plainCandidates(questions), between]) assert.deepEqual(pointAt(curve, tau), plain(questions, tau));
    }),
    { numRuns: 300 },
  );
});

test('the largest cut at a bar equals trying every candidate; of equal cuts the larger τ wins', () => {
  fc.assert(
    fc.property(anyQuestions, fc.constantFrom(0.5, 0.75, 0.9, 1), (questions, bar) => {
      let best = plain(questions, ALWAYS_CALL);
      for (const tau of plainCandidates(questions)) {
        const point = plain(questions, tau);
        if (point.agreeing / point.questions < bar) continue;
        if (point.calls < best.calls || (point.calls === best.calls && tau > best.tau)) best = point;
      }
      const got = cutAtAgreement(thresholdCurve(questions), bar);
      assert.equal(got.callCut, callCut(best));
      assert.equal(got.agreement, best.agreeing / best.questions);
      assert.equal(got.tau, best.tau);
    }),
    { numRuns: 300 },
  );
});

test('agreement only rises with τ', () => {
  fc.assert(
    fc.property(anyQuestions, (questions) => {
      const { agreeing } = thresholdCurve(questions);
      for (let step = 1; step < agreeing.length; step++) assert.ok((agreeing[step] as number) >= (agreeing[step - 1] as number));
    }),
  );
});

test('gives the frontier of a case worked by hand', () => {
  // A: fires first at loop 2 with margin 0.4, gold loop 2. B: fires first at loop 2 with margin 0.6, gold loop 3; fires again at loop 3 with 0.2.
  // C: never fires.  Always-verify calls 2 + 2 + 4 = 8.
  const a = question([0.7, 0.4, 0.3, 0.3], '.FFF', { goldLoop: 2 });
  const b = question([0.8, 0.6, 0.2, 0.2], '.FFF', { goldLoop: 3 });
  const c = question([0.9, 0.9, 0.9, 0.9], '....', { goldLoop: Infinity });
  const curve = thresholdCurve([a, b, c]);
  assert.deepEqual(frontierPoints(curve), [
    // Nobody is called: A and B run to the end and disagree, C agrees.
    { tau: -1, callCut: 1, agreement: 1 / 3, coverageSafety: null },
    // B stops at loop 3 with one call (safe).
    { tau: 0.2, callCut: 7 / 8, agreement: 1 / 3, coverageSafety: 1 },
    // A stops at loop 3 with one call.
    { tau: 0.3, callCut: 6 / 8, agreement: 1 / 3, coverageSafety: 1 },
    // A stops at loop 2 with one call and agrees.
    { tau: 0.4, callCut: 6 / 8, agreement: 2 / 3, coverageSafety: 1 },
    // B stops at loop 2 with one call, agrees, and is unsafe: its gold loop is 3.
    { tau: 0.6, callCut: 6 / 8, agreement: 1, coverageSafety: 1 / 2 },
    // A's first loop is called in vain, then B's, then C's four.
    { tau: 0.7, callCut: 5 / 8, agreement: 1, coverageSafety: 1 / 2 },
    { tau: 0.8, callCut: 4 / 8, agreement: 1, coverageSafety: 1 / 2 },
    { tau: 0.9, callCut: 0, agreement: 1, coverageSafety: 1 / 2 },
  ]);
  assert.deepEqual(
    frontier(curve, [0.3, 0.6, 0.9]).map(({ bar, best }) => [bar, best.tau]),
    [
      [0.3, -1],
      // 0.4 and 0.6 cut the same; the larger wins.
      [0.6, 0.6],
      [0.9, 0.6],
    ],
  );
  assert.equal(frontierPoints(curve, 3).length, 3);
});

test('a deferred stop can cost more calls than it saves: the cut is negative', () => {
  // Always-verify stops at loop 1 with one call. Margins rise above τ only there, so the gate asks at loops 2 to 4 in vain.
  const one = question([0.5, 0.3, 0.3, 0.3], 'F...', { goldLoop: 1 });
  const point = pointAt(thresholdCurve([one]), 0.3);
  assert.equal(point.calls, 3);
  assert.equal(callCut(point), 1 - 3 / 1);
});

test('says when a τ never calls or always calls', () => {
  const curve = thresholdCurve([question([0.8, 0.4], '.F')]);
  assert.equal(extent([curve], 0.39), 'never calls');
  assert.equal(extent([curve], 0.4), 'between');
  assert.equal(extent([curve], 0.8), 'calls always');
});

test('questions without gold labels have no coverage safety', () => {
  const point = cutAtAgreement(thresholdCurve([question([0.4, 0.3, 0.2], '.F.')]), 0.9);
  assert.equal(point.coverageSafety, null);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { random } from '../../src/core/random.js';
import { roundMargin } from '../../src/core/units.js';
import { calibrate } from '../../src/evaluate/calibration.js';
import { evaluationRows } from '../../src/evaluate/evaluation-rows.js';
import { marginQuantiles, quantiles } from '../../src/evaluate/margin-quantiles.js';
import { measure } from '../../src/evaluate/measures.js';
import { ALWAYS_CALL, gate } from '../../src/evaluate/policies.js';
import type { DatasetRun, QuestionRun } from '../../src/evaluate/question-run.js';
import { selectTau } from '../../src/evaluate/select-tau.js';
import { thresholdCurve } from '../../src/evaluate/threshold-curve.js';
import { question } from './question-runs.js';

const excluded = { no_claims: 0, no_loop: 0, undecided: 0, repeated: 0 };

/** Trajectories of up to six loops whose margins fall by chance, and a decider that fires the sooner the smaller the margin. */
function dataset(name: string, n: number, { shift = 0, gold = true }: { shift?: number; gold?: boolean } = {}): DatasetRun {
  const stream = random(13, 'calibration test', name);
  const questions = Array.from({ length: n }, (_, row): QuestionRun => {
    const loops = 3 + stream.int(4);
    let margin = 0.6 + 0.4 * stream.float();
    const margins: number[] = [];
    const fires: boolean[] = [];
    for (let loop = 0; loop < loops; loop++) {
      margin *= 0.6 + 0.4 * stream.float();
      margins.push(roundMargin(margin + shift));
      fires.push((fires.at(-1) ?? false) || stream.float() > margin * 2.2);
    }
    const first = fires.indexOf(true) + 1;
    return {
      id: `${name}-${row}`,
      row,
      margins: Float64Array.from(margins),
      fires,
      goldLoop: !gold ? null : first === 0 ? Infinity : Math.max(1, first - stream.int(2) + (stream.float() < 0.1 ? 1 : 0)),
      claims: 2 + stream.int(2),
      deciderClaims: 2,
    };
  });
  return { dataset: name, questions, excluded, rows: n };
}

const three = [dataset('hotpotqa', 300), dataset('2wiki', 260), dataset('musique', 200)];
const quick = { resamples: 100 };

test('every dataset is the target once, with τ from the other datasets alone', () => {
  const { mode, folds } = calibrate(three, quick);
  assert.equal(mode, 'leave-one-dataset-out');
  assert.deepEqual(
    folds.map(({ target, trainedOn }) => [target, trainedOn]),
    [
      ['hotpotqa', ['2wiki', 'musique']],
      ['2wiki', ['hotpotqa', 'musique']],
      ['musique', ['hotpotqa', '2wiki']],
    ],
  );
  for (const [at, fold] of folds.entries()) {
    const others = three.filter((_, other) => other !== at).map((run) => thresholdCurve(run.questions));
    assert.equal(fold.selection.tau, selectTau(others).tau);
    assert.deepEqual(fold.all, measure((three[at] as DatasetRun).questions, gate(fold.selection.tau), quick));
    assert.equal(fold.miss, (fold.all.agreement.value as number) < 0.9);
  }
});

test('changing a target’s questions does not move its own τ', () => {
  const before = calibrate(three, quick).folds[0]?.selection.tau;
  const changed = [dataset('hotpotqa', 300, { shift: 0.5 }), ...three.slice(1)];
  const after = calibrate(changed, quick);
  assert.equal(after.folds[0]?.selection.tau, before);
  assert.notEqual(after.folds[1]?.selection.tau, calibrate(three, quick).folds[1]?.selection.tau);
});

test('the profile’s τ is chosen on the training splits of all datasets', () => {
  const { tau, selection } = calibrate(three, quick);
  assert.deepEqual(selection, selectTau(three.map((run) => thresholdCurve(run.questions))));
  assert.equal(tau, selection.tau);
});

test('only the first rows of a file are trained on, and the rest is also measured apart', () => {
  const { folds, selection } = calibrate(three, { ...quick, trainRows: 120 });
  const first = (run: DatasetRun): QuestionRun[] => run.questions.filter((one) => one.row < 120);
  assert.deepEqual(selection, selectTau(three.map((run) => thresholdCurve(first(run)))));
  assert.deepEqual(
    folds.map((fold) => [fold.all.questions.valid, fold.heldOut?.questions.valid]),
    [
      [300, 180],
      [260, 140],
      [200, 80],
    ],
  );
});

test('a given training split replaces the first rows', () => {
  const inTraining = (_: string, id: string): boolean => Number(id.split('-')[1]) % 2 === 0;
  const { selection, folds } = calibrate(three, { ...quick, inTraining });
  const even = (run: DatasetRun): QuestionRun[] => run.questions.filter((one) => one.row % 2 === 0);
  assert.deepEqual(selection, selectTau(three.map((run) => thresholdCurve(even(run)))));
  assert.equal(folds[0]?.heldOut?.questions.valid, 150);
  assert.throws(() => calibrate(three, { ...quick, inTraining: (name) => name !== '2wiki' }), {
    name: 'InputError',
    message: 'dataset 2wiki: no question of it is in the training split',
  });
});

test('with a target τ comes from the others and the profile holds that τ', () => {
  const { mode, folds, tau, trainedOn } = calibrate(three, { ...quick, target: '2wiki' });
  assert.equal(mode, 'target');
  assert.deepEqual(trainedOn, ['hotpotqa', 'musique']);
  assert.deepEqual(
    folds.map((fold) => [fold.target, fold.selection.tau]),
    [['2wiki', tau]],
  );
  assert.throws(() => calibrate(three, { target: 'bamboogle' }), {
    name: 'InputError',
    message: '--target: got "bamboogle", expected one of hotpotqa, 2wiki, musique',
  });
  assert.throws(() => calibrate(three.slice(0, 1), { target: 'hotpotqa' }), {
    name: 'InputError',
    message: '--target hotpotqa: there is no other dataset to choose τ on; leave --target out for folds of this one',
  });
});

test('one dataset gives folds of its own with a warning, and no id is on both sides of one', () => {
  const [only] = three;
  const repeated = {
    ...(only as DatasetRun),
    questions: (only as DatasetRun).questions.flatMap((one) => [one, { ...one, row: one.row + 1000 }]),
  };
  const { mode, folds, warnings } = calibrate([repeated], { ...quick, trainRows: 5000 });
  assert.equal(mode, 'k-fold');
  assert.deepEqual(
    folds.map((fold) => fold.target),
    ['hotpotqa 1/5', 'hotpotqa 2/5', 'hotpotqa 3/5', 'hotpotqa 4/5', 'hotpotqa 5/5'],
  );
  // Both rows of an id are in one part: 60 ids, 120 rows each.
  for (const fold of folds) assert.deepEqual(fold.all.questions, { rows: 120, unique: 60, valid: 120 });
  assert.equal(warnings[0], 'one dataset only: the folds are parts of hotpotqa and say nothing about how τ transfers to other questions');
});

test('without supporting facts safety is undefined, agreement alone decides, and it is said', () => {
  const blind = three.map((run) => dataset(run.dataset, 100, { gold: false }));
  const { folds, withoutGold, warnings } = calibrate(blind, quick);
  assert.equal(withoutGold, true);
  for (const fold of folds) {
    assert.equal(fold.all.coverageSafety.value, null);
    assert.equal(fold.all.ownSafety, null);
    assert.deepEqual(fold.selection.refused.safety, 0);
  }
  assert.ok(warnings.includes('no supporting facts: coverage safety is unknown, agreement alone chose τ'));
});

test('a fold below the bar is called a miss, in words too', () => {
  // The target's margins lie 0.3 higher, so a τ from the others asks too rarely.
  const shifted = [three[0] as DatasetRun, three[1] as DatasetRun, dataset('musique', 200, { shift: 0.3 })];
  const { folds, warnings } = calibrate(shifted, quick);
  const fold = folds[2] as (typeof folds)[number];
  assert.equal(fold.miss, true);
  const got = (fold.all.agreement.value as number).toFixed(3);
  assert.ok(warnings.includes(`a miss on musique: held-out agreement ${got} is below the bar 0.9`));
});

test('P39: a fold shows what its transferred τ loses against the target’s own best', () => {
  for (const fold of calibrate(three, quick).folds) {
    if (fold.miss) continue;
    assert.ok(fold.frontier.callCut >= (fold.all.callCut.value as number));
  }
});

test('a guarantee asks more of τ than the point choice, and certifies nothing on few questions', () => {
  const plain = calibrate(three, quick);
  const safe = calibrate(three, { ...quick, delta: 0.1 });
  assert.ok(safe.tau >= plain.tau);
  assert.ok(safe.selection.after.agreement.every((one) => one > 0.9));
  assert.equal(safe.certificate?.parts.length, 3);
  const few = calibrate([dataset('hotpotqa', 20), dataset('2wiki', 20)], { ...quick, delta: 0.1 });
  assert.equal(few.tau, ALWAYS_CALL);
  assert.equal(few.extent, 'calls always');
});

test('the pooled rule constrains the pool', () => {
  const pooled = calibrate(three, { ...quick, constraint: 'pooled' });
  assert.equal(pooled.selection.after.agreement.length, 1);
  assert.deepEqual(pooled.selection, selectTau([thresholdCurve(three.flatMap((run) => run.questions))]));
});

test('excluded rows are said, and a dataset that has none left is refused', () => {
  const some = { ...(three[0] as DatasetRun), excluded: { no_claims: 3, no_loop: 2, undecided: 1, repeated: 0 }, rows: 306 };
  assert.ok(
    calibrate([some, three[1] as DatasetRun], quick).warnings.includes(
      'hotpotqa: left out 3 without claims, 2 without a loop, 1 without verdicts, 0 repeated, of 306 rows',
    ),
  );
  assert.throws(() => calibrate([{ ...some, questions: [] }, three[1] as DatasetRun]), {
    name: 'InputError',
    message: 'dataset hotpotqa: no question is left (3 without claims, 2 without a loop, 1 without verdicts, 0 repeated, of 306 rows)',
  });
});

test('P33: rows give every question’s stops under the τ of its fold, and add up to the fold’s figures', () => {
  const calibration = calibrate(three, quick);
  const rows = [...evaluationRows(three, calibration, quick)];
  assert.equal(rows.length, 760);
  for (const fold of calibration.folds) {
    const own = rows.filter((one) => one.dataset === fold.target);
    const calls = own.reduce((sum, one) => sum + one.gated_calls, 0);
    const always = own.reduce((sum, one) => sum + one.always_calls, 0);
    assert.equal(1 - calls / always, fold.all.callCut.value);
    assert.equal(own.filter((one) => one.agrees).length / own.length, fold.all.agreement.value);
    assert.equal(own.filter((one) => one.safe).length / own.filter((one) => one.early).length, fold.all.coverageSafety.value);
    assert.ok(own.every((one) => one.tau === fold.selection.tau));
  }
});

test('P28: quantiles of margins and cosines interpolate between order statistics', () => {
  // numpy.quantile([0.1, 0.2, 0.4, 0.8], [0, 0.25, 0.5, 1]) = 0.1, 0.175, 0.3, 0.8
  assert.deepEqual(quantiles(Float64Array.of(0.8, 0.1, 0.4, 0.2), [0, 0.25, 0.5, 1]), [0.1, 0.175, 0.3, 0.8]);
  const run = {
    dataset: 'a',
    rows: 1,
    excluded,
    questions: [question([0.5, 0.3], '..', { claimMargins: [Float64Array.of(0.5, 0.3), Float64Array.of(0.2, 0.1)] })],
  };
  const { loops, margins, cosines } = marginQuantiles(run);
  assert.equal(loops, 2);
  assert.deepEqual([margins[0], margins.at(-1)], [0.3, 0.5]);
  // Best cosine of each claim and loop: 0.5, 0.7, 0.8, 0.9.
  assert.deepEqual([cosines[0], cosines.at(-1)], [0.5, 0.9]);
});

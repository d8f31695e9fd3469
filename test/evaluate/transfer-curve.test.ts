import assert from 'node:assert/strict';
import { test } from 'node:test';
import { random } from '../../src/core/random.js';
import { roundMargin } from '../../src/core/units.js';
import { type OwnRule, agreementRange, questionsForMean, tauFromOwn } from '../../src/evaluate/own-questions.js';
import { calibrate } from '../../src/evaluate/calibration.js';
import { guaranteeWords } from '../../src/evaluate/explain.js';
import { ALWAYS_CALL } from '../../src/evaluate/policies.js';
import type { DatasetRun, QuestionRun } from '../../src/evaluate/question-run.js';
import { type TauGrid, selectTau } from '../../src/evaluate/select-tau.js';
import { type ThresholdCurve, thresholdCurve } from '../../src/evaluate/threshold-curve.js';
import { type TransferPoint, transferCurve } from '../../src/evaluate/transfer-curve.js';
import { question } from './question-runs.js';

/**
 * Questions that fire at loop 2 of 3 with a margin there that is uniform in [shift, 1 + shift]: in the population agreement at τ is τ − shift,
 * so every τ's true agreement is known.
 */
function drawn(n: number, label: string | number, shift = 0): QuestionRun[] {
  const stream = random(13, 'transfer test', label);
  return Array.from({ length: n }, (_, row) =>
    question([1.9, roundMargin(shift + stream.float()), 0.95 + shift], '.F.', { id: `q${row}`, row }),
  );
}

function dataset(name: string, questions: readonly QuestionRun[]): DatasetRun {
  return { dataset: name, questions, excluded: { no_claims: 0, no_loop: 0, undecided: 0, repeated: 0 }, rows: questions.length };
}

const easier = thresholdCurve(drawn(400, 'easier', -0.02));
const harder = thresholdCurve(drawn(400, 'harder', 0.2));

/** True agreement of the τ that a rule chooses on n fresh questions, over `draws` draws. */
function truths(
  n: number,
  rule: OwnRule,
  { others = [easier], draws = 1000, grid }: { others?: ThresholdCurve[]; draws?: number; grid?: TauGrid } = {},
): number[] {
  return Array.from({ length: draws }, (_, at) => Math.min(1, tauFromOwn(thresholdCurve(drawn(n, at)), others, rule, { grid })));
}

const mean = (values: readonly number[]): number => values.reduce((sum, one) => sum + one, 0) / values.length;
const missed = (values: readonly number[]): number => values.filter((one) => one < 0.9).length / values.length;

test('the guarantee is violated in at most δ of 1,000 draws, where own questions alone miss the bar in half of them', (t) => {
  for (const delta of [0.05, 0.1]) {
    const share = missed(truths(100, { rule: 'guarantee', delta }));
    t.diagnostic(`δ ${delta}: ${share} of 1,000 draws of 100 questions violate the bar`);
    // Three standard errors of a share of δ in 1,000 draws.
    assert.ok(share <= delta + 3 * Math.sqrt((delta * (1 - delta)) / 1000), `${share} at δ ${delta}`);
  }
  const share = missed(truths(100, { rule: 'alone' }));
  t.diagnostic(`alone: ${share}`);
  assert.ok(share > 0.3 && share < 0.7, String(share));
});

test('below 29 own questions at δ 0.05, and 22 at 0.1, the guarantee calls always', () => {
  const tau = (n: number, delta: number): number => tauFromOwn(thresholdCurve(drawn(n, 'few')), [], { rule: 'guarantee', delta });
  assert.equal(tau(28, 0.05), ALWAYS_CALL);
  assert.ok(tau(29, 0.05) < ALWAYS_CALL);
  assert.equal(tau(21, 0.1), ALWAYS_CALL);
  assert.ok(tau(22, 0.1) < ALWAYS_CALL);
});

test('one spare question that never agrees keeps the mean agreement at the bar, at every size; without it few questions fall short', () => {
  for (const n of [10, 25, 50, 100]) {
    const values = truths(n, { rule: 'spare' });
    // Uniform order statistics: the mean is at least ⌈0.9 (n + 1)⌉ / (n + 1) ≥ 0.9; the standard error of 1,000 draws is at most 0.1 / √1000 = 0.003.
    assert.ok(mean(values) >= 0.9 - 0.006, `${mean(values)} with ${n}`);
  }
  // Among the questions' own margins 9 of 10 have to agree: the ninth of ten uniform numbers is 9/11 = 0.818 in the mean.
  const alone = mean(truths(10, { rule: 'alone' }, { grid: 'exact' }));
  assert.ok(Math.abs(alone - 9 / 11) < 0.01, String(alone));
  // 8 / 9 < 0.9 ≤ 9 / 10.
  assert.equal(questionsForMean(0.9), 9);
  assert.equal(tauFromOwn(thresholdCurve(drawn(8, 'few')), [], { rule: 'spare' }), ALWAYS_CALL);
  assert.ok(tauFromOwn(thresholdCurve(drawn(9, 'few')), [], { rule: 'spare' }) < ALWAYS_CALL);
});

test('more own questions are never worse in expectation: the distance from the bar shrinks, and the miss of a prior from harder or easier questions with it', () => {
  for (const rule of [{ rule: 'alone' }, { rule: 'spare' }, { rule: 'spare prior', weight: 10 }] as OwnRule[]) {
    for (const others of [[easier], [harder]]) {
      const distance = [10, 50, 250].map((n) => mean(truths(n, rule, { others, draws: 300 }).map((one) => Math.abs(one - 0.9))));
      const [few, more, most] = distance as [number, number, number];
      assert.ok(few > more && more > most, `${rule.rule}: ${distance.join(', ')}`);
    }
  }
});

test('a prior of weight 0 is the own questions alone, and one of endless weight is LODO with agreement on each dataset', () => {
  const own = thresholdCurve(drawn(40, 'limits'));
  const others = [easier, harder];
  assert.equal(tauFromOwn(own, others, { rule: 'prior', weight: 0 }), selectTau([own], { safetyReference: 'none' }).tau);
  assert.equal(tauFromOwn(own, others, { rule: 'prior', weight: 1e9 }), selectTau(others, { safetyReference: 'none' }).tau);
  const [alone, lodo] = (['alone', 'lodo'] as const).map((rule) => tauFromOwn(own, others, { rule })) as [number, number];
  assert.equal(tauFromOwn(own, others, { rule: 'larger' }), Math.max(alone, lodo));
  assert.equal(tauFromOwn(own, others, { rule: 'smaller' }), Math.min(alone, lodo));
  assert.equal(tauFromOwn(own, others, { rule: 'between', weight: 40 }), (alone + lodo) / 2);
  assert.throws(() => tauFromOwn(own, [], { rule: 'prior', weight: 10 }), {
    name: 'RangeError',
    message: 'others: got none, expected the datasets of the prior',
  });
});

const rules: OwnRule[] = [{ rule: 'lodo' }, { rule: 'alone' }, { rule: 'spare prior', weight: 10 }, { rule: 'guarantee', delta: 0.05 }];
const small = { rules, sizes: [10, 25, 50, 100, 200], repetitions: 40, resamples: 40 };

test('the curve is the same for a seed and for another order of the rows, and another for another seed', () => {
  const target = dataset('target', drawn(120, 'target', 0.1));
  const others = [dataset('a', drawn(100, 'a')), dataset('b', drawn(100, 'b'))];
  const curve = transferCurve(target, others, small);
  const shuffled = dataset('target', random(1, 'order').shuffle(target.questions));
  const again = transferCurve(shuffled, others.map((one) => dataset(one.dataset, one.questions.toReversed())), small); // prettier-ignore
  assert.deepEqual(again, curve);
  assert.notDeepEqual(transferCurve(target, others, { ...small, seed: 14 }).points, curve.points);
  // 120 questions: 100 of one's own would leave 20, and 200 none.
  assert.deepEqual([...new Set(curve.points.map((one) => one.own))], [0, 10, 25, 50]);
});

test('a shifted target is missed by LODO, met by its own questions, and a guarantee on too few of them calls always', () => {
  const target = dataset('target', drawn(300, 'target', 0.1));
  const { points } = transferCurve(target, [dataset('a', drawn(300, 'a'))], small);
  const at = (rule: OwnRule['rule'], own: number): TransferPoint =>
    points.find((one) => one.rule.rule === rule && one.own === own) as TransferPoint;
  // LODO takes τ near 0.9, where the target's agreement is 0.8.
  assert.ok(Math.abs(at('lodo', 0).agreement.mean - 0.8) < 0.04, String(at('lodo', 0).agreement.mean));
  assert.equal(at('lodo', 0).missed, 1);
  assert.ok(at('spare prior', 100).agreement.mean > 0.87);
  assert.equal(at('guarantee', 25).alwaysCalls, 1);
  assert.equal(at('guarantee', 25).callCut.mean, 0);
  assert.equal(at('guarantee', 50).alwaysCalls, 0);
  for (const { agreement } of points) assert.ok(agreement.low <= agreement.mean && agreement.mean <= agreement.high);
  // A resample of 300 questions holds about 190 different ones.
  assert.equal(at('alone', 200).agreement.resampled, null);
  assert.notEqual(at('alone', 100).agreement.resampled, null);
});

test('rows of one id are drawn together, and a target with too few questions is refused by name', () => {
  const twice = drawn(45, 'twice').flatMap((one) => [one, { ...one, row: one.row + 45 }]);
  const curve = transferCurve(dataset('twice', twice), [dataset('a', drawn(50, 'a'))], { ...small, sizes: [10] });
  assert.equal(curve.questions, 45);
  assert.throws(() => transferCurve(dataset('few', drawn(39, 'few')), [], small), {
    name: 'InputError',
    message: 'dataset few: got 39 questions, expected at least 40: 10 to choose τ on and 30 to measure on',
  });
});

test('95% of the agreements that n own questions give are those of an order statistic', () => {
  // scipy.stats.beta.ppf([0.025, 0.975], 46, 5) and (…, 181, 20); bisection goes on to 2⁻⁵⁰.
  for (const [n, low, high] of [
    [50, 0.8076572164040372, 0.9667249064109775],
    [200, 0.8556233600231474, 0.937840633745934],
  ] as const) {
    const range = agreementRange(n, 0.9);
    assert.ok(range !== null && Math.abs(range.low - low) < 1e-9 && Math.abs(range.high - high) < 1e-9, JSON.stringify(range));
  }
  assert.equal(agreementRange(8, 0.9), null);
  assert.equal(questionsForMean(1), Infinity);
  assert.equal(questionsForMean(0.95), 19);
});

const shifted = [dataset('mine', drawn(150, 'mine', 0.1)), dataset('a', drawn(300, 'a')), dataset('b', drawn(300, 'b'))];
const quick = { resamples: 100, target: 'mine', safetyReference: 'none' } as const;

test('calibrate: own questions move τ from LODO’s to their own, and only the questions outside the split are measured', () => {
  const lodo = calibrate(shifted, quick);
  const own = calibrate(shifted, { ...quick, ownQuestions: true, trainRows: 60 });
  assert.ok((lodo.folds[0]?.all.agreement.value as number) < 0.85);
  assert.deepEqual(own.own, { dataset: 'mine', questions: 60 });
  assert.deepEqual(own.trainedOn, ['a', 'b', 'mine']);
  assert.deepEqual(
    own.folds.map(({ target, all, heldOut }) => [target, all.questions.valid, heldOut]),
    [['mine', 90, null]],
  );
  assert.ok((own.folds[0]?.all.agreement.value as number) >= 0.87);
  const curves = shifted.map((run) => thresholdCurve(run.questions));
  const mine = thresholdCurve((shifted[0] as DatasetRun).questions.slice(0, 60));
  assert.equal(own.tau, tauFromOwn(mine, curves.slice(1), { rule: 'spare prior', weight: 10 }));
});

test('calibrate: where every own question chooses τ, the folds are parts of them, each with the τ of the rest; a guarantee holds for the target alone', () => {
  const { folds, certificate, own } = calibrate(shifted, { ...quick, ownQuestions: true, delta: 0.1 });
  assert.deepEqual(own, { dataset: 'mine', questions: 150 });
  assert.deepEqual(folds.map(({ target, all }) => [target, all.questions.valid]), [1, 2, 3, 4, 5].map((part) => [`mine ${part}/5`, 30])); // prettier-ignore
  assert.deepEqual(
    certificate?.parts.map((part) => [part.questions, part.questionsNeeded]),
    [[150, 22]],
  );
  for (const [settings, message] of [
    [{ target: undefined }, '--own-questions: expected --target, the dataset whose questions they are'],
    [{ constraint: 'pooled' }, '--own-questions: the other datasets are a prior, dataset by dataset; leave --constraint pooled out'],
    [{ safetyReference: 0.9 }, '--own-questions: agreement alone decides; leave the number of --safety-reference out'],
  ] as const)
    assert.throws(() => calibrate(shifted, { ...quick, ownQuestions: true, ...settings }), { name: 'InputError', message });
});

test('calibrate says in words what so many questions of one’s own give', () => {
  const words = guaranteeWords({ guarantee: null, bar: 0.9, constraint: 'per-dataset', trained_on: ['a'], own_questions: undefined });
  assert.equal(
    words.at(-1),
    "Questions of your own (--target NAME --own-questions) mend a τ that other datasets' questions gave. By themselves 9 or more keep agreement ≥ 0.9 in the mean (the option counts the other datasets as 10 more); 95% of the τ from so many give an agreement of 10: 0.69 to 1.00 (nothing certified); 25: 0.80 to 0.99 (nothing certified); 50: 0.81 to 0.97 (certified where 49 agree); 100: 0.84 to 0.95 (certified where 96 agree); 200: 0.86 to 0.94 (certified where 188 agree); 500: 0.87 to 0.92 (certified where 462 agree). In brackets what a guarantee at δ 0.05 asks of them.",
  );
});

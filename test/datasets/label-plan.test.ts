import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HALT, type ClassCounts, type LabelPlan, type Split, planAll, planHalt } from '../../datasets/label-plan.js';
import { LABELS, type Label } from '../../src/core/labels.js';

const single = (n: number): number[][] => Array.from({ length: n }, (_, at) => [at]);

/** Rows of each split and class, and questions of each split, after checking that ordinals are distinct and exist. */
function drawn(
  plan: LabelPlan,
  counts: readonly ClassCounts[],
): { [split in Split]: { [label in Label]: number } & { questions: number } } {
  const sums = { train: { match: 0, partial: 0, null: 0, questions: 0 }, dev: { match: 0, partial: 0, null: 0, questions: 0 } };
  for (const [question, one] of counts.entries()) {
    const split = plan.split(question);
    if (split === null) continue;
    let rows = 0;
    for (const label of LABELS) {
      const picked = plan.pick(question, label);
      assert.deepEqual(
        picked,
        [...new Set(picked)].sort((a, b) => a - b),
      );
      assert.ok(picked.every((at) => at >= 0 && at < one[label]));
      sums[split][label] += picked.length;
      rows += picked.length;
    }
    if (rows > 0) sums[split].questions++;
  }
  return sums;
}

const exact = { train: { ...HALT.rows.train, questions: 4903 }, dev: { ...HALT.rows.dev, questions: 1209 } };

test('the preset’s quotas are the paper’s: 4,000 of each class, 9,626 and 2,374 rows', () => {
  for (const label of LABELS) assert.equal(HALT.rows.train[label] + HALT.rows.dev[label], 4000);
  const sum = (split: Split): number => LABELS.reduce((all, label) => all + HALT.rows[split][label], 0);
  assert.deepEqual([sum('train'), sum('dev')], [9626, 2374]);
  // 2,374 × 4,903 / 9,626 = 1,209.2
  assert.equal(HALT.questions.dev, Math.round((2374 * 4903) / 9626));
});

const shapes: [name: string, n: number, counts: (at: number) => ClassCounts][] = [
  ['equal questions', 12_000, () => ({ match: 2, partial: 4, null: 30 })],
  ['just enough of them, one row of a class too few for none', 6112, () => ({ match: 1, partial: 1, null: 1 })],
  ['partial in few questions', 12_000, (at) => ({ match: 2, partial: at % 4 === 0 ? 2 : 0, null: 5 })],
  [
    'questions of one class only',
    12_000,
    (at) => ({ match: at % 3 === 0 ? 4 : 0, partial: at % 3 === 1 ? 4 : 0, null: at % 3 === 2 ? 4 : 0 }),
  ],
  [
    'questions without any candidate',
    14_000,
    (at) => (at % 2 === 0 ? { match: 2, partial: 3, null: 9 } : { match: 0, partial: 0, null: 0 }),
  ],
];
for (const [name, n, of] of shapes) {
  test(`the preset fits ${name}: exact rows and questions, each question with a row`, () => {
    const counts = Array.from({ length: n }, (_, at) => of(at));
    const plan = planHalt({ counts, groups: single(n), seed: 13, file: 'a.json' });
    assert.deepEqual(drawn(plan, counts), exact);
  });
}

test('the preset keeps groups of questions together', () => {
  const counts = Array.from({ length: 12_000 }, () => ({ match: 2, partial: 4, null: 30 }));
  const groups = Array.from({ length: 4000 }, (_, at) => [at * 3, at * 3 + 1, at * 3 + 2]);
  // 4,903 = 3 × 1,634 + 1: a question alone in its group fills the last place.
  groups.push([12_000]);
  counts.push({ match: 2, partial: 4, null: 30 });
  const plan = planHalt({ counts, groups, seed: 13, file: 'a.json' });
  assert.deepEqual(drawn(plan, counts), exact);
  for (const group of groups) assert.equal(new Set(group.map((at) => plan.split(at))).size, 1);
});

test('the preset names the class that is short', () => {
  const counts = Array.from({ length: 12_000 }, (_, at) => ({ match: 2, partial: at < 2000 ? 1 : 0, null: 5 }));
  assert.throws(() => planHalt({ counts, groups: single(12_000), seed: 13, file: 'a.json' }), {
    name: 'InputError',
    message:
      /^a\.json: the preset halt does not fit: train needs 3209 partial candidates, got \d+; dev needs 791 partial candidates, got \d+$/,
  });
});

test('a null share for dev moves dev alone', () => {
  const counts = Array.from({ length: 12_000 }, () => ({ match: 2, partial: 4, null: 30 }));
  const plan = planHalt({ counts, groups: single(12_000), seed: 13, file: 'a.json', devNullShare: 0.5 });
  // 2,374 / 2 = 1,187; the other 1,187 in two halves.
  assert.deepEqual(drawn(plan, counts), { train: exact.train, dev: { match: 594, partial: 593, null: 1187, questions: 1209 } });
});

test('without the preset null is as large as the smaller of the other two classes of the whole set', () => {
  // Question 0: match is smaller; question 1: partial is. Together 5 and 6.
  const counts = [
    { match: 1, partial: 5, null: 9 },
    { match: 4, partial: 1, null: 9 },
  ];
  const sums = drawn(planAll({ counts, groups: single(2), seed: 13, devShare: 0.5 }), counts);
  assert.equal(sums.train.null + sums.dev.null, 5);
  assert.deepEqual([sums.train.match + sums.dev.match, sums.train.partial + sums.dev.partial], [5, 6]);
});

test('null candidates are drawn uniformly', () => {
  const counts = Array.from({ length: 10 }, () => ({ match: 1, partial: 1, null: 5 }));
  const hits = Array.from({ length: 50 }, () => 0);
  const runs = 2000;
  for (let seed = 0; seed < runs; seed++) {
    const plan = planAll({ counts, groups: single(10), seed, devShare: 0 });
    for (let question = 0; question < 10; question++)
      for (const at of plan.pick(question, 'null')) hits[question * 5 + at] = (hits[question * 5 + at] ?? 0) + 1;
  }
  // Each of 50 candidates is one of 10 with probability 0.2: 400 ± 17.9 (one standard deviation); five of them, for 50 looks.
  for (const [at, n] of hits.entries()) assert.ok(Math.abs(n - 400) < 90, `candidate ${at}: ${n}`);
});

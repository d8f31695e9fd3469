import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DevScores, GoldenScores } from '../../src/core/verifier-export.js';
import type { ParityReport } from '../../src/core/verifier-model.js';
import { DEFAULT_TOLERANCES, parityGate } from '../../train/index.js';

const LABELS = ['match', 'partial', 'null'];
const FIELDS = {
  question: '',
  answer_candidate: '',
  expected_claim: '',
  expected_page: '',
  expected_target: '',
  expected_target_role: '',
  evidence_page: '',
  evidence_sentence: '',
};

/** Sixteen rows, "match" best by a margin of 1; a row's number is its prompt. */
const golden: GoldenScores[] = Array.from({ length: 16 }, (_, at) => ({
  row: `r${at}`,
  label: 'match',
  form: 'sentence',
  fields: FIELDS,
  prompt_ids: [at],
  adapter: [-1, -2, -3],
  merged: [-1, -2, -3],
  onnx: { fp32: [-1, -2, -3], int4: [-1, -2, -3] },
}));
/** Twelve rows, four a label, all of them said rightly. */
const dev: DevScores[] = Array.from({ length: 12 }, (_, at) => ({
  row: `d${at}`,
  label: LABELS[at % 3] as string,
  form: 'sentence',
  prompt_ids: [100 + at],
  scores: LABELS.map((_label, label) => (label === at % 3 ? -1 : -2)),
}));

/** A gate whose Node scores are those of the rows, but for what `change` makes of a prompt. */
async function gate(
  rows: readonly GoldenScores[],
  change: (prompt: number, scores: readonly number[]) => readonly number[] = (_, scores) => scores,
  variant: 'fp32' | 'int4' = 'fp32',
): Promise<ParityReport> {
  const known = new Map<number, readonly number[]>([
    ...rows.map((row): [number, readonly number[]] => [row.prompt_ids[0] as number, row.onnx[variant] as number[]]),
    ...dev.map((row): [number, readonly number[]] => [row.prompt_ids[0] as number, row.scores]),
  ]);
  let closed = 0;
  const report = await parityGate(rows, dev, {
    labels: LABELS,
    variants: [variant],
    tolerances: DEFAULT_TOLERANCES,
    open: () =>
      Promise.resolve({
        score: (prompts) => Promise.resolve(prompts.map(([id = 0]) => [...change(id, known.get(id) as number[])])),
        close: () => {
          closed++;
          return Promise.resolve();
        },
      }),
  });
  assert.equal(closed, 1, 'the gate closes what it opened');
  return report;
}

test('equal scores pass every step, and the report says so', async () => {
  const report = await gate(golden);
  assert.deepEqual(
    report.stages.map(({ stage, variant, rows, max_difference: largest, flips, passed }) => [stage, variant, rows, largest, flips, passed]),
    [
      ['adapter to merged', null, 16, 0, [], true],
      ['merged to onnx', 'fp32', 16, 0, [], true],
      ['onnx to node', 'fp32', 16, 0, [], true],
      ['merged to node', 'fp32', 16, 0, [], true],
    ],
  );
  assert.deepEqual(report.dev, [
    { variant: 'fp32', rows: 12, trainer_macro_f1: 1, node_macro_f1: 1, tolerance: 0.005, flips: 0, passed: true },
  ]);
  assert.deepEqual(report.refused, {});
});

test('P53: merged weights that are not the adapter refuse every variant, with the largest change', async () => {
  const rows = golden.map((row, at) => (at === 3 ? { ...row, adapter: [-1, -2.0005, -3] } : row));
  const { stages, refused } = await gate(rows);
  assert.equal(stages[0]?.passed, false);
  assert.ok(Math.abs((stages[0]?.max_difference ?? 0) - 0.0005) < 1e-12);
  assert.deepEqual(refused, { fp32: 'adapter to merged: scores move by up to 5.0e-4, expected at most 0.0001' });
});

test('P57: the report names each label that flips, with the margin before: a near tie passes in int4, a wide one does not', async () => {
  const tie = golden.map((row, at) =>
    at === 5 ? { ...row, adapter: [-1, -1.1, -3], merged: [-1, -1.1, -3], onnx: { int4: [-1.1, -1, -3] } } : row,
  );
  const near = await gate(tie, undefined, 'int4');
  const [flip] = near.stages[1]?.flips ?? [];
  assert.deepEqual([flip?.row, flip?.from, flip?.to], ['r5', 'match', 'partial']);
  assert.ok(Math.abs((flip?.margin ?? 0) - 0.1) < 1e-12);
  assert.deepEqual(near.refused, {});
  // 3 of 16 is over an eighth, however near the ties are.
  const many = golden.map((row, at) =>
    at < 3 ? { ...row, adapter: [-1, -1.1, -3], merged: [-1, -1.1, -3], onnx: { int4: [-1.1, -1, -3] } } : row,
  );
  assert.deepEqual((await gate(many, undefined, 'int4')).refused, {
    int4:
      'merged to onnx: 3 of 16 labels flip (margin before up to 0.1000), expected at most 2, at margins up to 0.25; ' +
      'merged to node: 3 of 16 labels flip (margin before up to 0.1000), expected at most 2, at margins up to 0.25',
  });
  const wide = golden.map((row, at) => (at === 5 ? { ...row, onnx: { int4: [-2, -1, -3] } } : row));
  assert.deepEqual((await gate(wide, undefined, 'int4')).refused, {
    int4:
      'merged to onnx: 1 of 16 labels flip (margin before up to 1.0000), expected at most 2, at margins up to 0.25; ' +
      'merged to node: 1 of 16 labels flip (margin before up to 1.0000), expected at most 2, at margins up to 0.25',
  });
});

test('P48: a loss of macro-F1 on the dev rows refuses a variant whose golden rows are all right', async () => {
  // One of four "match" rows is said "partial": F1 of match 6/7, of partial 8/9, of null 1, mean 0.9153.
  const { refused, dev: compared } = await gate(golden, (prompt, scores) => (prompt === 100 ? [-2, -1, -2] : scores));
  assert.ok(Math.abs((compared[0]?.node_macro_f1 ?? 0) - (6 / 7 + 8 / 9 + 1) / 3) < 1e-12);
  assert.deepEqual(refused, {
    fp32: 'macro-F1 on 12 dev rows is 0.9153 in Node and 1.0000 in the trainer, expected within 0.005 (labels that flip: 1)',
  });
});

test('a score that is no number is as far away as can be', async () => {
  const { refused } = await gate(golden, (prompt, scores) => (prompt === 2 ? [NaN, -2, -3] : scores), 'int4');
  assert.equal(
    refused.int4,
    'onnx to node: scores move by up to infinity, expected at most 0.05, 1 of 16 labels flip (margin before up to 1.0000), ' +
      'expected at most 1, at margins up to 0.05; merged to node: a score is no number, 1 of 16 labels flip (margin before up to 1.0000), ' +
      'expected at most 2, at margins up to 0.25',
  );
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { balancedRows, verifierDifferences, verifierFigures } from '../../src/evaluate/index.js';
import { LABELS, type LabelRow } from '../../src/core/labels.js';
import { random } from '../../src/core/random.js';

function rowOf(over: Partial<LabelRow>): LabelRow {
  return {
    question_id: 'q',
    row: 0,
    dataset: '2wiki',
    question: '',
    claim: 0,
    form: 'sentence',
    answer_candidate: '',
    expected_claim: '',
    expected_page: '',
    expected_target: '',
    expected_target_role: 'answer_node',
    evidence_page: '',
    evidence_sentence: '',
    label: 'match',
    split: 'dev',
    page_index: 0,
    sentence_index: 0,
    derived: false,
    ...over,
  };
}

/** Questions with one match, two null and four partial candidates each, in two forms; the second form lacks every third question. */
const rows = Array.from({ length: 30 }, (_, row) =>
  (['match', 'null', 'null', 'partial', 'partial', 'partial', 'partial'] as const).flatMap((label, at) =>
    (['sentence', 'masked'] as const)
      .filter((form) => form === 'sentence' || row % 3 !== 0)
      .map((form) => rowOf({ row, question_id: `q${row}`, form, label, page_index: at })),
  ),
).flat();

test('balanced rows have equal classes in each form, keep their order, and are drawn by the seed alone', () => {
  const kept = balancedRows(rows, 13);
  for (const [form, size] of [
    ['sentence', 30],
    ['masked', 20],
  ] as const)
    for (const label of LABELS) assert.equal(kept.filter((row) => row.form === form && row.label === label).length, size);
  assert.deepEqual(
    kept,
    rows.filter((row) => kept.includes(row)),
  );
  assert.deepEqual(balancedRows(rows, 13), kept);
  assert.notDeepEqual(balancedRows(rows, 14), kept);
  // The same candidates stand first in every form: whoever is drawn for the smaller form is drawn for the larger one when it has room.
  const placeOf = ({ row, page_index }: LabelRow): string => `${row}/${page_index}`;
  const sentence = new Set(kept.filter((row) => row.form === 'sentence').map(placeOf));
  const masked = kept.filter((row) => row.form === 'masked').map(placeOf);
  assert.ok(masked.filter((place) => sentence.has(place)).length > 0.9 * masked.length);
});

test('figures come for each dataset and form, and a better verifier is better within its interval', () => {
  const draw = random(13, 'judged');
  const judge = (right: number) =>
    rows.map((row) => {
      const gold = LABELS.indexOf(row.label);
      const said = draw.float() < right ? gold : draw.int(3);
      return { row, probabilities: LABELS.map((_, at) => (at === said ? 0.8 : 0.1)) };
    });
  const [good, bad] = [judge(0.9), judge(0.2)];
  const options = { seed: 13, resamples: 500 };
  const figures = verifierFigures(good, options);
  assert.deepEqual(
    figures.map(({ dataset, form, questions, report }) => [dataset, form, questions, report.rows]),
    [
      ['2wiki', 'sentence', 30, 210],
      ['2wiki', 'masked', 20, 140],
    ],
  );
  for (const { report, macroF1 } of figures) {
    assert.equal(macroF1.estimate, report.macro_f1);
    assert.ok(macroF1.low < macroF1.estimate && macroF1.estimate < macroF1.high);
  }
  for (const { difference } of verifierDifferences(good, bad, options)) assert.ok(difference.low > 0.2);
  for (const { difference } of verifierDifferences(good, good, options))
    assert.deepEqual([difference.estimate, difference.low, difference.high], [0, 0, 0]);
  assert.throws(() => verifierDifferences(good, bad.slice(1), options), {
    name: 'RangeError',
    message: 'two verifiers are compared on the same rows in the same order',
  });
});

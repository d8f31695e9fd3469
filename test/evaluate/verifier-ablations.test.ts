import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fieldsOf } from '../../src/core/verifier-fields.js';
import { type AblationWishes, ablations, pageOverlap } from '../../src/evaluate/index.js';
import type { LabelRow } from '../../src/core/labels.js';

function row(at: number, more: Partial<LabelRow> = {}): LabelRow {
  return {
    question_id: `q${at}`,
    row: at,
    dataset: 'hotpotqa',
    question: `Who built Bridge (${at})?`,
    claim: 0,
    form: 'sentence',
    answer_candidate: `Bridge (${at})`,
    expected_claim: `Town ${at}: the bridge (${at}) stands there.`,
    expected_page: `Town ${at}`,
    expected_target: `Bridge (${at})`,
    expected_target_role: 'answer_node',
    evidence_page: `Town ${at}`,
    evidence_sentence: `The old BRIDGE (${at}) was built by Anna in ${1900 + at}.`,
    label: 'match',
    split: 'dev',
    page_index: 0,
    sentence_index: at,
    derived: false,
    ...more,
  };
}

const NONE: AblationWishes = { maskTarget: false, drop: [], lowerCase: false, shuffleWords: false, randomClaim: [] };
const rows = [0, 1, 2].map((at) => row(at));
const only = (wishes: Partial<AblationWishes>): ReturnType<typeof ablations> => ablations(rows, { ...NONE, ...wishes }, 13);

test('the expected target is masked wherever it stands, whatever its letters’ case, as text and not as a pattern', () => {
  const [one] = only({ maskTarget: true });
  assert.deepEqual(one?.fields(rows[1] as LabelRow), {
    question: 'Who built [MASK]?',
    answer_candidate: '[MASK]',
    expected_claim: 'Town 1: the [MASK] stands there.',
    expected_page: 'Town 1',
    expected_target: '[MASK]',
    expected_target_role: 'answer_node',
    evidence_page: 'Town 1',
    evidence_sentence: 'The old [MASK] was built by Anna in 1901.',
  });
});

test('an ablation changes what it is named after and nothing else', () => {
  const whole = fieldsOf(rows[0] as LabelRow);
  const found = only({ drop: ['expected_page', 'expected_claim'], lowerCase: true, shuffleWords: true });
  assert.deepEqual(
    found.map(({ name }) => name),
    ['no expected page', 'no expected claim', 'sentence in lower case', 'words shuffled'],
  );
  const [page, claim, lower, shuffled] = found.map(({ fields }) => fields(rows[0] as LabelRow));
  assert.deepEqual(page, { ...whole, expected_page: '' });
  assert.deepEqual(claim, { ...whole, expected_claim: '' });
  assert.deepEqual(lower, { ...whole, evidence_sentence: 'the old bridge (0) was built by anna in 1900.' });
  assert.notEqual(shuffled?.evidence_sentence, whole.evidence_sentence);
  assert.deepEqual(shuffled?.evidence_sentence.split(' ').toSorted(), whole.evidence_sentence.split(' ').toSorted());
  assert.deepEqual({ ...shuffled, evidence_sentence: '' }, { ...whole, evidence_sentence: '' });
});

test('a random claim is another question’s, the same for all rows of a claim, with the page kept where that is asked for', () => {
  const more = [...rows, row(0, { sentence_index: 9 })];
  const [other, kept] = ablations(more, { ...NONE, randomClaim: ['other-page', 'keep-page'] }, 13);
  for (const one of more) {
    const [a, b] = [other?.fields(one), kept?.fields(one)];
    assert.equal(a?.question, one.question);
    assert.equal(a?.evidence_sentence, one.evidence_sentence);
    assert.notEqual(a?.expected_claim, one.expected_claim);
    assert.equal(a?.expected_claim, b?.expected_claim);
    assert.notEqual(a?.expected_page, one.expected_page);
    assert.equal(b?.expected_page, one.expected_page);
  }
  assert.equal(other?.fields(more[0] as LabelRow).expected_claim, other?.fields(more[3] as LabelRow).expected_claim);
  const alone = ablations([row(0)], { ...NONE, randomClaim: ['keep-page'] }, 13)[0];
  assert.throws(() => alone?.fields(row(0)), {
    message: '--random-claim: no other question of hotpotqa "sentence" to take a claim from',
  });
});

test('page overlap counts pages once, and questions with any and with all of theirs, titles compared in their normal form', () => {
  const judged = [row(0), row(0, { claim: 1, expected_page: 'Lake &amp; Hill' }), row(1), row(2)];
  const trained = [row(8, { expected_page: 'Lake & Hill' }), row(9, { expected_page: 'Town 2' })];
  assert.deepEqual(pageOverlap(trained, judged), {
    pages: 4,
    shared_pages: 2,
    questions: 3,
    questions_with_any: 2,
    questions_with_all: 1,
  });
});

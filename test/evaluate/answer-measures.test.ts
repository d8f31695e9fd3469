import assert from 'node:assert/strict';
import { test } from 'node:test';
import { measureAnswers, nativeScores, parityOf } from '../../src/evaluate/answer-measures.js';
import { scoreAnswer } from '../../src/evaluate/answer-scores.js';
import { alwaysVerify, full, gate } from '../../src/evaluate/policies.js';
import type { LoopAnswers, QuestionRun } from '../../src/evaluate/question-run.js';
import { replay, replayRows, replayTable } from '../../src/evaluate/replay.js';
import { noExclusions } from '../../src/evaluate/question-run.js';
import { parseSystems } from '../../src/evaluate/systems.js';
import { question } from './question-runs.js';

function said(gold: string | null, ...texts: string[]): LoopAnswers {
  return { texts, scores: gold === null ? null : texts.map((one) => scoreAnswer(one, [gold])) };
}

function answered(one: QuestionRun, answers: { [extractor: string]: LoopAnswers }): QuestionRun {
  return { ...one, answers: new Map(Object.entries(answers)) };
}

// Always-verify stops at loops 2, 1, 3; the gate at τ 0.5 at loops 2, 2, 3; full at 3, 3, 3.
const a = answered(question([0.7, 0.5, 0.3], '.FF', { id: 'a', row: 0 }), {
  small: said('velm', 'orr', 'Velm', 'velm town'),
  again: said('velm', 'orr', 'velm!', 'velm town'),
});
const b = answered(question([0.6, 0.4, 0.4], 'FFF', { id: 'b', row: 1 }), {
  small: said('1961', '1960', '1961', '1961'),
  again: said('1961', '1961', '1961', '1961'),
});
const c = answered(question([0.9, 0.8, 0.5], '...', { id: 'c', row: 2 }), {
  small: said('yes', 'yes', 'no', 'no'),
  again: said('yes', 'yes', 'no', 'no'),
});
const d = answered(question([0.9], '.', { id: 'd', row: 3 }), { small: said(null, 'x'), again: said(null, 'x') });

test('EM and F1 at the stops, and their differences against always-verify and full, worked by hand', () => {
  const m = measureAnswers([a, b, c, d], gate(0.5), { extractor: 'small', resamples: 200 });
  assert.deepEqual([m.extractor, m.questions, m.withoutAnswer], ['small', 3, 1]);
  // Gate: Velm, 1961, no: 2 of 3. Always-verify: Velm, 1960, no: 1. Full: velm town (F1 2/3), 1961, no: 1.
  assert.equal(m.em.value, 2 / 3);
  assert.equal(m.emAgainstAlways.value, 1 / 3);
  assert.equal(m.emAgainstFull.value, 1 / 3);
  assert.equal(m.f1.value, 2 / 3);
  assert.ok(Math.abs((m.f1AgainstFull.value as number) - 1 / 9) < 1e-12, 'two sums of thirds');
  assert.ok((m.em.low as number) >= 0 && (m.em.high as number) <= 1);
});

test('a system against itself has no difference in any resample', () => {
  for (const [policy, name] of [
    [alwaysVerify, 'emAgainstAlways'],
    [full, 'emAgainstFull'],
  ] as const)
    assert.deepEqual(measureAnswers([a, b, c], policy, { extractor: 'small', resamples: 100 })[name], { value: 0, low: 0, high: 0 });
});

test('without one gold answer every figure is undefined, and the questions are counted', () => {
  const m = measureAnswers([d], full, { extractor: 'small' });
  assert.deepEqual([m.questions, m.withoutAnswer, m.em], [0, 1, { value: null, low: null, high: null }]);
});

test('parity counts questions with the same answers, as answers are compared, wherever a system stops', () => {
  const names = { dataset: 'x', first: 'small', second: 'again' };
  // a: loops 2 and 3 agree (Velm, velm!). b: loop 1, where always-verify stops, differs. c agrees.
  assert.deepEqual(parityOf([a, b, c], [gate(0.5)], names), { ...names, questions: 3, same: 2 });
});

test('the agent’s own answers are scored where there is a gold answer', () => {
  assert.equal(nativeScores([a, b]), null);
  const native = [scoreAnswer('Velm', ['velm']), scoreAnswer('', ['1961'])];
  assert.deepEqual(nativeScores([{ ...a, native: native[0] }, { ...b, native: native[1] }, c]), { questions: 2, em: 0.5, f1: 0.5 });
});

test('replay has a table for each extractor below the policies’, and the answers in its rows', () => {
  const run = { dataset: 'hotpotqa', questions: [a, b, c, d], excluded: noExclusions(), rows: 4 };
  const specs = parseSystems('full,always-verify,gate');
  const settings = { tau: 0.5, bar: 0.9 };
  const replayed = replay([run], specs, settings, { resamples: 100 });
  const table = replayTable(replayed);
  assert.match(table, /^hotpotqa: answers by small on 3 questions, 1 without a gold answer left out$/m);
  assert.match(table, /^hotpotqa: answers by again on 3 questions/m);
  assert.match(table, /^gate +0\.667 \[.*\] +\+0\.333 \[.*\] +\+0\.333 \[/m);
  assert.match(table, /^always-verify +0\.333 \[.*\] +0\.000 \[0\.000, 0\.000\]/m);
  const rows = [...replayRows([run], specs, settings)].filter(({ system }) => system === 'gate');
  assert.deepEqual(
    rows.map(({ answers }) => answers?.small),
    [
      { answer: 'Velm', em: 1, f1: 1 },
      { answer: '1961', em: 1, f1: 1 },
      { answer: 'no', em: 0, f1: 0 },
      { answer: 'x', em: null, f1: null },
    ],
  );
});

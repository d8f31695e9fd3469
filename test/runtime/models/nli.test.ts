import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { type Decision, type NliModel, type NliPair, hypothesisOf, nliDecider, openNliModel, trivialCell } from '../../../runtime/index.js';
import type { Claim } from '../../../src/core/claims.js';
import { temporaryFolder } from '../../support/files.js';
import { pythonOrSkip, runPython } from '../../support/python.js';
import { trajectoryOf } from '../../support/trajectories.js';

const claim = (page: string, target: string): Claim => ({
  question_id: 'q',
  row: 0,
  question: 'Which?',
  claim: 0,
  source: 'generated',
  page,
  expected_target: target,
  role: 'intermediate',
  answer_type: '',
  expected_claim: `${page} says ${target}`,
  subquestion: null,
});

/** Says "entailed" with the probability that the function gives, and keeps what it was asked. */
function scripted(p: (pair: NliPair) => number): NliModel & { asked: NliPair[] } {
  const asked: NliPair[] = [];
  return {
    identity: { model_sha256: 'x' },
    entailment: 1,
    asked,
    probabilities: (pairs) => {
      asked.push(...pairs);
      return Promise.resolve(pairs.map((pair) => Float64Array.of(1 - p(pair), p(pair))));
    },
    close: () => Promise.resolve(),
  };
}

test("P62: a cross-encoder's probabilities in Node are torch's, and its entailment label is found by name", async (t) => {
  const python = pythonOrSkip(t, ['torch', 'transformers', 'onnx']);
  if (python === undefined) return;
  const folder = await temporaryFolder();
  const pairs = [
    ['Tarn: Tarn is a town in Elland.', 'Tarn is connected to Elland.'],
    ['Orr: it has a mill', 'Mona Ray, Tarn'],
    ['Elland: Elland is a country. Its capital is Orr.', 'This is about Orr.'],
  ];
  const { probabilities } = runPython(python, 'tiny_nli.py', { folder, pairs }) as { probabilities: number[][] };
  const model = await openNliModel(folder, { provider: 'cpu' });
  try {
    assert.equal(model.entailment, 2);
    assert.deepEqual((model.identity as { labels: string[] }).labels, ['contradiction', 'neutral', 'Entailment']);
    const scored = await model.probabilities(pairs.map(([premise = '', hypothesis = '']) => ({ premise, hypothesis })));
    for (const [at, expected] of probabilities.entries())
      for (const [label, p] of expected.entries())
        // 32-bit floats in another order of sums: about 1e-6 on a probability.
        assert.ok(Math.abs((scored[at]?.[label] as number) - p) < 1e-5, `${at} ${label}: ${scored[at]?.[label]} and ${p}`);
    // Longer than its 64 positions: the premise loses its end, the hypothesis does not.
    const [long] = await model.probabilities([{ premise: 'tarn '.repeat(500), hypothesis: 'Orr' }]);
    assert.ok(Math.abs((long as Float64Array).reduce((sum, p) => sum + p, 0) - 1) < 1e-9);
  } finally {
    await model.close();
  }

  const config = JSON.parse(await readFile(join(folder, 'config.json'), 'utf8')) as { [field: string]: unknown };
  const file = join(folder, 'config.json');
  for (const id2label of [
    { 0: 'LABEL_0', 1: 'LABEL_1' },
    { 0: 'not_entailment', 1: 'neutral' },
    { 0: 'entailment', 1: 'Entailment' },
    undefined,
  ]) {
    await writeFile(file, JSON.stringify({ ...config, id2label }));
    await assert.rejects(openNliModel(folder), {
      name: 'InputError',
      message: `${file}, field id2label: got ${JSON.stringify(id2label ?? {})}, expected exactly one label that is named entailment: which output says "entailed" cannot be guessed`,
    });
  }
});

test('three hypotheses of a claim, and what is left where a field is empty', () => {
  const one = claim('Mona Ray', 'Tarn');
  assert.deepEqual(
    (['declarative', 'keyphrase', 'claim'] as const).map((form) => hypothesisOf(one, form)),
    ['Mona Ray is connected to Tarn.', 'Mona Ray, Tarn', 'Mona Ray says Tarn'],
  );
  assert.equal(hypothesisOf(claim('Tarn', 'Tarn'), 'declarative'), 'This is about Tarn.');
  assert.equal(hypothesisOf(claim('', 'Tarn'), 'keyphrase'), 'Tarn');
  assert.equal(hypothesisOf(claim('', ''), 'declarative'), 'says');
  // A name with what a replacement would take for a pattern.
  assert.equal(hypothesisOf(claim("A$'s", '$&'), 'keyphrase'), "A$'s, $&");
});

test('a claim is covered from the first sentence on that entails it at the threshold, and is not scored again', async () => {
  const trajectory = trajectoryOf([[[0, 0]], [[0, 1], [1, 0]], [[1, 1]]]); // prettier-ignore
  for (const { sentences } of trajectory.loops) for (const one of sentences) one.text = `a sentence that is long enough ${one.text}`;
  const model = scripted(({ premise }) => (premise.includes('text 0.1') ? 0.9 : 0.2));
  const decider = nliDecider(model, { threshold: 0.9 });
  const { verdicts, claims } = (await decider.decide({ trajectory, record: null, claims: [claim('Mona Ray', 'Tarn')] })) as Decision;
  assert.equal(claims, 1);
  assert.deepEqual(
    verdicts.map(({ loop, claim: which, page, sentence, p }) => [loop, which, page, sentence, p]),
    [
      [1, 0, 0, 0, 0.2],
      [2, 0, 0, 1, 0.9],
    ],
  );
  assert.deepEqual(model.asked[0], {
    premise: 'T0: a sentence that is long enough text 0.0',
    hypothesis: 'Mona Ray is connected to Tarn.',
  });
  assert.deepEqual([decider.scan.threshold.pAtLeast, decider.readsClaims], [0.9, true]);
});

test('the guard marks a decider that fires on under 2% or over 98% of loops', () => {
  assert.equal(trivialCell({ firing_loops: 2, loops: 100 }), undefined);
  assert.equal(trivialCell({ firing_loops: 98, loops: 100 }), undefined);
  const saved = 'what a gate saves of it says nothing';
  assert.equal(trivialCell({ firing_loops: 1, loops: 100 }), `trivial: the decider fires on 1 of 100 loops (1.0%), under 2%; ${saved}`);
  assert.equal(trivialCell({ firing_loops: 99, loops: 100 }), `trivial: the decider fires on 99 of 100 loops (99.0%), over 98%; ${saved}`);
});

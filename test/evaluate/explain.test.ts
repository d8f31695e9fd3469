import assert from 'node:assert/strict';
import { test } from 'node:test';
import { marginRange } from '../../runtime/index.js';
import { explainProfile, extentWords, foldTable, isDiagnostic, selectionWords } from '../../src/evaluate/explain.js';
import { textTable, withInterval } from '../../src/evaluate/text-table.js';
import { exampleProfile } from '../runtime/gate/example-profile.js';

test('P36: explains what τ means: expected cut, agreement and safety with intervals, fold by fold', () => {
  const text = explainProfile(exampleProfile());
  for (const part of [
    'τ = 0.4: skip the decider while the margin (1 − cosine of the least covered claim) is above τ, call it otherwise.',
    'Objective (call cut on the training questions): before 0.000 at τ 2 (always call), after 0.500 at τ 0.4.',
    "  hotpotqa: 50.0% of the calls are saved (95% interval 0.450 to 0.550); 86.0% of the questions stop where always-verify stops (0.810 to 0.910); coverage safety 0.900 (0.850 to 0.950), always-verify's own 0.900.",
    '    A miss: held-out agreement is below the bar 0.9.',
    '  hotpotqa: τ lies between the 0% and the 50% quantile of the margins. When live margins leave this range, calibrate again.',
    '  another encoder, prefix, pooling, aggregation (max), evidence text (title+sentence), claim text (expected_claim) or sentence splitter: refused, cosines have other scales there',
  ]) {
    assert.ok(text.split('\n').includes(part), part);
  }
});

test('P28: prints where margins and cosines lie', () => {
  const lines = explainProfile(exampleProfile()).split('\n');
  assert.ok(lines.includes('hotpotqa margin  0.100  0.500  1.000'));
  assert.ok(lines.includes('hotpotqa cosine  0.000  0.500  0.900'));
});

test('says in words when τ never calls, calls always, or is transferred', () => {
  assert.equal(extentWords('between'), null);
  assert.match(
    explainProfile(exampleProfile({ extent: 'never calls', tau: -1 })),
    /This τ never calls the decider: every run goes to its end\. It is not to be enforced\./,
  );
  assert.match(
    explainProfile(exampleProfile({ extent: 'calls always', tau: 2 })),
    /This τ calls the decider at every loop: it saves nothing\./,
  );
  assert.match(explainProfile(exampleProfile({ transferred: ['agents: a → b'] })), /TRANSFERRED: agents: a → b\./);
});

test('P32: says why nothing changed', () => {
  const { selection } = exampleProfile();
  const flat = selectionWords(exampleProfile({ selection: { ...selection, unchanged: 'flat' } }));
  assert.equal(flat[1], 'Nothing changed: every τ that calls at all costs as many calls as calling always (flat).');
  const infeasible = selectionWords(exampleProfile({ selection: { ...selection, unchanged: 'infeasible' } }));
  assert.equal(
    infeasible[1],
    "Nothing changed: no τ that saves calls meets the constraints (refused: 12 for agreement below 0.9, 3 for coverage safety below always-verify's own).",
  );
});

test('a guarantee is said with what it does not cover, and what is missing for one', () => {
  const part = { dataset: '2wiki', tau: 0.45, questions: 300, questions_needed: 22, agreeing_needed: 278, p: 0.08 };
  const words = (one: typeof part | { tau: null }): string =>
    explainProfile(exampleProfile({ guarantee: { delta: 0.1, bar: 0.9, floor: 0.45, parts: [{ ...part, ...one }] } }));
  assert.ok(
    words(part).includes(
      "Guarantee (δ 0.1): with probability at least 0.90 agreement on questions like 2wiki's is at least 0.9 for τ ≥ 0.45 (300 questions, 278 had to agree). It does not hold for other questions.",
    ),
  );
  assert.ok(
    words({ tau: null }).includes('Guarantee (δ 0.1): 2wiki has 300 training questions and certifies nothing; at least 22 are needed.'),
  );
});

test('gold labels anywhere make it a diagnostic', () => {
  const decider = { name: 'file', identity: null, claims: null };
  assert.equal(isDiagnostic({ claim_source: 'heuristic', decider }), false);
  assert.equal(isDiagnostic({ claim_source: 'gold', decider }), true);
  assert.equal(
    isDiagnostic({ claim_source: 'heuristic', decider: { ...decider, name: 'mine', identity: { decider: 'gold', diagnostic: true } } }),
    true,
  );
  assert.equal(isDiagnostic({ claim_source: 'heuristic', decider: { ...decider, claims: 'gold' } }), true);
});

test('the fold table names a miss and has a dash where nothing is outside the split', () => {
  const row = foldTable(exampleProfile()).split('\n')[2] as string;
  assert.match(row, /^hotpotqa +100 +0\.4 +0\.500 \[0\.450, 0\.550\] +0\.860 \[0\.810, 0\.910\] miss /);
  assert.match(row, / – +– +– +0\.41: 0\.520 at 0\.900 +0\.600$/);
});

test('P36: margins that leave the calibration’s range raise an alarm', () => {
  // Nearest to 1% and 99% are the ends, 0.1 and 1.
  const range = marginRange(exampleProfile(), [0.05, 0.2, 0.5, 0.9, 1.2]);
  assert.deepEqual(range, { low: 0.1, high: 1, outside: 0.4, alarm: true });
  assert.equal(marginRange(exampleProfile(), [0.1, 0.5, 1]).alarm, false);
  assert.deepEqual(marginRange(exampleProfile(), []).outside, 0);
});

test('tables align, undefined figures are n/a, negative ones have a minus sign', () => {
  assert.equal(textTable(['a', 'bb'], [['xyz', '1']]), 'a    bb\n---  --\nxyz   1');
  assert.equal(withInterval({ value: null, low: null, high: null }), 'n/a');
  assert.equal(withInterval({ value: -0.25, low: -0.5, high: -0.0001 }), '−0.250 [−0.500, 0.000]');
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chosenOn } from '../../src/evaluate/in-sample.js';
import { exampleProfile } from '../runtime/gate/example-profile.js';

test('a dataset is in-sample where τ was chosen on its records or on its source file, and not under another target', () => {
  const profile = exampleProfile();
  const known = profile.datasets.find((one) => profile.trained_on.includes(one.name)) as (typeof profile.datasets)[number];
  const run = { dataset: known.name, sha256: known.sha256, files: [] };
  assert.equal(chosenOn(profile, run), true);
  assert.equal(chosenOn(profile, { ...run, sha256: '0'.repeat(64) }), false);
  const file = { name: 'dev.json', sha256: 'e'.repeat(64), bytes: 1 };
  const from = { ...profile, datasets: [{ ...known, files: [file] }] };
  assert.equal(chosenOn(from, { ...run, sha256: '0'.repeat(64), files: [file] }), true);
  assert.equal(chosenOn({ ...from, trained_on: [] }, { ...run, files: [file] }), false);
});

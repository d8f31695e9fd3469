import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { runFolder } from '../../src/core/run-folder.js';
import { hopgate, hopgateJson } from '../support/cli.js';
import { temporaryFile, temporaryFolder } from '../support/files.js';
import { hotpotqaQuestions } from '../support/hotpotqa-file.js';
import { writeRun } from '../support/written-run.js';

test('claims of a dataset file go to --out, claims of a run into the run', async () => {
  const file = await temporaryFile('a.json', JSON.stringify(hotpotqaQuestions(4)));
  const out = join(await temporaryFolder(), 'claims');
  const result = await hopgateJson(['claims', 'build', file, '--source', 'gold', '--out', out]);
  assert.deepEqual(result, {
    out,
    counts: { questions: 4, claims: 8, no_claims: 0, claims_per_question: { 2: 4 }, repaired: {} },
    quarantined: {},
    warnings: [],
  });
  const run = await writeRun(join(await temporaryFolder(), 'run'), 3);
  const ofRun = await hopgateJson(['claims', 'build', run.dir, '--source', 'heuristic']);
  assert.equal(ofRun.out, runFolder.claims(run.dir, 'heuristic'));
});

test('claims build asks for a source, and for --out where there is no run', async () => {
  const file = await temporaryFile('a.json', JSON.stringify(hotpotqaQuestions(1)));
  const [noSource, noOut] = [await hopgate(['claims', 'build', file]), await hopgate(['claims', 'build', file, '--source', 'gold'])];
  assert.deepEqual([noSource.code, noOut.code], [2, 2]);
  assert.match(noSource.stderr, /^hopgate: Missing required argument: source/);
  assert.equal(noOut.stderr, 'hopgate: --out: expected the folder that the result goes to\n');
});

test('P11: gold claims of a split without labels are refused, heuristic ones are not', async () => {
  const file = await temporaryFile(
    'a.json',
    JSON.stringify(hotpotqaQuestions(3).map(({ _id, question, context }) => ({ _id, question, context }))),
  );
  const folder = await temporaryFolder();
  const gold = await hopgate(['claims', 'build', file, '--source', 'gold', '--out', join(folder, 'gold')]);
  assert.deepEqual(
    [gold.code, gold.stderr],
    [2, `hopgate: ${file}: split has no labels: no record has supporting facts (a test split?)\n`],
  );
  const heuristic = await hopgateJson(['claims', 'build', file, '--source', 'heuristic', '--out', join(folder, 'heuristic')]);
  assert.equal((heuristic.counts as { questions: number }).questions, 3);
});

test('data doctor exits 0 on a file full of faults, and counts them', async () => {
  const questions = hotpotqaQuestions(3).map((one, at) => (at === 0 ? { ...one, _id: 'q1', supporting_facts: [['Gone', 0]] } : one));
  const file = await temporaryFile('a.json', JSON.stringify([...questions, 'junk']));
  const result = await hopgateJson(['data', 'doctor', file]);
  const faults = result.faults as { [kind: string]: number };
  assert.deepEqual([faults.gold_page_missing, faults.dangling_sentence, faults.repeated_id, faults.bad_field], [1, 0, 1, 1]);
  assert.deepEqual(result.quarantined, { bad_field: 1 });
  assert.deepEqual(result.warnings, ['1 of 3 questions lack a gold page in their pool: is this the fullwiki split?']);
  const told = await hopgate(['data', 'doctor', file]);
  assert.equal(told.code, 0);
  assert.match(
    told.stdout,
    /1 {2}gold_page_missing {6}a supporting page is not in the pool .*\n {10}e\.g\. row 0, q1, supporting\[0\]: no page has the title "Gone"/,
  );
  assert.match(told.stderr, /is this the fullwiki split\?/);
  const strict = await hopgate(['data', 'doctor', file, '--strict']);
  assert.equal(strict.code, 1);
});

test('data doctor exits 2 on what is no dataset', async () => {
  const file = await temporaryFile('a.json', '[1, 2');
  const ran = await hopgate(['data', 'doctor', file, '--dataset', 'hotpotqa']);
  assert.deepEqual(
    [ran.code, ran.stderr],
    [2, `hopgate: ${file}, row 1: truncated: the file ends inside the record that begins at byte 4\n`],
  );
});

test('data doctor writes a subset manifest and checks a file against it', async () => {
  const questions = hotpotqaQuestions(3);
  const file = await temporaryFile('a.json', JSON.stringify(questions));
  const subset = join(await temporaryFolder(), 'subset.jsonl');
  assert.equal((await hopgateJson(['data', 'doctor', file, '--write-subset', subset])).out, subset);
  assert.equal((await readFile(subset, 'utf8')).trim().split('\n').length, 3);
  const changed = await temporaryFile('b.json', JSON.stringify(questions.map((one, at) => (at === 1 ? { ...one, answer: 'other' } : one))));
  const { faults } = await hopgateJson(['data', 'doctor', changed, '--subset', subset]);
  assert.equal((faults as { [kind: string]: number }).subset_changed, 1);
});

import assert from 'node:assert/strict';
import { readFile, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { hopgate, hopgateJson } from '../support/cli.js';
import { temporaryFile, temporaryFolder } from '../support/files.js';
import { assertSurvivesKills } from '../support/killed-runs.js';
import { hotpotqaQuestions } from '../support/hotpotqa-file.js';
import { skippedInSecondPass } from '../support/second-pass.js';
import { writeSyntheticHotpotqa } from '../support/synthetic-hotpotqa.js';

async function small(
  change: (questions: { [field: string]: unknown }[]) => unknown = (all) => all,
): Promise<{ file: string; out: string }> {
  const file = await temporaryFile('a.json', JSON.stringify(change(hotpotqaQuestions(10))));
  return { file, out: join(await temporaryFolder(), 'labels') };
}

test('labels build prints one JSON object with candidates in order, rows, counts and where it wrote', async () => {
  const { file, out } = await small();
  const result = await hopgateJson(['labels', 'build', file, '--out', out]);
  assert.deepEqual(Object.keys(result), ['out', 'candidates', 'rows', 'counts', 'quarantined', 'warnings']);
  // 10 questions of 10 pages with 3 sentences: 2 match, 4 partial, 24 null each; 2 questions are dev.
  assert.deepEqual([result.out, JSON.stringify(result.candidates)], [out, '{"match":20,"partial":40,"null":240}']);
  assert.deepEqual([result.rows, result.quarantined, result.warnings], [{ train: 64, dev: 16 }, {}, []]);
  assert.deepEqual((await readdir(out)).sort(), ['labels.arrow', 'leakage.json', 'manifest.json', 'quarantine.jsonl']);
});

test('P1: a fact that dangles is left out and counted; with --strict the exit code is 1, after all work is done', async () => {
  const { file, out } = await small((questions) => {
    const facts = questions[0]?.supporting_facts as [string, number][];
    facts.push([facts[0]?.[0] as string, 902]);
    return questions;
  });
  const result = await hopgateJson(['labels', 'build', file, '--out', out]);
  assert.deepEqual(result.candidates, { match: 20, partial: 40, null: 240 });
  assert.equal((result.counts as { dangling_facts: number }).dangling_facts, 1);
  const strict = await hopgate(['labels', 'build', file, '--out', `${out}-strict`, '--strict']);
  assert.deepEqual([strict.code, strict.stderr], [1, 'hopgate: --strict: 1 × dangling_sentence (quarantine.jsonl lists them)\n']);
  assert.deepEqual(await readFile(join(`${out}-strict`, 'labels.arrow')), await readFile(join(out, 'labels.arrow')));
});

const refused: [name: string, content: string, args: string[], message: string][] = [
  [
    'a file that is not JSON',
    'hello',
    ['--dataset', 'hotpotqa'],
    ', line 1, row 0: neither a JSON array nor JSON lines; the first: got "hello", expected one JSON object',
  ],
  [
    'a truncated array',
    JSON.stringify(hotpotqaQuestions(3)).slice(0, -5),
    [],
    `, row 2: truncated: the file ends inside the record that begins at byte `,
  ],
  [
    'a split without labels',
    JSON.stringify(hotpotqaQuestions(3).map(({ supporting_facts: _gone, ...rest }) => rest)),
    [],
    ': split has no labels: no record has supporting facts (a test split?)',
  ],
  [
    'records without ids',
    JSON.stringify(hotpotqaQuestions(3).map(({ _id: _gone, ...rest }) => rest)),
    [],
    ': no record has an id; --ids row or --ids hash makes ids',
  ],
];
for (const [name, content, args, message] of refused) {
  test(`${name} is exit 2 with one message that names the place, and nothing that looks finished is left`, async () => {
    const file = await temporaryFile('a.json', content);
    const out = join(await temporaryFolder(), 'labels');
    const ran = await hopgate(['labels', 'build', file, '--out', out, ...args]);
    assert.equal(ran.code, 2);
    assert.ok(ran.stderr.startsWith(`hopgate: ${file}${message}`), ran.stderr);
    assert.equal(ran.stderr.trim().split('\n').length, 1);
    await assert.rejects(stat(out), { code: 'ENOENT' });
  });
}

test('without --out, or with an unknown flag, nothing is read', async () => {
  const none = await hopgate(['labels', 'build', 'a.json']);
  assert.deepEqual([none.code, none.stderr], [2, 'hopgate: --out: expected the folder that the result goes to\n']);
  const unknown = await hopgate(['labels', 'build', 'a.json', '--outt', 'x']);
  assert.equal(unknown.code, 2);
  assert.match(unknown.stderr, /^hopgate: Unknown argument: outt/);
});

test('P20: a 700 MB array passes with a heap of 256 MB', async (t) => {
  if (skippedInSecondPass(t)) return;
  const folder = await temporaryFolder();
  t.after(() => rm(folder, { recursive: true }));
  const file = join(folder, 'big.json');
  const { bytes } = await writeSyntheticHotpotqa(file, { bytes: 7e8 });
  // Longer than the longest string that V8 makes (2^29 − 24 characters).
  assert.ok(bytes > 2 ** 29);
  const result = await hopgateJson(['labels', 'build', file, '--preset', 'halt', '--out', join(folder, 'labels')], {
    env: { NODE_OPTIONS: '--max-old-space-size=256' },
  });
  assert.deepEqual(result.rows, { train: 9626, dev: 2374 });
});

test('killed ten times at drawn moments, labels build goes on with --resume to the bytes of an undisturbed run', async (t) => {
  const file = join(await temporaryFolder(), 'synthetic.json');
  await writeSyntheticHotpotqa(file, { bytes: 3e7 });
  await assertSurvivesKills(t, ['labels', 'build', file]);
});

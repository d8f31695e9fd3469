import assert from 'node:assert/strict';
import { cp, readFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { readProfile } from '../../runtime/index.js';
import { readManifest } from '../../src/core/manifest.js';
import { runFolder } from '../../src/core/run-folder.js';
import { hopgate, hopgateJson } from '../support/cli.js';
import { temporaryFile, temporaryFolder } from '../support/files.js';
import { hotpotqaQuestions } from '../support/hotpotqa-file.js';
import { embedWithWords, smallRun } from '../support/small-run.js';

let hotpotqa: string;
let wiki: string;
let calibrated: string;
let result: { [field: string]: unknown };

const sources = ['--decider', 'gold', '--claims', 'gold', '--encoder', 'words'];

before(async () => {
  hotpotqa = await smallRun('hotpotqa', 0, 90);
  wiki = await smallRun('2wiki', 90, 160);
  calibrated = join(await temporaryFolder(), 'calibration');
  result = await hopgateJson(['calibrate', hotpotqa, wiki, ...sources, '--resamples', '200', '--out', calibrated]);
});

test('calibrate writes a profile, its frontier, its folds and its rows, and the manifest lists them', async () => {
  const manifest = await readManifest(calibrated, 'calibration');
  assert.deepEqual(
    manifest.outputs.map((one) => one.name),
    ['explanation.txt', 'folds.json', 'frontier.json', 'profile.json', 'rows.jsonl'],
  );
  assert.deepEqual((await readdir(calibrated)).toSorted(), [
    'explanation.txt',
    'folds.json',
    'frontier.json',
    'manifest.json',
    'profile.json',
    'rows.jsonl',
  ]);
  const profile = await readProfile(join(calibrated, 'profile.json'));
  assert.equal(profile.tau, result.tau);
  assert.equal(profile.encoder.name, 'words');
  assert.deepEqual(
    profile.folds.map((one) => [one.target, one.trained_on]),
    [
      ['hotpotqa', ['2wiki']],
      ['2wiki', ['hotpotqa']],
    ],
  );
  assert.deepEqual(
    profile.datasets.map((one) => one.questions.valid),
    [90, 70],
  );
  const rows = (await readFile(join(calibrated, 'rows.jsonl'), 'utf8')).trimEnd().split('\n');
  assert.equal(rows.length, 160);
});

test('the same calibration is byte-identical, and neither clock nor path is in it', async () => {
  const again = join(await temporaryFolder(), 'elsewhere');
  await hopgateJson(['calibrate', hotpotqa, wiki, ...sources, '--resamples', '200', '--out', again]);
  for (const name of await readdir(calibrated)) {
    const [a, b] = await Promise.all([readFile(join(calibrated, name), 'utf8'), readFile(join(again, name), 'utf8')]);
    assert.equal(a, b, name);
    assert.doesNotMatch(a, /hopgate-\w{6}|\/tmp\//, name);
  }
});

test('two runs of one dataset are one dataset, rows of the second after those of the first', async () => {
  const copy = join(await temporaryFolder(), 'more');
  await cp(wiki, copy, { recursive: true });
  const twice = await hopgate(['calibrate', hotpotqa, wiki, copy, ...sources, '--out', join(await temporaryFolder(), 'c')]);
  assert.deepEqual(
    [twice.code, twice.stderr],
    [2, `hopgate: ${copy}: has the same content as ${wiki}, which is given too: it would count twice\n`],
  );
  const second = await smallRun('2wiki', 90, 161);
  const refused = await hopgate(['calibrate', hotpotqa, wiki, second, ...sources, '--out', join(await temporaryFolder(), 'c')]);
  assert.equal(refused.code, 2);
  const first = hotpotqaQuestions(91)[90]?._id as string;
  assert.equal(
    refused.stderr,
    `hopgate: 70 rows of 2wiki repeat an earlier question id, the first ${JSON.stringify(first)} in row 0; say --repeats first (keep the first of each) or --repeats rows (keep all, intervals clustered by id)\n`,
  );
  const kept = async (repeats: string): Promise<unknown> => {
    const args = ['calibrate', hotpotqa, wiki, second, ...sources, '--repeats', repeats, '--resamples', '50'];
    const { folds } = await hopgateJson([...args, '--out', join(await temporaryFolder(), 'c')]);
    return (folds as { all: { questions: unknown } }[])[1]?.all.questions;
  };
  // P7: rows, unique ids and valid questions are three numbers.
  assert.deepEqual(await kept('first'), { rows: 141, unique: 71, valid: 71 });
  assert.deepEqual(await kept('rows'), { rows: 141, unique: 71, valid: 141 });
});

test('explain says τ, folds, quantiles and limits in words', async () => {
  const { code, stdout } = await hopgate(['explain', calibrated]);
  assert.equal(code, 0);
  assert.match(stdout, new RegExp(`^τ = ${String(result.tau).replace('-', '−')}: skip the decider while the margin`));
  for (const part of [
    'What it was chosen on',
    'What to expect on questions it was not chosen on',
    'Where the margins lie',
    'What it is not valid for',
  ]) {
    assert.ok(stdout.includes(`\n${part}\n`), part);
  }
  assert.match(stdout, /hotpotqa margin +\d\.\d{3}/);
  assert.match(stdout, /Gold labels went into it: a diagnostic/);
});

test('replay with the profile gives the gate its τ and the always-verify run no cut', async () => {
  const out = join(await temporaryFolder(), 'replay');
  const args = ['replay', hotpotqa, wiki, '--systems', 'full,always-verify,fixed-3,gate,two-threshold,margin-only,all_match,any_match'];
  const replayed = await hopgateJson([...args, '--profile', calibrated, '--resamples', '200', '--out', out]);
  const datasets = replayed.datasets as {
    dataset: string;
    systems: { label: string; tau: number | null; deployable: boolean; measures: { call_cut: { value: number } } }[];
  }[];
  assert.deepEqual(
    datasets.map((one) => one.dataset),
    ['hotpotqa', '2wiki'],
  );
  const of = (label: string) => datasets[0]?.systems.find((one) => one.label === label);
  assert.equal(of('gate')?.tau, result.tau);
  assert.equal(of('always-verify')?.measures.call_cut.value, 0);
  assert.equal(of('gate')?.deployable, false);
  assert.equal(of('full')?.deployable, true);
  assert.deepEqual(replayed.transferred, []);
  const rows = (await readFile(join(out, 'rows.jsonl'), 'utf8')).trimEnd().split('\n');
  assert.equal(rows.length, 8 * 160);
});

test('P31: a profile of another encoder or claim text is exit 2, and nothing that looks finished is left', async () => {
  await embedWithWords(hotpotqa, 'other');
  const out = join(await temporaryFolder(), 'replay');
  const base = ['replay', hotpotqa, '--profile', calibrated, '--out', out];
  const cases: [string[], string][] = [
    [
      ['--encoder', 'other', '--transfer'],
      'hopgate: encoder.name differs: the profile was made with "words", this run uses "other"; a threshold does not carry over: calibrate again\n',
    ],
    [
      ['--claim-text', 'expected_claim'],
      'hopgate: claim_text differs: the profile was made with "title", this run uses "expected_claim"; a threshold does not carry over: calibrate again\n',
    ],
    [
      ['--evidence-text', 'sentence'],
      'hopgate: evidence_text differs: the profile was made with "title+sentence", this run uses "sentence"; a threshold does not carry over: calibrate again\n',
    ],
  ];
  for (const [more, message] of cases) {
    const ran = await hopgate([...base, ...more]);
    assert.equal(ran.stderr, message);
    assert.equal(ran.code, 2);
    assert.equal(ran.stdout, '');
    await assert.rejects(readdir(out));
  }
});

test('--transfer applies a profile to another decider, and marks the result', async () => {
  await hopgateJson(['decide', hotpotqa, '--decider', 'gold', '--support', 'all', '--name', 'strict']);
  const args = ['replay', hotpotqa, '--profile', calibrated, '--decider', 'strict', '--resamples', '50'];
  const refused = await hopgate([...args, '--out', join(await temporaryFolder(), 'r')]);
  assert.equal(refused.code, 2);
  assert.match(refused.stderr, /^hopgate: decider\.name differs: .*; --transfer applies the profile knowingly\n$/);
  const replayed = await hopgateJson([...args, '--transfer', '--out', join(await temporaryFolder(), 'r')]);
  const transferred = replayed.transferred as string[];
  assert.equal(transferred[0], 'decider.name: "gold" → "strict"');
  assert.ok(transferred[1]?.startsWith('decider.identity: '));
});

test('bad flags and missing parts are exit 2 with one message that names them', async () => {
  const out = join(await temporaryFolder(), 'c');
  const both = ['calibrate', hotpotqa, wiki, ...sources, '--out', out];
  const cases: [string[], string][] = [
    [[...both, '--bar', '1.5'], '--bar: got 1.5, expected a number in (0, 1]'],
    [[...both, '--grid', 'fine'], '--grid: got "fine", expected exact or a step in [0.000001, 2]'],
    [[...both, '--safety-reference', 'mine'], '--safety-reference: got "mine", expected own, none or a number in [0, 1]'],
    [[...both, '--target', 'musique'], '--target: got "musique", expected one of hotpotqa, 2wiki'],
    [[...both, '--guarantee', '2'], '--guarantee: got 2, expected a number in (0, 1)'],
    [['calibrate', hotpotqa, ...sources], '--out: expected a folder for the profile'],
    [
      ['calibrate', hotpotqa, '--decider', 'verifier', '--claims', 'gold', '--encoder', 'words', '--out', out],
      `${runFolder.verdicts(hotpotqa, 'verifier')}: no such folder`,
    ],
    [['replay', hotpotqa, ...sources, '--out', out], '--systems gate: needs a threshold; give --profile or --tau'],
    [['replay', hotpotqa, ...sources, '--tau', '0.4', '--transfer', '--out', out], '--transfer: of no use without --profile'],
    [['replay', hotpotqa, ...sources, '--tau', '0.4', '--tau-lo', '0.5', '--out', out], '--tau-lo: got 0.5, expected at most τ, 0.4'],
  ];
  for (const [args, message] of cases) {
    const ran = await hopgate(args);
    assert.equal(ran.stderr, `hopgate: ${message}\n`, args.join(' '));
    assert.equal(ran.code, 2);
  }
  await assert.rejects(readdir(out));
});

test('a damaged profile is exit 2 and names the field', async () => {
  const file = join(await temporaryFolder(), 'profile.json');
  const profile = JSON.parse(await readFile(join(calibrated, 'profile.json'), 'utf8')) as { [field: string]: unknown };
  delete profile.folds;
  await writeFile(file, JSON.stringify(profile));
  const ran = await hopgate(['explain', file]);
  assert.equal(ran.code, 2);
  assert.equal(
    ran.stderr,
    `hopgate: ${file}, field folds: not a valid calibration profile: Invalid input: expected array, received undefined\n`,
  );
});

test('a training split by id is read, hashed into the profile, and a bad line is named', async () => {
  const ids = hotpotqaQuestions(160).map((one) => JSON.stringify({ question_id: one._id }));
  const file = await temporaryFile('train.jsonl', `${ids.filter((_, at) => at % 2 === 0).join('\n')}\n`);
  const out = join(await temporaryFolder(), 'c');
  await hopgateJson(['calibrate', hotpotqa, wiki, ...sources, '--train-split', file, '--resamples', '50', '--out', out]);
  const profile = await readProfile(join(out, 'profile.json'));
  assert.equal(profile.split.rule, 'listed');
  assert.deepEqual(
    profile.datasets.map((one) => one.training),
    [45, 35],
  );
  const bad = await temporaryFile('train.jsonl', '{"question_id": 3}\n');
  const ran = await hopgate(['calibrate', hotpotqa, wiki, ...sources, '--train-split', bad, '--out', join(await temporaryFolder(), 'c')]);
  assert.equal(ran.stderr, `hopgate: ${bad}, line 1: got {"question_id":3}, expected {"question_id": "…", "dataset": "…" (optional)}\n`);
});

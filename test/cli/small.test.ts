import assert from 'node:assert/strict';
import { readFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { openVerdicts } from '../../runtime/index.js';
import { runFolder } from '../../src/core/run-folder.js';
import { labelColumns } from '../../src/core/labels.js';
import { readManifest } from '../../src/core/manifest.js';
import { collect, readTable } from '../../src/core/tables.js';
import { hopgate, hopgateJson } from '../support/cli.js';
import { testCache } from '../support/encoder-cache.js';
import { temporaryFolder } from '../support/files.js';
import { twoWikiFile } from '../support/label-folder.js';

const cache = ['--cache-dir', testCache];
let root: string;
let file: string;

before(async () => {
  root = await temporaryFolder();
  file = await twoWikiFile(10);
  await hopgateJson(['labels', 'build', file, '--forms', 'sentence,title,triple,masked', '--out', join(root, 'labels')]);
  const fit = ['--epochs', '4', '--hidden', '8', '--backend', 'wasm'];
  await hopgateJson(['small', 'train', join(root, 'labels'), '--out', join(root, 'model'), ...fit, ...cache]);
});

test('small evaluate leaves out the rows of questions that were trained on, names those that chose the epoch, and writes which rows', async () => {
  const out = join(root, 'evaluation');
  const args = ['small', 'evaluate', join(root, 'model'), join(root, 'labels'), '--resamples', '100', ...cache];
  const ran = await hopgate([...args, '--balance', '--out', out]);
  assert.equal(ran.code, 0, ran.stderr);
  const trained = (await collect(readTable(join(root, 'labels'), await readManifest(join(root, 'labels')), 'labels', labelColumns))).filter(
    (row) => row.split === 'train',
  ).length;
  const rows = (await readFile(join(out, 'rows.jsonl'), 'utf8'))
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { form: string; label: string; split?: string; p_match: number; p_partial: number; p_null: number });
  for (const form of ['sentence', 'title', 'triple', 'masked']) {
    const sizes = ['match', 'partial', 'null'].map((label) => rows.filter((row) => row.form === form && row.label === label).length);
    assert.ok((sizes[0] as number) > 0 && new Set(sizes).size === 1, `${form}: ${sizes.join(', ')}`);
  }
  for (const row of rows) assert.ok(Math.abs(row.p_match + row.p_partial + row.p_null - 1) < 1e-5);
  const report = JSON.parse(await readFile(join(out, 'report.json'), 'utf8')) as { figures: { report: { rows: number } }[] };
  const epochWords = `${rows.length} of ${rows.length} rows are of dev questions that chose the epoch of training: figures on them are not those of held-out rows`;
  assert.equal(ran.stderr, `warning: ${trained} rows are of questions that were trained on, and are left out\nwarning: ${epochWords}\n`);
  assert.ok(ran.stdout.split('\n').includes(epochWords), ran.stdout);
  assert.equal(
    report.figures.reduce((sum, one) => sum + one.report.rows, 0),
    rows.length,
  );
  const against = await hopgateJson([...args, '--against', join(root, 'model')]);
  for (const { difference } of against.differences as { difference: { estimate: number; high: number } }[])
    assert.deepEqual([difference.estimate, difference.high], [0, 0]);
});

test('the rows of a training question are left out whatever folder, case or punctuation it comes in', async () => {
  const source = JSON.parse(await readFile(file, 'utf8')) as { question: string }[];
  const again = join(root, 'again.json');
  await writeFile(again, JSON.stringify(source.map((one) => ({ ...one, question: `${one.question.toUpperCase()} ?` }))));
  await hopgateJson(['labels', 'build', again, '--out', join(root, 'other-labels'), '--dev-share', '0']);
  const ran = await hopgateJson(['small', 'evaluate', join(root, 'model'), join(root, 'other-labels'), '--resamples', '100', ...cache]);
  const counts = ran.counts as { rows: number; rows_trained_on: number; rows_that_chose_the_epoch: number };
  assert.ok(counts.rows_trained_on > 0 && counts.rows > 0);
  assert.equal(counts.rows_that_chose_the_epoch, counts.rows);
});

test('decide --decider small writes log-probabilities for the claims of a run, the same bytes every time', async () => {
  const run = join(root, 'run');
  await hopgateJson(['trajectories', 'run', file, '--agent', 'chain', '--out', run]);
  await hopgateJson(['claims', 'build', file, '--source', 'gold', '--out', runFolder.claims(run, 'gold')]);
  const args = ['decide', run, '--decider', 'small', '--model', join(root, 'model'), '--claims', 'gold', ...cache];
  const first = await hopgateJson(args);
  // Ten questions, of which the label rows' dev split holds out some.
  const { training } = JSON.parse(await readFile(join(root, 'model', 'manifest.json'), 'utf8')).details as {
    training: { questions: number };
  };
  assert.deepEqual(first.warnings, [
    `the decider was trained on ${training.questions} of 10 questions, and ${10 - training.questions} chose its epoch: its verdicts on them are not those on held-out questions`,
  ]);
  const folder = runFolder.verdicts(run, 'small');
  const { details, questions } = await openVerdicts(folder);
  assert.equal(details.claims, 'gold');
  assert.deepEqual((details.decider as { claim_text: string }).claim_text, 'expected_claim');
  const decided = await collect(questions());
  assert.equal(decided.length, 10);
  assert.ok(decided.every(({ question }) => (question.claims as number) >= 2));
  assert.ok(decided.flatMap(({ rows }) => rows).every((row) => row.p === null && (row.lp_match as number) <= 0));
  const again = join(root, 'again');
  await hopgateJson([...args, '--out', again]);
  for (const name of await readdir(folder)) assert.ok((await readFile(join(folder, name))).equals(await readFile(join(again, name))), name);
  const all = await hopgateJson([...args, '--all-pairs', '--claim-text', 'title', '--out', join(root, 'all')]);
  assert.ok((all.counts as { pairs: number }).pairs > decided.flatMap(({ rows }) => rows).length);
  // Its verdicts drive the calibration and the replay like any other decider's.
  await hopgateJson(['embed', run, ...cache]);
  const calibrated = await hopgateJson([
    'calibrate',
    run,
    '--decider',
    'small',
    '--claims',
    'gold',
    '--resamples',
    '100',
    '--out',
    join(root, 'profile'),
  ]);
  assert.equal(typeof calibrated.tau, 'number');
});

test('bad usage is exit 2 with one message', async () => {
  const model = join(root, 'model');
  const labels = join(root, 'labels');
  const cases: [string[], string][] = [
    [['small', 'train', labels], '--out: expected the folder that the result goes to'],
    [
      ['small', 'train', labels, '--out', 'x', '--hidden', '8,none'],
      '--hidden: got "8,none", expected a comma list of whole numbers of at least 1',
    ],
    [
      ['small', 'train', labels, '--out', 'x', '--forms', 'all'],
      '--forms: got "all", expected a comma list of sentence, title, triple, subquestion, masked',
    ],
    [['small', 'train', model, '--out', 'x'], `${join(model, 'manifest.json')}: got a folder of kind "small-verifier", expected "labels"`],
    [['small', 'evaluate', labels, labels], `${join(labels, 'manifest.json')}: got a folder of kind "labels", expected "small-verifier"`],
    [['small', 'evaluate', model, labels, '--forms', 'subquestion', '--quiet'], `${labels}: no row of the forms subquestion to judge`],
    [
      ['decide', join(root, 'run'), '--decider', 'small', '--claims', 'gold'],
      '--model: expected the folder of a small verifier for --decider small',
    ],
    [
      ['decide', join(root, 'run'), '--decider', 'small', '--model', model],
      '--claims: expected the name of claims in RUN/claims for --decider small',
    ],
    [['decide', labels, '--decider', 'gold', '--model', model], '--model: of no use with --decider gold'],
  ];
  await Promise.all(
    cases.map(async ([args, message]) => {
      const ran = await hopgate(args);
      assert.deepEqual([ran.code, ran.stderr], [2, `hopgate: ${message}\n`], args.join(' '));
    }),
  );
});

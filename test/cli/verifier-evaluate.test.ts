import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { openVerifier, scoreNaive } from '../../runtime/index.js';
import { type LabelRow, labelColumns } from '../../src/core/labels.js';
import { readManifest } from '../../src/core/manifest.js';
import { collect, readTable } from '../../src/core/tables.js';
import { verifierScoreColumns } from '../../src/core/verifier-scores.js';
import { fieldsOf } from '../../src/core/verifier-fields.js';
import { hopgate, hopgateJson } from '../support/cli.js';
import { temporaryFile, temporaryFolder } from '../support/files.js';
import { hotpotqaQuestions } from '../support/hotpotqa-file.js';
import { labelFolder, twoWikiFile } from '../support/label-folder.js';
import { verifierFolderOf } from '../support/verifier-folder.js';

let model: string;
let labels: string;
let rows: LabelRow[];
const cpu = ['--provider', 'cpu', '--threads', '1'];

before(async () => {
  model = await verifierFolderOf();
  const file = await temporaryFile('questions.json', JSON.stringify(hotpotqaQuestions(12)));
  labels = (await labelFolder(file, { devShare: 0.3 })).folder;
  rows = await collect(readTable(labels, await readManifest(labels, 'labels'), 'labels', labelColumns));
});

test('verifier score gives each pair the scores of the plain way, from label rows and from JSON lines alike', async () => {
  const some = rows.slice(0, 12);
  const file = await temporaryFile('pairs.jsonl', some.map((row) => `${JSON.stringify(fieldsOf(row))}\n`).join(''));
  const [fromRows, fromLines] = [join(await temporaryFolder(), 'a'), join(await temporaryFolder(), 'b')];
  const [result] = await Promise.all([
    hopgateJson(['verifier', 'score', model, labels, ...cpu, '--out', fromRows]),
    hopgateJson(['verifier', 'score', model, file, ...cpu, '--format', 'jsonl', '--out', fromLines]),
  ]);
  const read = async (folder: string): Promise<{ [field: string]: unknown }[]> =>
    collect(readTable(folder, await readManifest(folder, 'verifier-scores'), 'scores', verifierScoreColumns));
  const [all, lines] = [await read(fromRows), await read(fromLines)];
  assert.equal(all.length, rows.length);
  assert.equal((result.counts as { pairs: number }).pairs, rows.length);
  const verifier = await openVerifier(model, { provider: 'cpu', threads: 1 });
  const naive = await scoreNaive(
    verifier.graph,
    some.map((row) => verifier.tokens.prompt(fieldsOf(row)).ids),
    { labels: verifier.tokens.labelIds, padId: 0, batch: 6 },
  );
  await verifier.close();
  for (const [at, row] of some.entries()) {
    for (const name of ['lp_match', 'lp_partial', 'lp_null'] as const) {
      const plain = naive[at]?.[name] as number;
      for (const found of [all[at], lines[at]]) assert.ok(Math.abs((found?.[name] as number) - plain) <= 1e-5);
    }
    assert.deepEqual([all[at]?.question_id, all[at]?.label, lines[at]?.label, lines[at]?.pair], [row.question_id, row.label, null, at]);
  }
});

test('verifier evaluate judges dev rows alone: figures per form, ablations, page overlap, another dataset, another model', async () => {
  const wiki = (await labelFolder(await twoWikiFile(8), { devShare: 0.5 })).folder;
  const other = await verifierFolderOf({ seed: 14 });
  const out = join(await temporaryFolder(), 'evaluation');
  const result = await hopgateJson([
    'verifier',
    'evaluate',
    model,
    '--labels',
    labels,
    '--cross',
    wiki,
    '--against',
    other,
    '--page-overlap',
    labels,
    '--mask-target',
    '--drop',
    'expected_page,expected_claim',
    '--lower-case',
    '--random-claim',
    'keep-page',
    '--forms',
    'sentence',
    '--resamples',
    '200',
    '--out',
    out,
    ...cpu,
  ]);
  const dev = rows.filter(({ split }) => split === 'dev');
  assert.ok(dev.length > 5 && dev.length < rows.length);
  type Figures = { dataset: string; report: { rows: number; accuracy: number; confusion: number[][]; p_gold: { match: number } } }[];
  const report = result as unknown as {
    figures: Figures;
    cross: Figures;
    against: { differences: object[]; cross: Figures };
    ablations: { name: string; figures: Figures; differences: { difference: { estimate: number } }[] }[];
    page_overlap: { questions: number };
  };
  assert.deepEqual(
    [report.figures[0]?.report.rows, report.cross[0]?.dataset, report.against.cross[0]?.dataset, report.ablations.map(({ name }) => name)],
    [
      dev.length,
      '2wiki',
      '2wiki',
      ['target masked', 'no expected page', 'no expected claim', 'sentence in lower case', 'random claim, page kept'],
    ],
  );
  assert.equal(report.page_overlap.questions, new Set(dev.map((row) => row.row)).size);
  const lines = (await readFile(join(out, 'rows.jsonl'), 'utf8'))
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { label: string; said: string; p_match: number; p_partial: number; p_null: number });
  assert.deepEqual(
    lines.map(({ label }) => label),
    dev.map(({ label }) => label),
  );
  const right = lines.filter(({ label, said }) => label === said).length / lines.length;
  assert.equal(report.figures[0]?.report.accuracy, right);
  for (const one of lines) assert.ok(Math.abs(one.p_match + one.p_partial + one.p_null - 1) < 1e-12);
});

test('bad usage is exit 2 with one message', async () => {
  const pairs = await temporaryFile('pairs.jsonl', '{"question": "Who?"}\n');
  const cases: [string[], string][] = [
    [
      ['verifier', 'score', model, pairs, '--out', 'x'],
      `${pairs}, line 1, field answer_candidate: Invalid input: expected string, received undefined`,
    ],
    [
      ['verifier', 'evaluate', model, '--labels', labels, '--drop', 'page'],
      `--drop: got "page", expected one of ${Object.keys(fieldsOf(rows[0] as LabelRow)).join(', ')}`,
    ],
    [['verifier', 'evaluate', model, '--labels', labels, '--forms', 'masked'], `${labels}: no dev row of the forms masked to judge`],
  ];
  await Promise.all(
    cases.map(async ([args, message]) => {
      const ran = await hopgate([...args, ...cpu]);
      assert.deepEqual([ran.code, ran.stderr], [2, `hopgate: ${message}\n`], args.join(' '));
    }),
  );
});

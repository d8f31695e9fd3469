import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { type LabelOptions, type LabelResult, type LeakageReport, buildLabels, openRecords } from '../../datasets/index.js';
import { LABELS, type LabelRow, labelColumns } from '../../src/core/labels.js';
import { readManifest } from '../../src/core/manifest.js';
import type { HopRecord } from '../../src/core/records.js';
import { collect, readTable } from '../../src/core/tables.js';
import { normaliseSentence, normaliseTitle } from '../../src/core/text.js';
import { dataOrSkip } from '../support/data.js';
import { temporaryFile, temporaryFolder } from '../support/files.js';
import { hotpotqaQuestions } from '../support/hotpotqa-file.js';
import { skippedInSecondPass } from '../support/second-pass.js';
import { writeSyntheticHotpotqa } from '../support/synthetic-hotpotqa.js';

interface Built extends LabelResult {
  out: string;
  rowList: LabelRow[];
  leakage: LeakageReport;
}

async function build(file: string, options: Partial<LabelOptions> = {}): Promise<Built> {
  const out = options.out ?? join(await temporaryFolder(), 'labels');
  const result = await buildLabels(await openRecords(file), { ...options, out });
  const rowList = await collect(readTable(out, await readManifest(out, 'labels'), 'labels', labelColumns));
  const leakage = JSON.parse(await readFile(join(out, 'leakage.json'), 'utf8')) as LeakageReport;
  return { ...result, out, rowList, leakage };
}

const countOf = (rows: readonly LabelRow[], label: string, split?: string): number =>
  rows.filter((row) => row.label === label && (split === undefined || row.split === split)).length;

async function questionsFile(questions: readonly unknown[]): Promise<string> {
  return temporaryFile('a.json', JSON.stringify(questions));
}

// Counted by a separate program (Python: json, unicodedata, html), which goes through the pages with the rules of method.md §3.
const counted = [
  ['hotpotqa_train_800.json', { match: 1911, partial: 3220, null: 27_525 }, 22, 0],
  ['2wiki_train_500.json', { match: 1178, partial: 4246, null: 10_113 }, 0, 6],
  ['hotpotqa_dev_100.json', { match: 249, partial: 397, null: 3610 }, 2, 0],
  ['2wiki_dev_64.json', { match: 166, partial: 654, null: 1288 }, 0, 0],
] as const;
for (const [name, candidates, refused, dangling] of counted) {
  test(`the candidates of ${name} are those that another program counts`, async (t) => {
    const data = dataOrSkip(t);
    if (data === undefined) return;
    const built = await build(join(data, name));
    assert.deepEqual(built.candidates, candidates);
    assert.deepEqual(Object.keys(built.candidates), ['match', 'partial', 'null']);
    assert.equal(built.manifest.counts.refused_equals_gold, refused);
    assert.equal(built.manifest.counts.dangling_facts, dangling);
    // Every match and partial candidate is kept, null is drawn down to the smaller class.
    for (const label of LABELS) assert.equal(countOf(built.rowList, label), label === 'null' ? candidates.match : candidates[label], label);
  });
}

test('the hub form of a file gives the same bytes as the official one', async (t) => {
  const data = dataOrSkip(t);
  if (data === undefined) return;
  const tables = await Promise.all(
    ['hotpotqa_dev_100.json', 'hotpotqa_dev_100.hf.jsonl'].map(async (name) =>
      readFile(join((await build(join(data, name))).out, 'labels.arrow')),
    ),
  );
  assert.deepEqual(tables[1], tables[0]);
});

test('P14: in the real samples no null row has the text of a gold sentence of its question', async (t) => {
  const data = dataOrSkip(t);
  if (data === undefined) return;
  const file = join(data, 'hotpotqa_train_800.json');
  const { rowList } = await build(file);
  const golds = new Map<number, Set<string>>();
  for await (const record of (await openRecords(file)).records)
    golds.set(
      record.row,
      new Set(record.supporting.map(({ page, sentence }) => normaliseSentence(record.pages[page ?? -1]?.sentences[sentence] ?? ''))),
    );
  for (const row of rowList) if (row.label === 'null') assert.ok(!golds.get(row.row)?.has(normaliseSentence(row.evidence_sentence)));
});

test('every row leads back to its sentence, and its claim is one of the question’s', async () => {
  const file = await questionsFile(hotpotqaQuestions(30));
  const records = new Map<number, HopRecord>();
  for await (const record of (await openRecords(file)).records) records.set(record.row, record);
  const { rowList } = await build(file);
  for (const row of rowList) {
    const record = records.get(row.row) as HopRecord;
    const page = record.pages[row.page_index] as HopRecord['pages'][number];
    assert.deepEqual([page.title, page.sentences[row.sentence_index]?.trim()], [row.evidence_page, row.evidence_sentence]);
    const titles = record.supporting.map((fact) => fact.title);
    assert.equal(row.expected_page, titles[row.claim]);
    assert.equal(row.expected_target, titles[row.claim + 1] ?? row.expected_page);
    assert.equal(row.answer_candidate, row.expected_target);
    assert.equal(row.evidence_page === row.expected_page, row.label !== 'null');
    assert.equal(row.derived, false);
  }
  assert.ok(new Set(rowList.filter((row) => row.label === 'null').map((row) => row.claim)).size === 2, 'null rows draw both claims');
});

test('the same seed and file give the same bytes, another seed other rows, and JSON lines the same rows', async () => {
  const file = await questionsFile(hotpotqaQuestions(60));
  const [a, b, other, lines] = [
    await build(file),
    await build(file),
    await build(file, { seed: 14 }),
    await build(file, { format: 'jsonl' }),
  ];
  for (const name of ['labels.arrow', 'leakage.json', 'manifest.json', 'quarantine.jsonl'])
    assert.deepEqual(await readFile(join(a.out, name)), await readFile(join(b.out, name)), name);
  assert.notDeepEqual(other.rowList, a.rowList);
  assert.deepEqual(lines.rowList, a.rowList);
});

test('the rows of this file are these for ever: a machine, a Node or a library that draws otherwise is noticed', async () => {
  const { rowList } = await build(await questionsFile(hotpotqaQuestions(4)), { devShare: 0.25 });
  const drawn = rowList
    .filter((row) => row.label === 'null')
    .map((row) => `${row.split} ${row.question_id} ${row.page_index}.${row.sentence_index} c${row.claim}`);
  assert.deepEqual(drawn, [
    'dev q0 5.0 c0',
    'dev q0 8.2 c1',
    'train q1 9.0 c1',
    'train q2 3.1 c0',
    'train q2 3.2 c0',
    'train q3 1.0 c1',
    'train q3 1.1 c1',
    'train q3 2.2 c0',
  ]);
});

test('P15: questions of one text go to one split, whatever their ids', async () => {
  const questions = hotpotqaQuestions(40).map((one, at) => ({ ...one, question: `Which river is it, number ${at >> 1}?`, _id: `id${at}` }));
  const { rowList, leakage } = await build(await questionsFile(questions), { devShare: 0.5 });
  const splits = new Map<string, Set<string>>();
  for (const row of rowList) splits.set(row.question, (splits.get(row.question) ?? new Set()).add(row.split));
  assert.equal(splits.size, 20);
  for (const [question, split] of splits) assert.equal(split.size, 1, question);
  assert.deepEqual(leakage.questions, { train: 10, dev: 10, shared: 0, share_of_dev: 0 });
});

/** Questions that share gold pages in pairs, 0–1, 2–3, … */
function pairedPages(n: number): unknown[] {
  return hotpotqaQuestions(n).map((one, at) => {
    const shared = `Shared ${at >> 1}`;
    const context = one.context as [string, string[]][];
    return {
      ...one,
      context: [[shared, ['It is shared.', 'x']], ...context.slice(1)],
      supporting_facts: [
        [shared, 0],
        [context[5]?.[0], 1],
      ],
    };
  });
}

test('P15: by question the report names the gold pages on both sides, by page there are none', async () => {
  const file = await questionsFile(pairedPages(60));
  const byQuestion = await build(file);
  const shared = (rows: readonly LabelRow[]): number => {
    const [train, dev] = ['train', 'dev'].map(
      (split) => new Set(rows.filter((row) => row.split === split).map((row) => normaliseTitle(row.expected_page))),
    ) as [Set<string>, Set<string>];
    return [...dev].filter((title) => train.has(title)).length;
  };
  assert.ok(shared(byQuestion.rowList) > 0);
  assert.equal(byQuestion.leakage.expected_pages.shared, shared(byQuestion.rowList));
  assert.equal(byQuestion.leakage.shared_expected_pages.length, Math.min(20, shared(byQuestion.rowList)));
  assert.match(byQuestion.manifest.warnings.join(), /expected pages are in train too \(leakage\.json\); --split-by page keeps them apart/);
  const byPage = await build(file, { splitBy: 'page' });
  assert.equal(shared(byPage.rowList), 0);
  assert.deepEqual([byPage.leakage.expected_pages.shared, byPage.leakage.shared_expected_pages], [0, []]);
  // 12 of 60 questions, in pairs.
  assert.deepEqual(byPage.manifest.counts.questions, { train: 48, dev: 12 });
});

test('P15: the report counts shared sentences and runs of eight words', async () => {
  const common = 'one two three four five six seven eight nine.';
  const questions = hotpotqaQuestions(2).map((one) => ({
    ...one,
    context: (one.context as [string, string[]][]).map(([title]) => [title, [common, `${common} ${title}`, 'a']]),
  }));
  const { leakage } = await build(await questionsFile(questions), { devShare: 0.5 });
  assert.ok(leakage.evidence_sentences.shared >= 1);
  // "one … eight" and "two … nine".
  assert.equal(leakage.ngrams.shared >= 2, true);
  assert.deepEqual([leakage.ngrams.words, leakage.ngrams.one_in], [8, 1]);
});

test('--dev-null-share moves the share of null in dev alone', async () => {
  const file = await questionsFile(hotpotqaQuestions(200));
  const [plain, half] = [await build(file), await build(file, { devNullShare: 0.5 })];
  // 40 dev questions with 2 match and 4 partial candidates each: 240 others, so 240 null rows make half.
  assert.equal(countOf(plain.rowList, 'null', 'dev'), 80);
  assert.equal(countOf(half.rowList, 'null', 'dev'), 240);
  assert.equal(countOf(half.rowList, 'null', 'train'), countOf(plain.rowList, 'null', 'train'));
});

test('the preset halt: 12,000 rows, 4,000 of each class, 9,626 for training from 4,903 questions, classes equal within one', async (t) => {
  if (skippedInSecondPass(t)) return;
  const file = join(await temporaryFolder(), 'synthetic.json');
  await writeSyntheticHotpotqa(file, { questions: 12_000 });
  const { rowList, rows, manifest, out } = await build(file, { preset: 'halt' });
  assert.deepEqual(rows, { train: 9626, dev: 2374 });
  for (const label of LABELS) assert.equal(countOf(rowList, label), 4000, label);
  for (const split of ['train', 'dev']) {
    const classes = LABELS.map((label) => countOf(rowList, label, split));
    assert.ok(Math.max(...classes) - Math.min(...classes) <= 1, String(classes));
  }
  const questionsOf = (split: string): Set<string> => new Set(rowList.filter((row) => row.split === split).map((row) => row.question_id));
  const [train, dev] = [questionsOf('train'), questionsOf('dev')];
  assert.equal(train.size, 4903);
  assert.deepEqual(manifest.counts.questions, { train: train.size, dev: dev.size });
  assert.equal([...dev].filter((id) => train.has(id)).length, 0);
  const keys = new Set(rowList.map((row) => `${row.row}/${row.page_index}/${row.sentence_index}`));
  assert.equal(keys.size, 12_000, 'no sentence stands in two rows');
  const again = await build(file, { preset: 'halt' });
  assert.deepEqual(await readFile(join(again.out, 'labels.arrow')), await readFile(join(out, 'labels.arrow')));
});

test('the preset halt says what a file lacks', async (t) => {
  const data = dataOrSkip(t);
  if (data === undefined) return;
  const file = join(data, 'hotpotqa_train_800.json');
  const out = join(await temporaryFolder(), 'labels');
  await assert.rejects(buildLabels(await openRecords(file), { preset: 'halt', out }), {
    name: 'InputError',
    message: `${file}: the preset halt does not fit: train needs 4903 questions with candidates, got 800; dev needs 1209 questions with candidates, got 0`,
  });
  await assert.rejects(readFile(join(out, 'manifest.json')), { code: 'ENOENT' });
});

test('P11: a split without labels is refused, and nothing is left behind', async () => {
  const questions = hotpotqaQuestions(3).map(({ _id, question, context }) => ({ _id, question, context }));
  const file = await questionsFile(questions);
  const out = join(await temporaryFolder(), 'labels');
  await assert.rejects(buildLabels(await openRecords(file), { out }), {
    name: 'InputError',
    message: `${file}: split has no labels: no record has supporting facts (a test split?)`,
  });
  await assert.rejects(readFile(join(out, '.unfinished', 'settings.json')), { code: 'ENOENT' });
});

test('P3: questions without a gold page are left out and counted, with the question whether this is the fullwiki split', async () => {
  const questions = hotpotqaQuestions(10).map((one, at) => (at < 4 ? { ...one, supporting_facts: [['Nowhere', 0]] } : one));
  const file = await questionsFile(questions);
  const { manifest, candidates } = await build(file, { devShare: 0 });
  assert.deepEqual(manifest.quarantined, { gold_page_missing: 4 });
  assert.deepEqual(candidates, { match: 12, partial: 24, null: 144 });
  assert.ok(
    manifest.warnings.includes('4 of 10 questions lack a gold page in their pool: is this the fullwiki split?'),
    manifest.warnings.join(),
  );
  const all = await questionsFile(questions.slice(0, 4));
  await assert.rejects(build(all), {
    name: 'InputError',
    message: `${all}: all 4 questions lack a gold page in their pool: is this the fullwiki split? (--allow-missing-gold labels them all the same)`,
  });
});

test('P2: every record that is left out or repaired is in the quarantine file with row, id and field', async () => {
  const [first, second, third] = hotpotqaQuestions(3) as [{ [f: string]: unknown }, { [f: string]: unknown }, { [f: string]: unknown }];
  const facts = second.supporting_facts as [string, number][];
  const file = await questionsFile([
    { ...first, context: [['A', 'text']] },
    { ...second, supporting_facts: [...facts, [facts[0]?.[0], 902]] },
    third,
  ]);
  const { out, manifest } = await build(file);
  const lines = (await readFile(join(out, 'quarantine.jsonl'), 'utf8')).trim().split('\n');
  assert.deepEqual(
    lines.map((line) => JSON.parse(line) as unknown),
    [
      {
        action: 'skipped',
        reason: 'bad_field',
        row: 0,
        line: null,
        question_id: null,
        field: 'context[0][1]',
        detail: 'got "text", expected a list',
      },
      {
        action: 'repaired',
        reason: 'dangling_sentence',
        row: 1,
        line: null,
        question_id: 'q1',
        field: 'supporting[2]',
        detail: `sentence 902 of "${facts[0]?.[0]}", which has 3`,
      },
    ],
  );
  assert.deepEqual([manifest.quarantined, manifest.counts.repaired], [{ bad_field: 1 }, { dangling_sentence: 1 }]);
});

test('MuSiQue is refused without --derive, and its derived rows say so', async (t) => {
  const data = dataOrSkip(t);
  if (data === undefined) return;
  const file = join(data, 'musique_dev_100.jsonl');
  await assert.rejects(build(file), {
    name: 'InputError',
    message: `${file}: MuSiQue has no supporting sentences, so there are no sentence labels; --derive answer-sentence takes the sentences that hold a step’s answer and marks the rows as derived`,
  });
  const { rowList, manifest } = await build(file, { derive: 'answer-sentence' });
  assert.ok(rowList.length > 0);
  assert.ok(rowList.every((row) => row.derived && row.form === 'subquestion'));
  assert.deepEqual(manifest.details, { dataset: 'musique', dataset_version: null, splitter: 'sbd@1.0.19', derived: 'answer-sentence' });
});

test('a file that is only for evaluation goes to dev as a whole', async () => {
  const { rowList, manifest } = await build(await questionsFile(hotpotqaQuestions(12)), { devShare: 1 });
  assert.ok(rowList.length > 0 && rowList.every((row) => row.split === 'dev'));
  assert.deepEqual(manifest.warnings, []);
});

test('shares out of range and a dev share beside the preset are refused', async () => {
  const file = await questionsFile(hotpotqaQuestions(2));
  await assert.rejects(build(file, { devShare: 1.1 }), { message: '--dev-share: got 1.1, expected a number from 0 to 1' });
  await assert.rejects(build(file, { devNullShare: NaN }), {
    message: '--dev-null-share: got NaN, expected a number from 0 up to but not 1',
  });
  await assert.rejects(build(file, { preset: 'halt', devShare: 0.1 }), {
    message: '--dev-share: the preset halt has a fixed number of dev rows; leave one of the two out',
  });
});

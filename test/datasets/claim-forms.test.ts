import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { claimForm, parseForms } from '../../datasets/index.js';
import { goldHops } from '../../src/core/gold-hops.js';
import { CLAIM_FORMS, type LabelRow, labelColumns } from '../../src/core/labels.js';
import { readManifest } from '../../src/core/manifest.js';
import { collect, readTable } from '../../src/core/tables.js';
import { dataOrSkip } from '../support/data.js';
import { temporaryFile } from '../support/files.js';
import { hotpotqaQuestions } from '../support/hotpotqa-file.js';
import { labelFolder, twoWikiFile } from '../support/label-folder.js';
import { recordOf } from '../support/trajectories.js';

async function rowsOf(folder: string): Promise<LabelRow[]> {
  return collect(readTable(folder, await readManifest(folder, 'labels'), 'labels', labelColumns));
}

function formsOf(title: string, evidences: [string, string, string][], sentence = 'It is so.'): (string | null)[] {
  const record = recordOf([[title, sentence]], {
    supporting: [{ title, page: 0, sentence: 0 }],
    evidences: evidences.map(([subject, relation, object]) => ({ subject, relation, object })),
  });
  const [hop] = goldHops(record).hops;
  assert.ok(hop);
  return CLAIM_FORMS.map((form) => claimForm(record, hop, form));
}

test('a triple belongs to the page whose title is its subject, or its subject and a bracket', () => {
  const director: [string, string, string] = ['Ember', 'director', 'Ann Lee'];
  const worded = ['Ember director Ann Lee', null, 'the director of Ember'];
  assert.deepEqual(formsOf('Ember', [director]), ['Ember: It is so.', 'Ember', ...worded]);
  assert.deepEqual(formsOf('Ember (film)', [director]), ['Ember (film): It is so.', 'Ember (film)', ...worded]);
  assert.deepEqual(formsOf('Ember &amp; Ash', [['Ember & Ash', 'director', 'Ann Lee']])[4], 'the director of Ember & Ash');
  for (const title of ['Embers', 'Ember film', 'The Ember', 'ember'])
    assert.deepEqual(formsOf(title, [director]), [`${title}: It is so.`, title, null, null, null]);
  assert.deepEqual(formsOf('(film)', [['', 'director', 'Ann Lee']])[2], null);
});

test('several triples of one claim are one wording, and a withheld target is not said twice', () => {
  const triples: [string, string, string][] = [
    ['Ann Lee', 'country of citizenship', 'France'],
    ['Bo', 'father', 'Ann Lee'],
    ['Ann Lee', 'country of citizenship', 'Chad'],
  ];
  const [, , triple, , masked] = formsOf('Ann Lee', triples);
  assert.equal(triple, 'Ann Lee country of citizenship France; Ann Lee country of citizenship Chad');
  assert.equal(masked, 'the country of citizenship of Ann Lee');
});

test('a claim whose supporting sentences are empty has no sentence form', () => {
  assert.deepEqual(formsOf('Ember', [], '  ')[0], null);
});

test('every candidate gives one row in each form that its claim has, and split and candidates are those without forms', async () => {
  const file = await twoWikiFile(12);
  const plain = await labelFolder(file);
  const several = await labelFolder(file, { forms: ['sentence', 'title', 'triple', 'subquestion', 'masked'] });
  const [without, withForms] = [await rowsOf(plain.folder), await rowsOf(several.folder)];
  assert.deepEqual(
    withForms.filter((row) => row.form === 'sentence'),
    without,
  );
  const claimless = ({ form: _form, expected_claim: _claim, ...rest }: LabelRow): object => rest;
  assert.deepEqual(withForms.filter((row) => row.form === 'title').map(claimless), without.map(claimless));
  for (const row of withForms) if (row.form === 'title') assert.equal(row.expected_claim, row.expected_page);
  // A triple row has its masked twin; both name the claim's page as their subject.
  const triples = withForms.filter((row) => row.form === 'triple');
  assert.ok(triples.length > 0);
  assert.deepEqual(withForms.filter((row) => row.form === 'masked').map(claimless), triples.map(claimless));
  const counts = several.manifest.counts as { [name: string]: { [name: string]: unknown } };
  assert.deepEqual(
    counts.rows_by_form,
    Object.fromEntries(
      CLAIM_FORMS.map((form) => {
        const own = withForms.filter((row) => row.form === form);
        return [
          form,
          Object.fromEntries(['match', 'null', 'partial'].map((label) => [label, own.filter((row) => row.label === label).length])),
        ];
      }),
    ),
  );
  assert.equal(counts.claims_without_form?.sentence, 0);
  assert.equal(counts.claims_without_form?.subquestion, several.manifest.counts.claims);
  assert.equal(counts.claims_without_form?.triple, counts.claims_without_form?.masked);
  assert.ok(several.manifest.warnings.includes('no claim of this file has the form subquestion'));
  assert.deepEqual(several.manifest.options.forms, [...CLAIM_FORMS]);
  assert.deepEqual(plain.manifest.options.forms, undefined);
  assert.deepEqual(plain.manifest.counts.rows_by_form, undefined);
});

test('forms that no claim of the file has, and unknown ones, are refused by name', async () => {
  const file = await temporaryFile('questions.json', JSON.stringify(hotpotqaQuestions(8)));
  await assert.rejects(labelFolder(file, { forms: ['triple', 'masked'] }), {
    name: 'InputError',
    message: `${file}: --forms: got triple, masked, and no claim of this file has such a form`,
  });
  await assert.rejects(labelFolder(file, { preset: 'halt', forms: ['sentence', 'title'] }), {
    name: 'InputError',
    message: '--forms: the preset halt has the form sentence only, got sentence, title',
  });
  assert.throws(() => parseForms('title,claim'), {
    name: 'InputError',
    message: '--forms: got "claim", expected a comma list of sentence, title, triple, subquestion, masked',
  });
  assert.deepEqual(parseForms('masked, title,masked'), ['title', 'masked']);
});

test('a decomposition has sub-questions, and titles and sentences beside them', async (t) => {
  const data = dataOrSkip(t);
  if (data === undefined) return;
  const file = await temporaryFile(
    'musique.jsonl',
    (await readFile(join(data, 'musique_dev_100.jsonl'), 'utf8')).split('\n').slice(0, 20).join('\n'),
  );
  const { folder } = await labelFolder(file, { derive: 'answer-sentence', forms: ['sentence', 'title', 'subquestion'], devShare: 0 });
  const rows = await rowsOf(folder);
  const of = (form: string): LabelRow[] => rows.filter((row) => row.form === form);
  assert.equal(of('title').length, of('subquestion').length);
  assert.ok(of('subquestion').length > 0 && of('sentence').length <= of('subquestion').length);
  for (const row of of('sentence')) assert.ok(row.expected_claim.startsWith(`${row.expected_page}: `));
  assert.ok(rows.every((row) => row.derived));
});

// Counted independently in Python over the supporting facts that resolve and the evidences whose subject is the title or its part before " (".
test('the 2Wiki sample has a triple for 1,144 of its 1,178 claims', async (t) => {
  const data = dataOrSkip(t);
  if (data === undefined) return;
  const { manifest } = await labelFolder(join(data, '2wiki_train_500.json'), { forms: ['sentence', 'triple', 'masked'] });
  assert.deepEqual(manifest.counts.candidates, { match: 1178, null: 10113, partial: 4246 });
  assert.deepEqual([manifest.counts.claims, manifest.counts.claims_without_form], [1178, { masked: 34, sentence: 0, triple: 34 }]);
});

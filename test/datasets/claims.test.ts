import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { buildClaims, buildLabels, goldClaims, heuristicClaims, openRecords } from '../../datasets/index.js';
import { resolveSupporting } from '../../datasets/supporting.js';
import { type Claim, claimColumns } from '../../src/core/claims.js';
import { readManifest } from '../../src/core/manifest.js';
import { collect, readTable } from '../../src/core/tables.js';
import { dataOrSkip } from '../support/data.js';
import { temporaryFile, temporaryFolder } from '../support/files.js';
import { hotpotqaQuestions } from '../support/hotpotqa-file.js';
import { recordOf } from '../support/trajectories.js';

test('one gold claim for each distinct supporting title, in the order of the facts', () => {
  const record = recordOf(
    [
      ['Ember', 'The Ember is a river.', ' It is crossed by one bridge. ', 'x'],
      ['Orr', 'Orr built it.'],
    ],
    { question: 'Who built it?' },
  );
  record.supporting = resolveSupporting(record.pages, [
    { title: 'Ember', sentence: 1 },
    { title: 'Orr', sentence: 0 },
    { title: 'Ember', sentence: 0 },
  ]);
  const common = {
    question_id: 'q',
    row: 0,
    question: 'Who built it?',
    source: 'gold',
    answer_type: 'page_title',
    subquestion: null,
  } as const;
  assert.deepEqual(goldClaims(record).claims, [
    {
      ...common,
      claim: 0,
      page: 'Ember',
      expected_target: 'Orr',
      role: 'bridge_title',
      expected_claim: 'Ember: The Ember is a river. It is crossed by one bridge.',
    },
    { ...common, claim: 1, page: 'Orr', expected_target: 'Orr', role: 'answer_node', expected_claim: 'Orr: Orr built it.' },
  ] satisfies Claim[]);
});

test('P10: MuSiQue claims are the filled-in sub-questions, their targets the next paragraphs’ titles', () => {
  const record = recordOf(
    [
      ['Quill', 'Quill was born in Velm.'],
      ['Road', 'By Mara Quill.'],
    ],
    {
      decomposition: [
        { question: 'Road >> author', answer: 'Mara Quill', page: 1 },
        { question: 'Where was #1 born, #7?', answer: 'Velm', page: 0 },
      ],
    },
  );
  assert.deepEqual(
    goldClaims(record).claims.map(({ page, expected_target, role, expected_claim, subquestion }) => [
      page,
      expected_target,
      role,
      expected_claim,
      subquestion,
    ]),
    [
      ['Road', 'Quill', 'bridge_title', 'Road author', 'Road author'],
      ['Quill', 'Quill', 'answer_node', 'Where was Mara Quill born, #7?', 'Where was Mara Quill born, #7?'],
    ],
  );
});

/** Bytes of the claims and label tables of a file. */
async function tables(content: string): Promise<[claims: Buffer, labels: Buffer]> {
  const file = await temporaryFile('a.json', content);
  const folder = await temporaryFolder();
  const [claims, labels] = [join(folder, 'claims'), join(folder, 'labels')];
  await buildClaims(await openRecords(file), { source: 'gold', out: claims });
  await buildLabels(await openRecords(file, { dataset: 'hotpotqa' }), { out: labels });
  return [await readFile(join(claims, 'claims.arrow')), await readFile(join(labels, 'labels.arrow'))];
}

test('the record’s answer is never read: whatever it is, claims and label rows keep every byte', async () => {
  const questions = hotpotqaQuestions(20);
  const before = await tables(JSON.stringify(questions));
  await fc.assert(
    fc.asyncProperty(fc.oneof(fc.string({ unit: 'grapheme' }), fc.constant(null), fc.constantFrom('w1', 'yes')), async (answer) => {
      const after = await tables(JSON.stringify(questions.map((one) => ({ ...one, answer }))));
      assert.deepEqual(after, before);
    }),
    { numRuns: 10, seed: 13 },
  );
});

test('MuSiQue claims do not depend on the answer, nor on the answer of the last step', () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), (answer, last) => {
      const claimsOf = (a: string, b: string): Claim[] =>
        goldClaims(
          recordOf(
            [
              ['Quill', 'Quill was born in Velm.'],
              ['Road', 'By Mara Quill.'],
            ],
            {
              answer: a,
              decomposition: [
                { question: 'Road >> author', answer: 'Mara Quill', page: 1 },
                { question: 'Where was #1 born?', answer: b, page: 0 },
              ],
            },
          ),
        ).claims;
      assert.deepEqual(claimsOf(answer, last), claimsOf('Velm', 'Velm'));
    }),
  );
});

test('heuristic claims: any question that is not empty gives one to three, none of them empty', () => {
  const question = fc.oneof(
    fc.string({ unit: 'grapheme' }),
    fc.array(fc.constantFrom('Who', 'Ember', 'of', 'the', '“Salt Road”', '?', ',', 'that', '7')).map((all) => all.join(' ')),
  );
  fc.assert(
    fc.property(question, (text) => {
      const claims = heuristicClaims({ question_id: 'q', row: 0, question: text });
      assert.ok(text.trim() === '' ? claims.length === 0 : claims.length >= 1 && claims.length <= 3, String(claims.length));
      for (const [at, claim] of claims.entries()) {
        assert.equal(claim.claim, at);
        assert.equal(claim.source, 'heuristic');
        assert.notEqual(claim.expected_claim.trim(), '');
        assert.equal(claim.role, at === claims.length - 1 ? 'answer_node' : 'bridge_title');
      }
    }),
    { numRuns: 1000, seed: 13 },
  );
});

const heuristics: [question: string, pages: string[]][] = [
  ['Are Watertown Airport and Alexandria Airport both in the same state?', ['Watertown Airport', 'Alexandria Airport']],
  ['Who directed "The Salt Road", a film based on a novel by Mara Quill?', ['The Salt Road', 'Mara Quill']],
  ['Which came first, Ember (river) or Duke of Velm?', ['Ember (river)', 'Duke of Velm']],
  ["When was Mara Quill's mother born?", ['Mara Quill', '']],
  ['What was the job of the father of the founder of psychoanalysis?', ['', '']],
  ['who?', ['']],
];
for (const [question, pages] of heuristics) {
  test(`heuristic claims of ${JSON.stringify(question)} look for ${JSON.stringify(pages)}`, () => {
    assert.deepEqual(
      heuristicClaims({ question_id: 'q', row: 0, question }).map((claim) => claim.page),
      pages,
    );
  });
}

test('P8: a question without claims is counted, named in the quarantine and in no K', async () => {
  const [first, second] = hotpotqaQuestions(2) as [{ [field: string]: unknown }, { [field: string]: unknown }];
  const file = await temporaryFile('a.json', JSON.stringify([first, { ...second, supporting_facts: [] }]));
  const out = join(await temporaryFolder(), 'claims');
  const manifest = await buildClaims(await openRecords(file), { source: 'gold', out, format: 'jsonl' });
  assert.deepEqual(manifest.counts, { questions: 2, claims: 2, no_claims: 1, claims_per_question: { 0: 1, 2: 1 }, repaired: {} });
  assert.deepEqual(manifest.quarantined, { no_supporting: 1 });
  assert.deepEqual(manifest.details, { dataset: 'hotpotqa', dataset_version: null, source: 'gold', splitter: 'dataset' });
  const rows = await collect(readTable(out, await readManifest(out, 'claims'), 'claims', claimColumns));
  assert.deepEqual(
    rows.map(({ question_id, claim }) => [question_id, claim]),
    [
      ['q0', 0],
      ['q0', 1],
    ],
  );
});

test('K on the real samples', async (t) => {
  const data = dataOrSkip(t);
  if (data === undefined) return;
  const folder = await temporaryFolder();
  // python3 -c "import json,collections;print(collections.Counter(len({f[0] for f in r['supporting_facts']}) for r in json.load(open(FILE))))"; in
  // 2Wiki 6 of the facts dangle, each the only one of its page; MuSiQue: len(r['question_decomposition']).
  for (const [name, expected] of [
    ['hotpotqa_train_800.json', { 2: 800 }],
    ['2wiki_train_500.json', { 1: 5, 2: 403, 3: 1, 4: 91 }],
    ['musique_train_100.jsonl', { 2: 68, 3: 27, 4: 5 }],
  ] as const) {
    const { counts } = await buildClaims(await openRecords(join(data, name)), { source: 'gold', out: join(folder, name) });
    assert.deepEqual(counts.claims_per_question, expected, name);
  }
});

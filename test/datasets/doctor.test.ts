import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { RECORD_FAULTS, examine, openRecords, openSubset, writeSubset } from '../../datasets/index.js';
import { sha256 } from '../../src/core/hash.js';
import { collect } from '../../src/core/tables.js';
import { dataOrSkip } from '../support/data.js';
import { temporaryFile, temporaryFolder } from '../support/files.js';
import { hotpotqaQuestions } from '../support/hotpotqa-file.js';

type Question = { [field: string]: unknown; context: [string, string[]][]; supporting_facts: [string, number][] };

async function faultsOf(questions: readonly unknown[], name = 'a.json'): Promise<{ [kind: string]: number }> {
  const content = name.endsWith('l') ? questions.map((one) => JSON.stringify(one)).join('\n') : JSON.stringify(questions);
  const { faults } = await examine(await openRecords(await temporaryFile(name, content)));
  return Object.fromEntries(Object.entries(faults).filter(([, n]) => n > 0));
}

/** A sound question: its answer stands in its pool. */
const base = (): Question => {
  const one = hotpotqaQuestions(1)[0] as Question;
  return { ...one, answer: one.context[0]?.[1][0]?.split(' ')[0] };
};
const firstFact = (one: Question): string => one.supporting_facts[0]?.[0] as string;

const cases: [fault: string, change: (one: Question) => unknown, counts: { [kind: string]: number }][] = [
  [
    'P1: a sentence index past the end',
    (one) => ({ ...one, supporting_facts: [...one.supporting_facts, [firstFact(one), 902]] }),
    { dangling_sentence: 1 },
  ],
  [
    'P3: a gold page that is missing',
    (one) => ({ ...one, supporting_facts: [...one.supporting_facts, ['Gone', 0], ['Gone', 1]] }),
    { gold_page_missing: 1 },
  ],
  ['P2: an answer that no page has', (one) => ({ ...one, answer: 'Ωmega' }), { answer_not_in_pool: 1 }],
  ['P4: a question of one word', (one) => ({ ...one, question: 'DRM' }), { question_too_short: 1 }],
  ['P9: a title on two pages', (one) => ({ ...one, context: [...one.context, [one.context[0]?.[0], ['Other.']]] }), { repeated_title: 1 }],
  [
    'a title in another form',
    (one) => ({ ...one, supporting_facts: [[`${firstFact(one)}&#32;`, 0], one.supporting_facts[1]] }),
    { title_form: 1 },
  ],
  [
    'a fact that stands twice',
    (one) => ({ ...one, supporting_facts: [...one.supporting_facts, one.supporting_facts[0]] }),
    { repeated_fact: 1 },
  ],
  ['empty sentences', (one) => ({ ...one, context: [...one.context, ['E', ['', ' ', 'x y']]] }), { empty_sentence: 2 }],
  ['a leading space', (one) => ({ ...one, context: [...one.context, ['E', [' x y']]] }), { leading_space: 1 }],
  ['P11: no facts', ({ supporting_facts: _gone, ...one }) => one, { no_supporting: 1 }],
  ['no pages', (one) => ({ ...one, context: [], supporting_facts: [] }), { no_context: 1, no_supporting: 1 }],
  ['no answer', (one) => ({ ...one, answer: null }), { no_answer: 1 }],
  ['one gold page', (one) => ({ ...one, supporting_facts: [one.supporting_facts[0]] }), { single_gold_page: 1 }],
  [
    'P8: facts that yield no claim',
    (one) => ({ ...one, supporting_facts: [[firstFact(one), 99]] }),
    { dangling_sentence: 1, single_gold_page: 1, no_claims: 1 },
  ],
  [
    'P14: a distractor with the text of a gold sentence',
    (one) => {
      const [title, at] = one.supporting_facts[0] as [string, number];
      const text = one.context.find(([name]) => name === title)?.[1][at] as string;
      return { ...one, context: [...one.context, ['E', [`${text.toUpperCase()}!`]]] };
    },
    { distractor_equals_gold: 1 },
  ],
  ['a record with a bad field', (one) => ({ ...one, context: 3 }), { bad_field: 1 }],
];
for (const [name, change, counts] of cases) {
  test(`finds ${name.replace(/^P\d+: /, '')} and nothing else (${name.split(':')[0]})`, async () => {
    // A second, sound question keeps the file readable.
    assert.deepEqual(
      await faultsOf([change(base()), { ...base(), _id: 'sound', question: 'Which of the rivers is the longest?' }]),
      counts,
    );
  });
}

test('P7: finds ids and questions that stand twice', async () => {
  const one = base();
  assert.deepEqual(await faultsOf([one, one, { ...one, _id: 'other' }]), { repeated_id: 1, repeated_question: 1 });
});

test('P10: finds steps without paragraph, references that lead nowhere, and answers in no sentence', async () => {
  const one = {
    id: '2hop__1_2',
    question: 'Where was the author of The Salt Road born?',
    answer: 'Velm',
    paragraphs: [{ idx: 0, title: 'Mara Quill', paragraph_text: 'Mara Quill was born in Velm.' }],
    question_decomposition: [
      { question: 'The Salt Road >> author', answer: 'Mara Quill', paragraph_support_idx: null },
      { question: 'Where was #2 born?', answer: 'Rome', paragraph_support_idx: 0 },
      { question: 'Who?', answer: 'Velm', paragraph_support_idx: 5 },
    ],
  };
  assert.deepEqual(await faultsOf([one], 'm.jsonl'), {
    null_support: 2,
    unresolved_reference: 1,
    no_answer_sentence: 1,
    unknown_paragraph: 1,
  });
});

test('every kind is in the report, at zero where there is none', async () => {
  const { faults } = await examine(await openRecords(await temporaryFile('a.json', JSON.stringify([base()]))));
  for (const kind of [...Object.keys(RECORD_FAULTS), 'repeated_id', 'repeated_question']) assert.equal(faults[kind], 0, kind);
});

test('P3: asks whether this is the fullwiki split when a tenth of the questions lack a gold page', async () => {
  const questions = hotpotqaQuestions(10).map((one, at) => (at === 0 ? { ...one, supporting_facts: [['Gone', 0]] } : one));
  const { warnings } = await examine(await openRecords(await temporaryFile('a.json', JSON.stringify(questions))));
  assert.deepEqual(warnings, ['1 of 10 questions lack a gold page in their pool: is this the fullwiki split?']);
});

test('P15: counts what two splits have in common', async () => {
  const questions = hotpotqaQuestions(4);
  const [a, b] = [
    await temporaryFile('a.json', JSON.stringify(questions.slice(0, 3))),
    await temporaryFile('b.json', JSON.stringify(questions.slice(2))),
  ];
  const { faults } = await examine(await openRecords(a), { against: await openRecords(b) });
  // Question 2 is in both: its id, its text, its two gold titles and two gold sentences.
  assert.deepEqual([faults.shared_id, faults.shared_question, faults.shared_gold_title, faults.shared_gold_sentence], [1, 1, 2, 2]);
  // Two gold sentences of twelve words have five runs of eight each.
  assert.equal(faults.shared_ngram, 10);
});

test('P13: a subset manifest notices a changed answer, a missing and an added record', async () => {
  const questions = hotpotqaQuestions(4);
  const opened = async (list: readonly unknown[]) => openRecords(await temporaryFile('a.json', JSON.stringify(list)));
  const file = join(await temporaryFolder(), 'subset.jsonl');
  await writeSubset(file, (await examine(await opened(questions.slice(0, 3)), { collectSubset: true })).subset);
  assert.equal((await readFile(file, 'utf8')).trim().split('\n').length, 3);
  const same = await examine(await opened(questions.slice(0, 3)), { subset: await openSubset(file) });
  assert.deepEqual([same.faults.subset_changed, same.faults.subset_extra, same.faults.subset_missing], [0, 0, 0]);
  const other = [{ ...questions[0], answer: 'changed' }, questions[1], questions[3]];
  const report = await examine(await opened(other), { subset: await openSubset(file) });
  assert.deepEqual([report.faults.subset_changed, report.faults.subset_extra, report.faults.subset_missing], [1, 1, 1]);
  assert.deepEqual(report.examples.subset_missing?.question_id, 'q2');
});

test('P15: a gold sentence that the other split holds in other words around it is found by its runs of eight words', async () => {
  const [one, two] = hotpotqaQuestions(2) as [Question, Question];
  const [title, at] = one.supporting_facts[0] as [string, number];
  const gold = one.context.find(([name]) => name === title)?.[1][at] as string;
  const [other, place] = two.supporting_facts[0] as [string, number];
  const context = two.context.map(([name, sentences]) => [
    name,
    name === other ? sentences.map((text, n) => (n === place ? `In other words, ${gold.toUpperCase()}` : text)) : sentences,
  ]);
  const file = async (question: unknown) => openRecords(await temporaryFile('a.json', JSON.stringify([question])));
  const { faults } = await examine(await file({ ...two, context }), { against: await file(one) });
  // Fifteen words have eight runs of eight; the five without a word of the new beginning are shared.
  assert.deepEqual([faults.shared_gold_sentence, faults.shared_gold_title, faults.shared_ngram], [0, 0, 5]);
});

test('P13: what is built from a shared subset is refused where a record differs from its manifest, is missing or was added', async () => {
  const questions = hotpotqaQuestions(4);
  const file = async (list: readonly unknown[]) => temporaryFile('a.json', JSON.stringify(list));
  const subset = join(await temporaryFolder(), 'subset.jsonl');
  const whole = await file(questions.slice(0, 3));
  await writeSubset(subset, (await examine(await openRecords(whole), { collectSubset: true })).subset);
  const opened = await openRecords(whole, { subset });
  assert.equal((await collect(opened.records)).length, 3);
  assert.deepEqual(opened.inputs, [whole, subset]);
  for (const [list, message] of [
    [
      [questions[0], { ...questions[1], answer: 'changed' }, questions[2]],
      `, row 1, question "q1": question, answer or supports are not those of the subset manifest ${subset}`,
    ],
    [[...questions], `, row 3, question "q3": is not in the subset manifest ${subset}`],
    [[questions[0]], `: has no record "q1" and 1 others of the subset manifest ${subset}`],
  ] as const) {
    const other = await file(list);
    await assert.rejects(collect((await openRecords(other, { subset })).records), { name: 'InputError', message: `${other}${message}` });
  }
});

test('P4: the report names the files with their sha256, and the version where it is known', async () => {
  const content = JSON.stringify(hotpotqaQuestions(2));
  const file = await temporaryFile('hotpot.json', content);
  const { inputs, dataset_version } = await examine(await openRecords(file, { version: '1.1' }));
  assert.deepEqual([inputs, dataset_version], [[{ name: 'hotpot.json', sha256: sha256(content), bytes: content.length }], '1.1']);
});

test('counts the faults of the real samples', async (t) => {
  const data = dataOrSkip(t);
  if (data === undefined) return;
  const found = async (name: string) => {
    const { faults } = await examine(await openRecords(join(data, name)));
    return Object.fromEntries(Object.entries(faults).filter(([, n]) => n > 0));
  };
  // Python over json.load(open(FILE)): sum(s != s.strip() and s.strip() != '' …), sum(s.strip() == '' …), titles seen before in a context,
  // facts with index >= len(sentences), the separate program's refused sentences, and answers a (not yes or no) without
  // any(fold(a) in fold(' '.join(s)) for _, s in context), fold = lambda t: ' '.join(t.split()).casefold().
  assert.deepEqual(await found('hotpotqa_train_800.json'), { leading_space: 24_531, empty_sentence: 3, distractor_equals_gold: 22 });
  assert.deepEqual(await found('2wiki_train_500.json'), { repeated_title: 27, dangling_sentence: 6, answer_not_in_pool: 1 });
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SPLITTER } from '../../src/core/sentences.js';
import { foldSpace } from '../../src/core/text.js';
import { imported } from '../support/imported-run.js';

const titled = (...titles: string[]): string =>
  titles.map((one, at) => `(${at + 1})Title: ${one} Text: ${one} is a town. It is old.\n`).join('');
const r1 = (query: string, documents: string): string =>
  `I search. <|begin_of_query|> ${query}<|end_of_query|>\n\n<|begin_of_documents|>\n${documents}<|end_of_documents|>\n\n`;

test('marked transcripts: queries with their documents are loops, a query without documents is listed, the last answer counts', async () => {
  const { questions, answers, quarantine, manifest } = await imported(
    [
      {
        id: 'a',
        question: 'A?',
        answer: ['x', 'y'],
        gen_text_store: `${r1('one', titled('Alm', 'Birk'))}${r1('two', titled('Birk', 'Cob'))}</think> <answer> Cob </answer>`,
      },
      { id: 'b', question: 'B?', gen_text_store: `<|begin_of_query|>lost<|end_of_query|> hm ${r1('kept', '')}then <|begin_of_query|>cut` },
      { id: 'c', question: 'C?', gen_text_store: '<answer> by heart </answer>' },
    ],
    'r1-searcher',
  );
  assert.deepEqual(
    questions.map(({ trajectory, record }) => [
      trajectory.question_id,
      record?.answer,
      record?.aliases,
      trajectory.loops.map(({ query, sentences, stop_reason: stop }) => [
        query,
        sentences.map(({ page, sentence }) => `${page}/${sentence}`),
        stop,
      ]),
    ]),
    [
      // Two documents of two sentences, then one that is new.
      [
        'a',
        'x',
        ['y'],
        [
          ['one', ['0/0', '0/1', '1/0', '1/1'], null],
          ['two', ['2/0', '2/1'], 'answered'],
        ],
      ],
      ['b', null, [], [['kept', [], 'cut_off']]],
    ],
  );
  assert.deepEqual(
    answers.map(({ question_id, answer }) => [question_id, answer]),
    [
      ['a', 'Cob'],
      ['b', null],
      ['c', 'by heart'],
    ],
  );
  assert.deepEqual(
    quarantine.map(({ action, reason, row, detail }) => [action, reason, row, detail]),
    [
      ['repaired', 'query_without_documents', 1, 'query "lost" has no documents'],
      ['repaired', 'query_cut_off', 1, 'the transcript ends inside <|begin_of_query|>'],
    ],
  );
  assert.deepEqual(manifest.counts, {
    questions: 3,
    loops: 3,
    documents: 4,
    pages: 3,
    sentences: 6,
    without_search: 1,
    stopped_by: { answered: 1, cut_off: 1 },
    gold: { none: 3 },
    repaired: { query_without_documents: 1, query_cut_off: 1 },
  });
  assert.equal(manifest.details.splitter, SPLITTER);
});

test('marks that do not fit leave a record out by name, and marks inside documents are text', async () => {
  const [q, docs] = ['<search>x</search>', '<information>Doc 1(Title: "T") t.\n</information>'];
  const bad = [
    ['</search> without <search>', `x</search>${docs}`],
    ['<information> without a query before it', docs],
    ['<search> stands inside <search>', `<search>a <search>b</search>`],
    ['<information> stands inside <search>', `<search>a ${docs}`],
    ['<information> without </information>', `${q}<information>Doc 1(Title: "T") t.`],
    ['<information> stands inside <information>', `${q}<information>a <information>b</information>`],
    ['</information> without <information>', `${q}${docs}</information>`],
  ] as const;
  const { quarantine, questions, manifest } = await imported(
    [
      ...bad.map(([, response], at) => ({ id: `bad${at}`, question: 'Q?', response })),
      { id: 'no', question: 'Q?' },
      {
        id: 'good',
        question: 'Q?',
        response: `${q}\n\n<information>Doc 1(Title: "T (film)") Say <search> or <answer>no</answer>.\nDoc 3(Title: x) no head.\nDoc 2(Title: U (v) w) u.\n</information>\n<answer>1</answer>`,
      },
    ],
    'search-r1',
  );
  assert.deepEqual(
    quarantine.map(({ reason, detail }) => [reason, detail]),
    [
      ...bad.map(([detail]) => ['bad_marks', detail]),
      ['bad_field', 'got no transcript, expected it in one of gen_text_store, transcript, trajectory, response, output, text'],
    ],
  );
  assert.deepEqual(manifest.quarantined, { bad_marks: 7, bad_field: 1 });
  assert.deepEqual(
    questions[0]?.record?.pages.map(({ title }) => title),
    ['T (film)', 'U (v) w'],
  );
});

test('line ends of Windows, a prompt in front, quoted documents and one in no known layout', async () => {
  const prompt = 'You can call a search engine by <search> query </search>. For example, <answer> Beijing </answer>. Question: Who?\n';
  const { questions, quarantine } = await imported(
    [
      { id: 'p', question: 'Who?', text: `${prompt}<search>who</search>\n<information>plain words.</information><answer>me</answer>` },
      {
        id: 'w',
        question: 'Who?',
        text: `${prompt}<search>w</search>\r\n<information>(1)"Title: A, B Text: He said ""yes"".\r\nSo."\r\n(2)Title: C Text: d.\r\n</information>`,
      },
    ],
    'search-r1',
  );
  assert.deepEqual(
    questions.map(({ record, trajectory }) => [trajectory.loops[0]?.query, record?.pages]),
    [
      ['who', [{ title: '', sentences: ['plain words.'] }]],
      [
        'w',
        [
          { title: 'A, B', sentences: ['He said "yes".', 'So.'] },
          { title: 'C', sentences: ['d.'] },
        ],
      ],
    ],
  );
  assert.deepEqual(
    quarantine.map(({ reason }) => reason),
    ['unknown_documents'],
  );
});

test('ReAct transcripts: searches and lookups with their observations, other actions listed', async () => {
  const text = [
    'Thought 1: I need Arthur.',
    'Action 1: Search[Arthur’s Magazine]',
    'Observation 1: Arthur’s Magazine was a periodical. It began in 1844.',
    'Thought 2: And now?',
    'Action 2: Lookup[began]',
    'Observation 2: (Result 1 / 1) It began in 1844.',
    'Action 3: Search[Nowhere]',
    'Observation 3: Could not find Nowhere. Similar: [x].',
    'Action 4: Calculate[1+1]',
    'Observation 4: 2',
    'Action: Search',
    'Action Input: First for Women',
    'Observation: (1)Title: First Text: First is new.',
    'Action 5: Finish[Arthur]',
  ].join('\n');
  const { questions, answers, quarantine } = await imported(
    [
      { id: 'r', question: 'Which?', text },
      { id: 's', question: 'Which?', text: 'Observation: x' },
    ],
    'react',
  );
  assert.deepEqual(
    questions[0]?.trajectory.loops.map(({ query, sentences }) => [query, sentences.map(({ title, text: one }) => `${title}: ${one}`)]),
    [
      ['Arthur’s Magazine', ['Arthur’s Magazine: Arthur’s Magazine was a periodical.', 'Arthur’s Magazine: It began in 1844.']],
      ['began', ['Arthur’s Magazine: It began in 1844.']],
      ['Nowhere', []],
      ['First for Women', ['First: First is new.']],
    ],
  );
  assert.deepEqual(
    answers.map(({ answer }) => answer),
    ['Arthur'],
  );
  assert.deepEqual(
    quarantine.map(({ reason, detail }) => [reason, detail]),
    [
      ['other_action', 'action "Calculate" is no search'],
      ['bad_marks', 'an observation without an action before it'],
    ],
  );
});

test('FlashRAG intermediate data: reasoning, iterative and single-search pipelines', async () => {
  const doc = (title: string, at = 1): unknown => ({ id: title, contents: `"${title}"\n${title} is old. It stands.`, score: 1 / at });
  const rows = [
    {
      id: '1',
      question: 'A?',
      golden_answers: ['g'],
      output: {
        prompt: 'p',
        retrieval_results: { '1': { query: 'b', docs: [doc('B')] }, '0': { query: 'a', docs: [doc('A'), doc('B', 2)] } },
        pred: ' it ',
        finish_reason: 'Finished',
      },
    },
    {
      id: '2',
      question: 'B?',
      golden_answers: ['g'],
      output: {
        retrieval_result_iter_0: [doc('A')],
        pred_iter_0: 'guess',
        retrieval_result_iter_1: [doc('C')],
        retrieval_result: [doc('C')],
        pred: 'done',
      },
    },
    { id: '3', question: 'C?', golden_answers: [], output: { retrieval_result: [doc('A')], pred: 'x' } },
    { id: '4', question: 'D?', golden_answers: ['g'], output: { pred: 'no retrieval' } },
    {
      id: '5',
      question: 'E?',
      golden_answers: ['g'],
      output: { retrieval_results: {}, pred: 'No valid answer found', finish_reason: 'Reach max retrieval number' },
    },
  ];
  const { questions, answers, quarantine } = await imported(JSON.stringify(rows, null, 4), 'flashrag');
  assert.deepEqual(
    questions.map(({ trajectory, record }) => [
      record?.pages.map(({ title, sentences }) => `${title} ${sentences.length}`),
      trajectory.loops.map(({ query, sentences, stop_reason: stop }) => [query, sentences.map(({ score }) => score), stop]),
    ]),
    [
      [
        ['A 2', 'B 2'],
        [
          ['a', [1, 1, 0.5, 0.5], null],
          ['b', [], 'answered'],
        ],
      ],
      [
        ['A 2', 'C 2'],
        [
          ['B?', [1, 1], null],
          ['B? guess', [1, 1], 'unknown'],
        ],
      ],
      [['A 2'], [['C?', [1, 1], 'unknown']]],
    ],
  );
  assert.deepEqual(
    answers.map(({ answer, transcript }) => [answer, transcript]),
    [
      ['it', 'p'],
      ['done', ''],
      ['x', ''],
      [null, ''],
    ],
  );
  assert.deepEqual(
    quarantine.map(({ row, reason }) => [row, reason]),
    [[3, 'bad_field']],
  );
});

async function react(text: string) {
  const { questions, answers, quarantine } = await imported([{ id: 'r', question: 'Which?', text }], 'react');
  return {
    loops:
      questions[0]?.trajectory.loops.map(({ query, sentences }) => [query, foldSpace(sentences.map((one) => one.text).join(' '))]) ?? [],
    answer: answers[0]?.answer,
    listed: quarantine.map(({ action, reason, detail }) => [action, reason, detail]),
  };
}

test('ReAct: a full stop behind an action, a colon and LangChain’s JSON say the same as the plain form', async () => {
  const one = (action: string) => react(`Thought 1: hm\n${action}\nObservation 1: Foo is old.\nAction 2: Finish[X].`);
  for (const action of [
    'Action 1: Search[Foo]',
    'Action 1: Search[Foo].\nI wait.',
    'Action 1: search: Foo',
    'Action 1: Search(Foo)',
    'Action: Search\nAction Input: {"query": "Foo"}',
    'Action: Search\nAction Input: {"tool_input": "Foo", "limit": 3}',
  ])
    assert.deepEqual(await one(action), { loops: [['Foo', 'Foo is old.']], answer: 'X', listed: [] }, action);
});

test('ReAct: lines of an observation that begin like a label are its text', async () => {
  const passage = 'A. He made\nAction: an action film genre.\nAction: drama\nIt ended.';
  assert.deepEqual(await react(`Action 1: Search[Foo]\nObservation 1: ${passage}\nThought 2: so\nAction 2: Finish[A [b]]\n`), {
    loops: [['Foo', foldSpace(passage)]],
    answer: 'A [b]',
    listed: [],
  });
});

test('ReAct: an action that cannot be read is listed, and its observation goes with it', async () => {
  assert.deepEqual(await react('Thought: a\nAction: drama\nThought: b\nAction: I look, then wait\nObservation: x\nFinal Answer: Y'), {
    loops: [],
    answer: 'Y',
    listed: [
      ['repaired', 'other_action', 'action "drama" has no input'],
      ['repaired', 'other_action', 'action "I look, then wait" has no known form'],
    ],
  });
});

test('FlashRAG: a search that is missing among the iterations leaves the record out', async () => {
  const doc = { contents: '"A"\nA is old.' };
  const output = { retrieval_result_iter_0: [doc], pred_iter_0: 'x', retrieval_result_iter_2: [doc], pred: 'y' };
  const { quarantine } = await imported(
    [
      { id: 'gap', question: 'A?', output },
      { id: 'good', question: 'A?', output: { retrieval_result_iter_0: [doc], pred: 'y' } },
    ],
    'flashrag',
  );
  assert.deepEqual(
    quarantine.map(({ reason, row, detail }) => [reason, row, detail]),
    [['bad_field', 0, 'got retrieval_result_iter_0, retrieval_result_iter_2, expected retrieval_result_iter_1 among them']],
  );
});

import assert from 'node:assert/strict';
import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { readManifest } from '../../src/core/manifest.js';
import { readRunQuestions } from '../../src/core/run-questions.js';
import { collect } from '../../src/core/tables.js';
import { bm25Identity } from '../../src/retrieval/index.js';
import { hopgate, hopgateJson } from '../support/cli.js';
import { dataOrSkip } from '../support/data.js';
import { temporaryFile, temporaryFolder } from '../support/files.js';
import { hotpotqaQuestions } from '../support/hotpotqa-file.js';
import { assertSurvivesKills } from '../support/killed-runs.js';

const lines = (values: readonly unknown[]): string => values.map((one) => `${JSON.stringify(one)}\n`).join('');
const questions = hotpotqaQuestions(6);
const dataset = (all: readonly unknown[] = questions): Promise<string> => temporaryFile('small.json', JSON.stringify(all));
const followUps = (): Promise<string> =>
  temporaryFile(
    'followups.jsonl',
    lines([
      { question_id: 'q1', followups: ['wa w3', 'w1x'], source: 'by hand' },
      { question_id: 'q2', followups: [] },
      { question_id: 'q3', followups: Array.from({ length: 9 }, (_, at) => `w${at}`) },
      { question_id: 'unknown', followups: ['x'] },
    ]),
  );

test('a run holds trajectories and records of the questions with follow-ups, and counts the others', async () => {
  const out = await temporaryFolder();
  const result = await hopgateJson([
    'trajectories',
    'run',
    await dataset(),
    '--agent',
    'scripted',
    '--followups',
    await followUps(),
    '--out',
    out,
  ]);
  assert.deepEqual(result, {
    out,
    counts: {
      asked: 6,
      questions: 2,
      loops: 9,
      // Nine loops of three sentences; the pools have thirty.
      sentences: 27,
      stopped_by: { budget: 1, no_follow_up: 1 },
      without_follow_ups: 4,
      without_pool: 0,
      unmatched_follow_ups: 1,
      repaired: {},
    },
    quarantined: {},
    warnings: ['1 of 4 questions of the follow-up file are not in the dataset file'],
  });
  const manifest = await readManifest(out, 'trajectories');
  assert.deepEqual(manifest.details, {
    dataset: 'hotpotqa',
    agent: { agent: 'scripted', queries: 'the question, then the follow-ups of a file as written', followup_sources: ['by hand'] },
    retriever: bm25Identity({ k1: 1.2, b: 0.75 }),
    splitter: 'dataset',
    budget: 6,
    top: 3,
    repeat: false,
  });
  const all = await collect(readRunQuestions(out));
  assert.deepEqual(
    all.map(({ record, trajectory }) => [record?.question, trajectory.row, trajectory.loops.map(({ query }) => query)]),
    [
      [questions[1]?.question, 1, [questions[1]?.question, 'wa w3', 'w1x']],
      [questions[3]?.question, 3, [questions[3]?.question, 'w0', 'w1', 'w2', 'w3', 'w4']],
    ],
  );
  for (const { record, trajectory } of all) {
    for (const { page, sentence, title, text } of trajectory.loops.flatMap((loop) => loop.sentences)) {
      assert.equal(title, record?.pages[page]?.title);
      assert.equal(text, record?.pages[page]?.sentences[sentence]);
    }
  }
});

test('P91: budget and number of sentences are those of the trace, and --rows takes a part of the file', async () => {
  const out = await temporaryFolder();
  const args = [
    'trajectories',
    'run',
    await dataset(),
    '--agent',
    'chain',
    '--budget',
    '2',
    '--top',
    '4',
    '--rows',
    '1..3',
    '--format',
    'jsonl',
  ];
  const result = await hopgateJson([...args, '--out', out]);
  assert.deepEqual((result.counts as { questions: number }).questions, 2);
  const all = await collect(readRunQuestions(out));
  assert.deepEqual(
    all.map(({ trajectory }) => [trajectory.row, trajectory.loops.map(({ sentences }) => sentences.length)]),
    [
      [1, [4, 4]],
      [2, [4, 4]],
    ],
  );
  assert.deepEqual((await readdir(out)).toSorted(), ['manifest.json', 'quarantine.jsonl', 'records.jsonl', 'trajectories.jsonl']);
});

test('P92: what a run can cost at most is printed before it starts', async () => {
  const ran = await hopgate(['trajectories', 'run', await dataset(), '--agent', 'chain', '--out', await temporaryFolder()]);
  assert.equal(
    ran.stderr,
    'at most 6 loops and 18 sentences a question: a decider is called at most 6 times, and scores at most 18 pairs for each of its claims\n',
  );
});

test('follow-ups reach every row with their id', async () => {
  const twice = [questions[1], { ...questions[1], question: 'wb wc?' }, questions[2]];
  const out = await temporaryFolder();
  const args = ['trajectories', 'run', await dataset(twice), '--agent', 'scripted', '--followups', await followUps(), '--out', out];
  const { counts, warnings } = await hopgateJson(args);
  assert.equal((counts as { repeated_ids: number }).repeated_ids, 1);
  assert.equal((warnings as string[]).at(-1), '1 questions have an id that stood before; calibrate and replay ask for --repeats');
  const all = await collect(readRunQuestions(out));
  assert.deepEqual(
    all.map(({ trajectory }) => [trajectory.question_id, trajectory.row, trajectory.loops[0]?.query]),
    [
      ['q1', 0, questions[1]?.question],
      ['q1', 1, 'wb wc?'],
    ],
  );
});

test('a bad record is quarantined and the run goes on; --strict makes that exit 1', async () => {
  const broken = { ...questions[0], question: 7 };
  const file = await dataset([broken, ...questions.slice(1)]);
  const [lenient, strict] = [await temporaryFolder(), await temporaryFolder()];
  const result = await hopgateJson(['trajectories', 'run', file, '--agent', 'chain', '--out', lenient]);
  assert.deepEqual([result.quarantined, (result.counts as { questions: number }).questions], [{ bad_field: 1 }, 5]);
  const entry = JSON.parse(await readFile(join(lenient, 'quarantine.jsonl'), 'utf8')) as { row: number; field: string };
  assert.deepEqual([entry.row, entry.field], [0, 'question']);
  const ran = await hopgate(['trajectories', 'run', file, '--agent', 'chain', '--strict', '--quiet', '--out', strict]);
  assert.equal(ran.code, 1);
  assert.equal(ran.stderr, 'hopgate: --strict: 1 × bad_field (quarantine.jsonl lists them)\n');
});

test('bad usage is exit 2 with one message and leaves nothing that looks finished', async () => {
  const [file, given] = [await dataset(), await followUps()];
  const noContext = await dataset(questions.map(({ _id, question }) => ({ _id, question, context: [], supporting_facts: [] })));
  const strangers = await temporaryFile('other.jsonl', lines([{ question_id: 'x', followups: ['y'] }]));
  const cases: [string[], string][] = [
    [[file, '--agent', 'scripted'], '--followups: expected a file of follow-ups for --agent scripted'],
    [[file, '--agent', 'chain', '--followups', given], '--followups: of no use with --agent chain'],
    [[file, '--agent', 'chain', '--budget', '0'], '--budget: got 0, expected a whole number of at least 1'],
    [[file, '--agent', 'chain', '--top', 'many'], '--top: got "many", expected a number'],
    [[file, '--agent', 'chain', '--b', '2'], '--b: got 2, expected a number in [0, 1]'],
    [[file, '--agent', 'chain', '--k1', '-1'], '--k1: got -1, expected a number of at least 0'],
    [
      [file, '--agent', 'chain', '--rows', '4..2'],
      '--rows: got "4..2", expected a..b with a < b (rows a to b − 1, counted from 0), a.. or ..b',
    ],
    [[file, '--agent', 'chain', '--rows', '100..'], `${file}: no usable record in --rows`],
    [
      [noContext, '--agent', 'chain'],
      'none of the 6 questions comes with pages to search in; --retriever with a corpus searches outside them',
    ],
    [[file, '--agent', 'scripted', '--followups', strangers], `${file}: none of the 6 questions has follow-ups in the file of --followups`],
    [[`${file}.missing`, '--agent', 'chain'], `${file}.missing: no such file`],
  ];
  await Promise.all(
    cases.map(async ([args, message]) => {
      const out = await temporaryFolder();
      const ran = await hopgate(['trajectories', 'run', ...args, '--quiet', '--out', out]);
      assert.deepEqual([ran.code, ran.stdout, ran.stderr], [2, '', `hopgate: ${message}\n`], args.join(' '));
      assert.deepEqual(await readdir(out).catch(() => []), []);
    }),
  );
  const ran = await hopgate(['trajectories', 'run', file, '--agent', 'chain']);
  assert.deepEqual([ran.code, ran.stderr], [2, 'hopgate: --out: expected the folder that the result goes to\n']);
});

test('killed ten times at drawn moments, trajectories run goes on with --resume to the bytes of an undisturbed run', async (t) => {
  const file = await dataset(hotpotqaQuestions(2500));
  await assertSurvivesKills(t, ['trajectories', 'run', file, '--agent', 'chain', '--quiet']);
});

test('resuming a finished run does nothing and says the same', async () => {
  const args = ['trajectories', 'run', await dataset(hotpotqaQuestions(30)), '--agent', 'chain', '--out', await temporaryFolder()];
  const first = await hopgateJson(args);
  assert.deepEqual(await hopgateJson([...args, '--resume']), first);
});

test('696 of the 800 HotpotQA questions have follow-ups, the other 104 are left out', async (t) => {
  const data = dataOrSkip(t);
  if (data === undefined) return;
  const out = await temporaryFolder();
  const args = ['trajectories', 'run', join(data, 'hotpotqa_train_800.json'), '--agent', 'scripted'];
  const { counts } = await hopgateJson([...args, '--followups', join(data, 'followups_hotpotqa.jsonl'), '--out', out]);
  const { questions: n, without_follow_ups } = counts as { [name: string]: number };
  assert.deepEqual([n, without_follow_ups], [696, 104]);
});

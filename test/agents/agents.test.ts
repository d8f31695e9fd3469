import assert from 'node:assert/strict';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  type Agent,
  type LoopOptions,
  chainAgent,
  readFollowUps,
  scriptedAgent,
  searchLoops,
  searchQuestion,
} from '../../src/agents/index.js';
import type { HopRecord } from '../../src/core/records.js';
import type { Loop } from '../../src/core/trajectories.js';
import { bm25Index, sentencePool } from '../../src/retrieval/index.js';
import { recordOf } from '../support/trajectories.js';

const record = recordOf(
  [
    ['Mona Ray', 'Mona Ray is a singer.', 'She was born in Tarn.'],
    ['Tarn', 'Tarn is a town in Elland.', 'It has a mill.'],
    ['Elland', 'Elland is a country.', 'Its capital is Orr.'],
  ],
  { question: 'In which country was the singer Mona Ray born?' },
);

async function loopsOf(agent: Agent, options: LoopOptions = {}, of: HopRecord = record): Promise<Loop[]> {
  return (await searchQuestion(agent, { record: of, retriever: bm25Index(sentencePool(of)), ...options })).loops;
}

test('the scripted agent asks the question, then the follow-ups as written, and stops with no_follow_up', async () => {
  const loops = await loopsOf(scriptedAgent(['Where was Mona Ray born?', ' Tarn  town ']), { top: 1 });
  assert.deepEqual(
    loops.map(({ loop, query, stop_reason, sentences }) => [loop, query, stop_reason, sentences.map(({ text }) => text)]),
    [
      [1, record.question, null, ['She was born in Tarn.']],
      [2, 'Where was Mona Ray born?', null, ['Mona Ray is a singer.']],
      [3, ' Tarn  town ', 'no_follow_up', ['Tarn is a town in Elland.']],
    ],
  );
});

test('P91: the budget that is asked for is the longest trajectory there is, and P88: a cut-off one says so', async () => {
  const many = scriptedAgent(Array.from({ length: 9 }, (_, at) => `follow-up ${at}`));
  for (const budget of [1, 2, 6]) {
    const loops = await loopsOf(many, { budget, top: 1 });
    assert.equal(loops.length, budget);
    assert.deepEqual(
      loops.map(({ stop_reason }) => stop_reason),
      [...Array.from({ length: budget - 1 }, () => null), 'budget'],
    );
  }
  // A script that ends exactly at the budget was not cut off.
  assert.equal((await loopsOf(scriptedAgent(['a', 'b']), { budget: 3 })).at(-1)?.stop_reason, 'no_follow_up');
});

test('a sentence already retrieved is passed over; with `repeat` it takes its place again and adds nothing', async () => {
  const texts = (loops: readonly Loop[]): string[][] => loops.map(({ sentences }) => sentences.map(({ text }) => text));
  const twice = scriptedAgent([record.question]);
  const passed = texts(await loopsOf(twice, { top: 2 }));
  assert.equal(new Set(passed.flat()).size, 4);
  const repeated = texts(await loopsOf(twice, { top: 2, repeat: true }));
  assert.deepEqual(repeated, [passed[0], []]);
});

test('a pool that runs out gives loops with fewer sentences, then none', async () => {
  const small = recordOf([['T', 'one', 'two']], { question: 'one' });
  const loops = await loopsOf(scriptedAgent(['two', 'three']), { top: 3 }, small);
  assert.deepEqual(
    loops.map(({ sentences }) => sentences.length),
    [2, 0, 0],
  );
});

test('the chain agent expands the question with new pages and the words not found yet', async () => {
  const loops = await loopsOf(chainAgent(), { top: 1 });
  assert.deepEqual(
    loops.slice(0, 3).map(({ query }) => query),
    [
      record.question,
      // Retrieved: "She was born in Tarn." of the page Mona Ray, which leaves these words of the question.
      `${record.question} Mona Ray which country the singer`,
      // Retrieved as well: "Mona Ray is a singer." of the same page, so no new title.
      `${record.question} which country the`,
    ],
  );
});

test('the chain agent stops when it would ask what it has asked, and when a loop brought nothing', async () => {
  const alike = recordOf([['T', 'x one', 'x two', 'x three', 'x four']], { question: 'x' });
  const same = await loopsOf(chainAgent(), { top: 1 }, alike);
  assert.deepEqual(
    same.map(({ query, stop_reason }) => [query, stop_reason]),
    [
      ['x', null],
      ['x T', 'no_follow_up'],
    ],
  );
  const empty = await loopsOf(chainAgent(), {}, recordOf([]));
  assert.deepEqual(
    empty.map(({ sentences, stop_reason }) => [sentences, stop_reason]),
    [[[], 'no_follow_up']],
  );
});

test('neither agent reads the gold labels: other answers and supporting facts give the same loops', async () => {
  const other = { ...record, answer: 'Elland', supporting: [{ title: 'Elland', page: 2, sentence: 0 }] };
  for (const agent of [chainAgent(), scriptedAgent(['Tarn'])]) assert.deepEqual(await loopsOf(agent, {}, other), await loopsOf(agent));
});

test('a budget or a number of sentences below one is refused, and an abort stops between loops', async () => {
  await assert.rejects(loopsOf(chainAgent(), { budget: 0 }), { message: 'budget: got 0, expected an integer of at least 1' });
  await assert.rejects(loopsOf(chainAgent(), { top: 0 }), { message: 'top: got 0, expected an integer of at least 1' });
  const abort = new AbortController();
  const loops = searchLoops(chainAgent(), { record, retriever: bm25Index(sentencePool(record)), signal: abort.signal });
  await loops.next();
  abort.abort();
  await assert.rejects(loops.next(), { name: 'AbortError' });
});

async function followUpFile(...lines: string[]): Promise<string> {
  const file = join(await mkdtemp(join(tmpdir(), 'hopgate-')), 'followups.jsonl');
  await writeFile(file, lines.map((line) => `${line}\n`).join(''));
  return file;
}

test('follow-ups are read by question with their sources; lines that repeat have to agree', async () => {
  const one = '{"question_id":"a","followups":["x","y"],"source":"llm","dataset":"2wiki"}';
  const { byQuestion, sources } = await readFollowUps(await followUpFile(one, '', one, '{"question_id":"b","followups":[]}'));
  assert.deepEqual(
    [...byQuestion],
    [
      ['a', ['x', 'y']],
      ['b', []],
    ],
  );
  assert.deepEqual(sources, ['llm']);
  const cases: [string[], string][] = [
    [
      ['{"question_id":"a","followups":["x"]}', '{"question_id":"a","followups":["y"]}'],
      ', line 2, question "a": other follow-ups than on an earlier line for the same question',
    ],
    [['{"question_id":"a","followups":["x"," "]}'], ', line 1, field followups.1: got an empty query, expected text'],
    [['{"question_id":"a"}'], ', line 1, field followups: Invalid input: expected array, received undefined'],
    [['[1'], ', line 1: got "[1", expected one JSON object'],
    [[], ': no follow-ups in this file'],
  ];
  for (const [lines, message] of cases) {
    const file = await followUpFile(...lines);
    await assert.rejects(readFollowUps(file), { name: 'InputError', message: file + message });
  }
});

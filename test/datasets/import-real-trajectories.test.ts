import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { answerColumns } from '../../src/core/agent-answers.js';
import { readManifest } from '../../src/core/manifest.js';
import { readRunQuestions } from '../../src/core/run-questions.js';
import { collect, readTable } from '../../src/core/tables.js';
import { hopgateJson } from '../support/cli.js';
import { dataOrSkip } from '../support/data.js';
import { temporaryFolder } from '../support/files.js';

test('the 500 real R1-Searcher trajectories give the loops, documents and questions without search of an independent count', async (t) => {
  const data = dataOrSkip(t);
  if (data === undefined) return;
  const file = join(data, 'trajectories_r1searcher_hotpotqa.jsonl');
  const out = await temporaryFolder();
  const result = await hopgateJson(['trajectories', 'import', file, '--format', 'r1-searcher', '--out', out]);

  // By cutting the text at the opening mark and counting the lines that begin with a number and a title; no reader of the product is used.
  const texts = (await readFile(file, 'utf8'))
    .trim()
    .split('\n')
    .map((line) => (JSON.parse(line) as { gen_text_store: string }).gen_text_store);
  const blocks = texts.map((text) => text.split('<|begin_of_documents|>').slice(1));
  const perLoop = blocks.map((all) =>
    all.map(
      (one) =>
        one
          .split('<|end_of_documents|>')[0]
          ?.split('\n')
          .filter((line) => /^\(\d\)"?Title: /.test(line)).length ?? 0,
    ),
  );
  assert.equal(result.questions, texts.length);
  assert.equal(result.loops, blocks.flat().length);
  assert.equal(
    result.documents,
    perLoop.flat().reduce((sum, n) => sum + n, 0),
  );
  const counts = result.counts as { without_search: number };
  assert.equal(counts.without_search, blocks.filter((one) => one.length === 0).length);
  assert.deepEqual(result.quarantined, {});

  // Loops of every question; a document met before brings no page, so that pages are at most documents.
  const questions = await collect(readRunQuestions(out));
  const searched = perLoop.flatMap((one, row) => (one.length > 0 ? [{ row, loops: one.length }] : []));
  assert.deepEqual(
    questions.map(({ trajectory }) => ({ row: trajectory.row, loops: trajectory.loops.length })),
    searched,
  );
  for (const { record, trajectory } of questions) {
    const lines = (blocks[trajectory.row] ?? []).flatMap((one) => one.split('<|end_of_documents|>')[0]?.split('\n') ?? []);
    const distinct = new Set(lines.filter((line) => /^\(\d\)"?Title: /.test(line)).map((line) => line.slice(3)));
    assert.equal(record?.pages.length, distinct.size);
    assert.equal(trajectory.loops.at(-1)?.stop_reason, 'answered');
  }
  const answers = await collect(readTable(out, await readManifest(out), 'answers', answerColumns));
  assert.equal(answers.length, 500);
  assert.equal(answers[20]?.answer, 'Neymar');
  assert.equal(answers[20]?.transcript, texts[20]);
});

test('an imported run goes through claims, embed and decide as any other', async (t) => {
  const data = dataOrSkip(t);
  if (data === undefined) return;
  const run = await temporaryFolder();
  const result = await hopgateJson([
    'trajectories',
    'import',
    join(data, 'trajectories_r1searcher_hotpotqa.jsonl'),
    '--format',
    'r1-searcher',
    '--questions',
    join(data, 'hotpotqa_dev_100.json'),
    '--out',
    run,
  ]);
  // python3: five of the 500 questions are among the hundred.
  assert.equal(result.questions, 5);
  assert.deepEqual(result.quarantined, { unknown_question: 495 });
  const { gold } = result.counts as { gold: { [outcome: string]: number } };
  assert.equal(
    Object.values(gold).reduce((sum, n) => sum + n, 0),
    5,
  );
  assert.equal(gold.none, undefined);
  const claims = join(run, 'claims', 'gold');
  await hopgateJson(['claims', 'build', run, '--source', 'gold', '--allow-missing-gold', '--out', claims]);
  const decided = await hopgateJson(['decide', run, '--decider', 'gold']);
  assert.equal((decided.counts as { questions: number }).questions, 5);
  const embedded = await hopgateJson(['embed', run, '--encoder', 'minilm']);
  assert.ok((embedded.counts as { rows: number }).rows > 0);
  // What is covered was retrieved: every gold sentence that a record names is a sentence of a loop.
  for (const { record, trajectory } of await collect(readRunQuestions(run))) {
    for (const { page, sentence, title } of record?.supporting ?? []) {
      if (page === null) continue;
      const at = trajectory.loops.flatMap((loop) => loop.sentences).find((one) => one.page === page && one.sentence === sentence);
      assert.equal(at?.title, title);
    }
  }
});

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { type Journal, openJournal } from '../../src/core/journal.js';
import { type FailedQuestionsError, type QuestionWorkOptions, questionWork } from '../../src/core/question-work.js';
import { collect } from '../../src/core/tables.js';
import { temporaryFolder } from '../support/files.js';

interface Done {
  question_id: string;
  row: number;
  n: number;
}

const questions = Array.from({ length: 40 }, (_, row) => ({ question_id: `q${row}`, row }));
type Question = (typeof questions)[number];

test('questions come back in their order, with no more than the concurrency at work, whatever order they end in', async () => {
  let [now, most] = [0, 0];
  const work = async ({ question_id, row }: Question): Promise<Done> => {
    most = Math.max(most, ++now);
    await wait((row * 7) % 5);
    now--;
    return { question_id, row, n: row * 2 };
  };
  for (const concurrency of [1, 4]) {
    most = 0;
    const entries = await collect(questionWork(questions, await options({ work, concurrency })));
    assert.deepEqual(
      entries.map(({ entry }) => entry.n),
      questions.map(({ row }) => row * 2),
    );
    assert.equal(most, concurrency);
  }
});

test('a question that fails on its own harms no other, is named at the end, and is all that is done again', async () => {
  const file = join(await temporaryFolder(), 'journal');
  const asked: number[] = [];
  const failing = async ({ question_id, row }: Question): Promise<Done> => {
    asked.push(row);
    if (row % 10 === 3) throw new TypeError(`no answer ${row}`);
    return { question_id, row, n: row };
  };
  const failed = (error: unknown): boolean => error instanceof TypeError;
  const rows: number[] = [];
  await assert.rejects(
    async () => {
      for await (const { entry } of questionWork(questions, await options({ work: failing, failed, concurrency: 3 }, file)))
        rows.push(entry.row);
    },
    (error: FailedQuestionsError) => {
      assert.equal(
        error.message,
        '4 of 40 questions failed; the others are kept, and the same command with --resume tries the failed ones again (question "q3": no answer 3)',
      );
      assert.deepEqual(
        error.failures.map(({ row }) => row),
        [3, 13, 23, 33],
      );
      return true;
    },
  );
  assert.equal(rows.length, 36);
  asked.length = 0;
  const work = async ({ question_id, row }: Question): Promise<Done> => {
    asked.push(row);
    return { question_id, row, n: row };
  };
  assert.equal((await collect(questionWork(questions, await options({ work, concurrency: 3 }, file)))).length, 40);
  assert.deepEqual(asked, [3, 13, 23, 33]);
});

test('any other error ends the run: what was begun is ended by the signal, and nothing is begun after it', async () => {
  const begun: number[] = [];
  const work = async ({ question_id, row }: Question, signal: AbortSignal): Promise<Done> => {
    begun.push(row);
    if (row === 5) throw new RangeError('broken');
    await wait(row === 4 ? 10_000 : 1, undefined, { signal });
    return { question_id, row, n: row };
  };
  await assert.rejects(async () => collect(questionWork(questions, await options({ work, concurrency: 2 }))), /^RangeError: broken$/);
  assert.deepEqual(begun, [0, 1, 2, 3, 4, 5]);
});

test('a reader that stops early, or an abort from outside, leaves no work running', async () => {
  let now = 0;
  const work = async ({ question_id, row }: Question, signal: AbortSignal): Promise<Done> => {
    now++;
    try {
      await wait(row < 2 ? 1 : 10_000, undefined, { signal });
    } finally {
      now--;
    }
    return { question_id, row, n: row };
  };
  for await (const { entry } of questionWork(questions.slice(0, 4), await options({ work, concurrency: 4 }))) {
    assert.equal(entry.row, 0);
    break;
  }
  assert.equal(now, 0);
  const abort = new AbortController();
  setTimeout(() => abort.abort(new Error('enough')), 20);
  await assert.rejects(
    async () => collect(questionWork(questions, await options({ work, concurrency: 4, signal: abort.signal }))),
    /enough|aborted/,
  );
  assert.equal(now, 0);
});

async function options(
  more: Pick<QuestionWorkOptions<Question, Done>, 'work' | 'concurrency' | 'failed' | 'signal'>,
  file?: string,
): Promise<QuestionWorkOptions<Question, Done>> {
  const journal: Journal<Done> = await openJournal(file ?? join(await temporaryFolder(), 'journal'), (value) => value as Done);
  return { journal, keyOf: (question) => question, ...more };
}

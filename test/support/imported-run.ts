import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { answerColumns } from '../../src/core/agent-answers.js';
import { readRunQuestions } from '../../src/core/run-questions.js';
import { collect, readTable } from '../../src/core/tables.js';
import { type TrajectoryFormat, importTrajectories, openRecords } from '../../datasets/index.js';
import { temporaryFile, temporaryFolder } from './files.js';

/** Imports rows, or a file's text, and reads back everything that the run folder holds. */
export async function imported(rows: readonly unknown[] | string, format: TrajectoryFormat, more: { questions?: string } = {}) {
  const file = await temporaryFile(
    'trajectories.jsonl',
    typeof rows === 'string' ? rows : rows.map((one) => `${JSON.stringify(one)}\n`).join(''),
  );
  const out = await temporaryFolder();
  const questions = more.questions === undefined ? undefined : await openRecords(more.questions);
  const manifest = await importTrajectories(file, { out, format, questions });
  const quarantine = (await readFile(join(out, 'quarantine.jsonl'), 'utf8'))
    .split('\n')
    .filter((one) => one !== '')
    .map((one) => JSON.parse(one) as { action: string; reason: string; row: number; detail: string });
  const answers = await collect(readTable(out, manifest, 'answers', answerColumns));
  return { out, manifest, quarantine, answers, questions: await collect(readRunQuestions(out)) };
}

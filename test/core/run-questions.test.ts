import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openOutputFolder } from '../../src/core/output-folder.js';
import { type HopRecord, recordColumns } from '../../src/core/records.js';
import { readRunQuestions } from '../../src/core/run-questions.js';
import { collect } from '../../src/core/tables.js';
import { groupTrajectories, trajectoryColumns } from '../../src/core/trajectories.js';
import { temporaryFolder } from '../support/files.js';
import { recordOf, trajectoryOf } from '../support/trajectories.js';

const record = (id: string, row: number): HopRecord => recordOf([['T', 's']], { question_id: id, row });
const trajectories = [trajectoryOf([[[0, 0]], []], 'a', 0), trajectoryOf([[]], 'a', 2)];

async function runWith(records: readonly HopRecord[] | null): Promise<string> {
  const dir = await temporaryFolder();
  const out = await openOutputFolder({ dir, kind: 'trajectories', command: 'test', options: {}, seed: 13, inputs: [] });
  await out.table(
    'trajectories',
    trajectoryColumns,
    trajectories.flatMap(({ loops }) => loops),
    'arrow',
  );
  if (records) await out.table('records', recordColumns, records, 'arrow');
  await out.finish({ counts: {} });
  return dir;
}

test('each trajectory comes with the record of its own row, also where ids repeat and records without a loop lie between', async () => {
  const records = [record('a', 0), record('b', 1), record('a', 2)];
  const all = await collect(readRunQuestions(await runWith(records)));
  assert.deepEqual(all, [
    { record: records[0], trajectory: trajectories[0] },
    { record: records[2], trajectory: trajectories[1] },
  ]);
});

test('a run without records gives trajectories alone; one whose records lack a trajectory is refused', async () => {
  assert.deepEqual(
    (await collect(readRunQuestions(await runWith(null)))).map((one) => one.record),
    [null, null],
  );
  const torn = await runWith([record('a', 0), record('b', 2)]);
  await assert.rejects(collect(readRunQuestions(torn)), {
    name: 'InputError',
    message: `${torn}, row 2, question "a": no record for this trajectory in the records table, or not in the same order`,
  });
});

test('P7: two questions of one row and id are not read as one, nor a trajectory without its first loop', async () => {
  const loops = (trajectories[0] as (typeof trajectories)[number]).loops;
  await assert.rejects(collect(groupTrajectories([...loops, ...loops])), {
    name: 'InputError',
    message: 'row 0, question "a": got loop 1, expected loop 3 of this question',
  });
  await assert.rejects(collect(groupTrajectories(loops.slice(1))), {
    name: 'InputError',
    message: 'row 0, question "a": got loop 2, expected loop 1 of this question',
  });
});

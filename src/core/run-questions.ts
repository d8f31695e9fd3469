import { InputError } from './errors.js';
import { type Manifest, readManifest } from './manifest.js';
import { type HopRecord, recordColumns } from './records.js';
import { readTable } from './tables.js';
import { type Trajectory, groupTrajectories, trajectoryColumns } from './trajectories.js';

/** One question of a run: its trajectory and, where the run has a `records` table, the record that it was made from. */
export interface RunQuestion {
  record: HopRecord | null;
  trajectory: Trajectory;
}

/**
 * The questions of a finished run in the order of its trajectories, read as a stream. Imported trajectories may come without records; then
 * every `record` is null. Throws InputError when a trajectory has no record although the table exists.
 */
export async function* readRunQuestions(run: string, manifest?: Manifest): AsyncGenerator<RunQuestion> {
  const known = manifest ?? (await readManifest(run, 'trajectories'));
  const trajectories = groupTrajectories(readTable(run, known, 'trajectories', trajectoryColumns));
  const hasRecords = known.outputs.some((one) => /^records\.(arrow|jsonl)$/.test(one.name));
  if (!hasRecords) {
    for await (const trajectory of trajectories) yield { record: null, trajectory };
    return;
  }
  const records = readTable(run, known, 'records', recordColumns);
  try {
    for await (const trajectory of trajectories) {
      // Both tables stand in the order of the source file; a record without a loop is passed over.
      for (;;) {
        const next = await records.next();
        if (next.done) {
          throw new InputError('no record for this trajectory in the records table, or not in the same order', {
            file: run,
            row: trajectory.row,
            questionId: trajectory.question_id,
          });
        }
        if (next.value.row === trajectory.row && next.value.question_id === trajectory.question_id) {
          yield { record: next.value, trajectory };
          break;
        }
      }
    }
  } finally {
    await records.return(undefined);
  }
}

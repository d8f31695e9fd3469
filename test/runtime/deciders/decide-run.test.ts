import assert from 'node:assert/strict';
import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { DEFAULT_SCAN, type Decider, decideRun, openVerdicts, scanTrajectory } from '../../../runtime/index.js';
import { type OutputFolder, openOutputFolder } from '../../../src/core/output-folder.js';
import type { RunQuestion } from '../../../src/core/run-questions.js';
import { collect } from '../../../src/core/tables.js';
import { decidedColumns, verdictColumns } from '../../../src/core/verdicts.js';
import { temporaryFolder } from '../../support/files.js';
import { trajectoryOf } from '../../support/trajectories.js';

/** Two claims, matched by sentences 1 and 3 of page 0. Counts its calls and fails at one of them when told to. */
function countingDecider(failAt = Infinity): Decider & { calls: () => number } {
  let calls = 0;
  return {
    name: 'counting',
    identity: { decider: 'counting' },
    readsClaims: false,
    scan: DEFAULT_SCAN,
    calls: () => calls,
    decide: async ({ trajectory }) => {
      if (++calls === failAt) throw new Error('the power went off');
      if (trajectory.row === 5) return { excluded: 'not today' };
      if (trajectory.row === 6) return { claims: 0, noClaims: 'nothing to claim', verdicts: [] };
      const scores = { lp_match: null, lp_partial: null, lp_null: null };
      const verdicts = await scanTrajectory(trajectory, 2, (claim, { sentence }) => ({
        ...scores,
        p: sentence === 2 * claim + 1 ? 0.9 : 0.1,
      }));
      return { claims: 2, verdicts };
    },
  };
}

async function* questions(): AsyncGenerator<RunQuestion> {
  for (let row = 0; row < 8; row++)
    yield {
      record: null,
      trajectory: trajectoryOf(
        [
          [
            [0, 0],
            [0, 1],
          ],
          [[0, 3 + row - (row % 4)]],
        ],
        `q${row}`,
        row,
      ),
    };
}

const opened = (dir: string, resume = false): Promise<OutputFolder> =>
  openOutputFolder({ dir, kind: 'verdicts', command: 'decide', options: {}, seed: 13, inputs: [], resume });

const details = {
  name: 'mine',
  decider: { decider: 'counting' },
  dataset: 'hotpotqa',
  claims: null,
  scan: { threshold: { pAtLeast: 0.5, marginAbove: 0 }, allPairs: false },
};

async function decideInto(dir: string, decider: Decider, resume = false): Promise<void> {
  const out = await opened(dir, resume);
  const counts = await decideRun(out, questions(), decider, { name: 'mine', format: 'arrow', total: 8 });
  await out.finish({ counts: { ...counts }, details });
}

test('an interrupted decide goes on behind the last decided question and ends with the same bytes', async () => {
  const [whole, torn] = [await temporaryFolder(), await temporaryFolder()];
  await decideInto(whole, countingDecider());
  const failing = countingDecider(5);
  await assert.rejects(decideInto(torn, failing), { message: 'the power went off' });
  assert.ok(!(await readdir(torn)).includes('manifest.json'));
  const second = countingDecider();
  await decideInto(torn, second, true);
  // Four questions were in the journal.
  assert.deepEqual([failing.calls(), second.calls()], [5, 4]);
  for (const name of await readdir(whole)) assert.ok((await readFile(join(torn, name))).equals(await readFile(join(whole, name))), name);
});

test('counts tell fires by loop, questions without claims and excluded ones, each by reason', async () => {
  const dir = await temporaryFolder();
  const out = await opened(dir);
  const counts = await decideRun(out, questions(), countingDecider(), { name: 'mine', format: 'jsonl', total: 8 });
  assert.deepEqual(counts, {
    questions: 7,
    loops: 14,
    // Loop 1: two sentences for each of two claims; loop 2: one sentence for the claim that is left. Six questions with claims.
    pairs: 30,
    claims: 12,
    // Rows 0 to 3 bring sentence 3 at loop 2; rows 4 and 7 bring sentence 7.
    fires: { 2: 4 },
    never_fires: 3,
    without_claims: { 'nothing to claim': 1 },
    excluded: { 'not today': 1 },
    // Each of the four at loop 2 alone.
    firing_loops: 4,
  });
  await out.finish({ counts: { ...counts }, details });
  const stored = await openVerdicts(dir);
  assert.equal(stored.details.name, 'mine');
  const all = await collect(stored.questions());
  assert.deepEqual(
    all.map(({ question, rows }) => [question.row, question.claims, rows.length, rows.every((one) => one.decider === 'mine')]),
    [0, 1, 2, 3, 4, 6, 7].map((row) => [row, row === 6 ? 0 : 2, row === 6 ? 0 : 5, true]),
  );
});

test('verdicts whose rows do not follow their questions, or without their details, are refused', async () => {
  const row = {
    question_id: 'b',
    row: 1,
    loop: 1,
    decider: 'd',
    claim: null,
    page: null,
    sentence: null,
    lp_match: null,
    lp_partial: null,
    lp_null: null,
    p: 1,
  };
  const [strange, bare] = [await temporaryFolder(), await temporaryFolder()];
  for (const dir of [strange, bare]) {
    const out = await opened(dir);
    await out.table('verdicts', verdictColumns, [row], 'jsonl');
    await out.table('questions', decidedColumns, [{ question_id: 'a', row: 0, loops: 1, claims: null }], 'jsonl');
    await out.finish({ counts: {}, details: dir === strange ? details : {} });
  }
  await assert.rejects(async () => collect((await openVerdicts(strange)).questions()), {
    message: `${strange}, row 1, question "b": a verdict of a question that is not in the questions table, or not in its order`,
  });
  await assert.rejects(openVerdicts(bare), {
    message: `${bare}, field details.name: Invalid input: expected string, received undefined`,
  });
});

import assert from 'node:assert/strict';
import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { openVectors } from '../../runtime/index.js';
import { claimColumns } from '../../src/core/claims.js';
import { readManifest } from '../../src/core/manifest.js';
import { runFolder } from '../../src/core/run-folder.js';
import { collect, readTable } from '../../src/core/tables.js';
import { trajectoryColumns } from '../../src/core/trajectories.js';
import { roundMargin } from '../../src/core/units.js';
import { probeSignature } from '../../src/core/embeddings.js';
import { joinRuns } from '../../src/evaluate/join-runs.js';
import { type LoadedRun, loadRun } from '../../src/evaluate/load-run.js';
import { noExclusions } from '../../src/evaluate/question-run.js';
import { hopgateJson } from '../support/cli.js';
import { temporaryFile, temporaryFolder } from '../support/files.js';
import { hotpotqaQuestions } from '../support/hotpotqa-file.js';
import { embedWithWords, smallRun } from '../support/small-run.js';
import { question } from './question-runs.js';

let folder: string;
let loaded: LoadedRun;

before(async () => {
  folder = await smallRun('hotpotqa', 0, 40);
  loaded = await loadRun(folder, { decider: 'gold', claims: 'gold', encoder: 'words' });
});

test('margins are one minus the best cosine so far of the least covered claim, computed the long way', async () => {
  const claims = await collect(
    readTable(runFolder.claims(folder, 'gold'), await readManifest(runFolder.claims(folder, 'gold')), 'claims', claimColumns),
  );
  const loops = await collect(readTable(folder, await readManifest(folder), 'trajectories', trajectoryColumns));
  const vectors = await openVectors(runFolder.embeddings(folder, 'words'));
  const dot = (a: Float32Array, b: Float32Array): number => a.reduce((sum, value, at) => sum + value * (b[at] as number), 0);
  for (const { row, margins, claims: k } of loaded.questions) {
    const own = claims.filter((one) => one.row === row);
    assert.equal(own.length, k);
    for (let loop = 1; loop <= margins.length; loop++) {
      const seen = loops.filter((one) => one.row === row && one.loop <= loop).flatMap((one) => one.sentences);
      const cosines = own.map((claim) =>
        Math.max(...seen.map(({ title, text }) => dot(vectors.get('query', claim.page), vectors.get('passage', `${title}. ${text}`)))),
      );
      assert.equal(margins[loop - 1], roundMargin(1 - Math.min(...cosines)));
    }
  }
});

test('the gold decider first fires at the gold loop, read from the records', () => {
  assert.equal(loaded.questions.length, 40);
  for (const { fires, goldLoop } of loaded.questions) {
    const first = fires.indexOf(true) + 1;
    assert.equal(goldLoop, first === 0 ? Infinity : first);
  }
});

test('any-match takes the smallest claim margin and the first match', async () => {
  const any = await loadRun(folder, { decider: 'gold', claims: 'gold', encoder: 'words', policy: 'any_match' });
  for (const [at, one] of any.questions.entries()) {
    const all = loaded.questions[at] as (typeof loaded.questions)[number];
    assert.deepEqual(one.fires, all.firesBy?.any_match);
    const least = all.margins.map((_, loop) => Math.min(...(all.claimMargins ?? []).map((margins) => margins[loop] as number)));
    assert.deepEqual(one.margins, least);
  }
});

test('a text that was not embedded is named', async () => {
  await assert.rejects(loadRun(folder, { decider: 'gold', claims: 'gold', encoder: 'words', claimText: 'title+claim' }), {
    name: 'InputError',
    message: /embeddings\/words: no vector of the query ".*: embed it with "hopgate embed RUN --encoder words"/,
  });
});

function run(changes: Partial<LoadedRun> = {}): LoadedRun {
  return {
    ...loaded,
    questions: [question([0.5], 'F', { id: 'a' }), question([0.4], '.', { id: 'b', row: 4 })],
    rows: 6,
    rowEnd: 6,
    ...changes,
  };
}

test('runs of one dataset are joined in the order given, rows counted on', () => {
  const second = run({
    questions: [question([0.3], 'F', { id: 'c', row: 2 })],
    rows: 3,
    rowEnd: 3,
    excluded: { ...noExclusions(), no_claims: 2 },
  });
  const { datasets } = joinRuns([run({ excluded: noExclusions() }), second]);
  assert.deepEqual(
    datasets[0]?.questions.map((one) => [one.id, one.row]),
    [
      ['a', 0],
      ['b', 4],
      ['c', 8],
    ],
  );
  assert.equal(datasets[0]?.rows, 9);
  assert.deepEqual(datasets[0]?.excluded, { no_claims: 2, no_loop: 0, undecided: 0, repeated: 0 });
});

test('runs are joined that two machines embedded by one server, whose figures differ a little, and no others', () => {
  const probed = (value: number): LoadedRun => {
    const encoder = { ...loaded.identity.encoder, model_sha256: probeSignature([Float32Array.from({ length: 16 }, () => value)]) };
    return run({ identity: { ...loaded.identity, encoder } });
  };
  // Each component differs by 0.0005 (tolerance 0.001), and by 0.01.
  assert.equal(joinRuns([probed(0.25), probed(0.2505)], 'first').datasets[0]?.questions.length, 2);
  assert.throws(() => joinRuns([probed(0.25), probed(0.26)], 'first'), /^InputError: encoder differs between the runs: /);
});

test('P7: repeated ids are refused until it is said what to do with them', () => {
  const second = run({ folder: 'second' });
  assert.throws(() => joinRuns([run(), second]), {
    name: 'InputError',
    message:
      '2 rows of hotpotqa repeat an earlier question id, the first "a" in row 0; say --repeats first (keep the first of each) or --repeats rows (keep all, intervals clustered by id)',
  });
  assert.equal(joinRuns([run(), second], 'first').datasets[0]?.questions.length, 2);
  assert.equal(joinRuns([run(), second], 'first').datasets[0]?.excluded.repeated, 2);
  assert.equal(joinRuns([run(), second], 'rows').datasets[0]?.questions.length, 4);
  // Equal ids of different datasets are different questions.
  assert.equal(joinRuns([run(), run({ dataset: '2wiki' })]).datasets.length, 2);
});

test('P31: runs of different encoders are not calibrated together', () => {
  const encoder = { ...loaded.identity.encoder, name: 'other' };
  assert.throws(() => joinRuns([run({ folder: 'a' }), run({ folder: 'b', dataset: '2wiki', identity: { ...loaded.identity, encoder } })]), {
    name: 'InputError',
    message:
      /^encoder differs between the runs: a has \{.*"name":"words".*\}, b has \{.*"name":"other".*\}; calibrate and replay need runs of one kind$/,
  });
});

test('P17: sentences of two splitters are not mixed, those that came with the data go with any', () => {
  const musique = run({ dataset: 'musique', splitter: 'sbd@1.0.19' });
  assert.deepEqual(joinRuns([run(), musique]).splitter, ['dataset', 'sbd@1.0.19']);
  assert.throws(() => joinRuns([musique, run({ dataset: 'bamboogle', splitter: 'sbd@1.0.18' })]), {
    name: 'InputError',
    message: "the runs' sentences were split by sbd@1.0.18 and sbd@1.0.19: one calibration has one splitter",
  });
});

test('claims and verdicts of another run are refused, and the command that makes them anew is named', async () => {
  // The same folder, run again with another top: its records are the same, its trajectories are not.
  const again = await smallRun('hotpotqa', 0, 40);
  const source = await temporaryFile('hotpotqa.json', JSON.stringify(hotpotqaQuestions(40)));
  await runUnder(again, source, ['--top', '1']);
  await assert.rejects(loadRun(again, { decider: 'gold', claims: 'gold', encoder: 'words' }), {
    name: 'InputError',
    message: `${runFolder.verdicts(again, 'gold')}: verdicts of another run: decided on other trajectories; decide again with "hopgate decide ${again} --decider gold --force"`,
  });
  // Other questions altogether: the claims are not theirs either.
  const others = await temporaryFile('hotpotqa.json', JSON.stringify(hotpotqaQuestions(50).slice(10)));
  await runUnder(again, others, []);
  await assert.rejects(loadRun(again, { decider: 'gold', claims: 'gold', encoder: 'words' }), {
    name: 'InputError',
    message: `${runFolder.claims(again, 'gold')}: claims of another run: built neither from this run's records nor from its source file; build them again with "hopgate claims build ${again} --source gold --force"`,
  });
  // Claims that were built from the source file itself are this run's.
  await hopgateJson([
    'claims',
    'build',
    others,
    '--dataset',
    'hotpotqa',
    '--source',
    'gold',
    '--out',
    runFolder.claims(again, 'gold'),
    '--force',
  ]);
  await hopgateJson(['decide', again, '--decider', 'gold', '--force']);
  await embedWithWords(again, 'words2');
  assert.equal((await loadRun(again, { decider: 'gold', claims: 'gold', encoder: 'words2' })).questions.length, 40);
});

/** Runs the agent anew below claims, embeddings and verdicts that stay: what a copied folder is. `--force` alone would remove them. */
async function runUnder(run: string, source: string, flags: readonly string[]): Promise<void> {
  const derived = ['claims', 'embeddings', 'verdicts'];
  const aside = await temporaryFolder();
  for (const name of derived) await rename(join(run, name), join(aside, name));
  await hopgateJson(['trajectories', 'run', source, '--dataset', 'hotpotqa', '--agent', 'chain', ...flags, '--force', '--out', run]);
  for (const name of derived) await rename(join(aside, name), join(run, name));
}

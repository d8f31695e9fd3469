import assert from 'node:assert/strict';
import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { openVerdicts, questionVerdict } from '../../runtime/index.js';
import { goldLoop } from '../../src/core/coverage.js';
import { goldHops } from '../../src/core/gold-hops.js';
import { runFolder } from '../../src/core/run-folder.js';
import { type RunQuestion, readRunQuestions } from '../../src/core/run-questions.js';
import { collect } from '../../src/core/tables.js';
import { hopgate, hopgateJson } from '../support/cli.js';
import { temporaryFile, temporaryFolder } from '../support/files.js';
import { hotpotqaQuestions } from '../support/hotpotqa-file.js';

let run: string;
let questions: RunQuestion[];

before(async () => {
  run = await temporaryFolder();
  const file = await temporaryFile('small.json', JSON.stringify(hotpotqaQuestions(60)));
  await hopgateJson(['trajectories', 'run', file, '--agent', 'chain', '--out', run]);
  questions = await collect(readRunQuestions(run));
});

async function firesIn(folder: string): Promise<boolean[][]> {
  const { questions: decided, scan } = await openVerdicts(folder);
  return (await collect(decided())).map(({ question, rows }) => questionVerdict(question, rows, scan).firesByLoop);
}

const verdictFile = (of: (question: RunQuestion, loop: number) => object | undefined): Promise<string> =>
  temporaryFile(
    'verdicts.jsonl',
    questions
      .flatMap((one) => one.trajectory.loops.map(({ loop }) => of(one, loop)))
      .filter((one) => one !== undefined)
      .map((one) => `${JSON.stringify(one)}\n`)
      .join(''),
  );

test('gold verdicts stand beside the run and fire from the gold loop of every question on', async () => {
  const result = await hopgateJson(['decide', run, '--decider', 'gold']);
  const folder = runFolder.verdicts(run, 'gold');
  assert.equal(result.out, folder);
  // Coverage computed without any verdict row.
  const expected = questions.map(({ record, trajectory }) => {
    const loop = goldLoop(trajectory, record ? goldHops(record).hops : []) ?? Infinity;
    return trajectory.loops.map((one) => one.loop >= loop);
  });
  assert.deepEqual(await firesIn(folder), expected);
  const firsts = expected.map((fires) => fires.indexOf(true) + 1);
  const counts = result.counts as { questions: number; fires: { [loop: string]: number }; never_fires: number };
  assert.equal(counts.questions, 60);
  assert.equal(counts.never_fires, firsts.filter((loop) => loop === 0).length);
  for (let loop = 1; loop <= 6; loop++) assert.equal(counts.fires[loop] ?? 0, firsts.filter((one) => one === loop).length);
  // The decider is neither dead nor always on, so that the equality above says something (P93).
  assert.ok(counts.never_fires > 0 && counts.never_fires < 60);
  assert.deepEqual((await openVerdicts(folder)).details, {
    name: 'gold',
    decider: { decider: 'gold', diagnostic: true, covering: 'answer', support: 'any' },
    dataset: 'hotpotqa',
    claims: null,
    scan: { threshold: { pAtLeast: 0.5, marginAbove: 0 }, allPairs: false },
  });
});

test('a verdict file gives back its own rulings under a name of its own', async () => {
  const file = await verdictFile(({ trajectory }, loop) => ({
    question_id: trajectory.question_id,
    loop,
    covered: (trajectory.row + loop) % 3 === 0,
  }));
  const result = await hopgateJson(['decide', run, '--decider', 'file', '--verdicts', file, '--name', 'my-judge']);
  assert.equal(result.out, runFolder.verdicts(run, 'my-judge'));
  assert.deepEqual(
    await firesIn(runFolder.verdicts(run, 'my-judge')),
    questions.map(({ trajectory }) => trajectory.loops.map(({ loop }) => (trajectory.row + loop) % 3 === 0)),
  );
});

test('a verdict file with missing loops is exit 2 and names them; --skip-incomplete leaves the questions out, counted', async () => {
  const file = await verdictFile(({ trajectory }, loop) =>
    trajectory.row === 4 && loop === 2 ? undefined : { question_id: trajectory.question_id, loop, covered: false },
  );
  const loops = questions[4]?.trajectory.loops.length;
  const out = await temporaryFolder();
  const args = ['decide', run, '--decider', 'file', '--verdicts', file, '--quiet', '--out', out];
  const ran = await hopgate(args);
  assert.deepEqual(
    [ran.code, ran.stderr],
    [2, `hopgate: ${file}, row 4, question "q4": no verdict for loop 2 of ${loops}; --skip-incomplete leaves such questions out\n`],
  );
  assert.deepEqual(await readdir(out).catch(() => []), []);
  const result = await hopgateJson([...args, '--skip-incomplete']);
  const counts = result.counts as { questions: number; excluded: object };
  assert.deepEqual([counts.questions, counts.excluded], [59, { incomplete: 1 }]);
  assert.deepEqual(result.warnings, ['1 questions are left out: some of their loops have no verdict']);
});

test('two runs of the same command are byte-identical, and P92: the worst case is printed first', async () => {
  const [a, b] = [await temporaryFolder(), await temporaryFolder()];
  const ran = await hopgate(['decide', run, '--decider', 'gold', '--out', a]);
  const loops = questions.flatMap(({ trajectory }) => trajectory.loops);
  const sentences = loops.reduce((sum, one) => sum + one.sentences.length, 0);
  assert.equal(
    ran.stderr,
    `60 questions: at most ${loops.length} decider calls, and ${sentences} claim–sentence pairs for each claim a question has\n`,
  );
  await hopgateJson(['decide', run, '--decider', 'gold', '--out', b]);
  for (const name of await readdir(a)) assert.ok((await readFile(join(a, name))).equals(await readFile(join(b, name))), name);
});

test('bad usage is exit 2 with one message', async () => {
  const nothing = await temporaryFolder();
  const cases: [string[], string][] = [
    [[run, '--decider', 'file'], '--verdicts: expected a file of verdicts for --decider file'],
    [[run, '--decider', 'gold', '--verdicts', 'x'], '--verdicts: of no use with --decider gold'],
    [[run, '--decider', 'file', '--verdicts', 'x', '--support', 'all'], '--support: of no use with --decider file'],
    [
      [run, '--decider', 'gold', '--name', 'small'],
      `--name: got "small", which is another decider's; verdicts of --decider gold need a name of their own`,
    ],
    [[run, '--decider', 'gold', '--name', '../x'], '--name: got "../x", expected letters, digits, ".", "_" or "-"'],
    [[nothing, '--decider', 'gold'], `${nothing}: no manifest.json, so not a finished output folder of this product`],
  ];
  await Promise.all(
    cases.map(async ([args, message]) => {
      const ran = await hopgate(['decide', ...args]);
      assert.deepEqual([ran.code, ran.stderr], [2, `hopgate: ${message}\n`], args.join(' '));
    }),
  );
});

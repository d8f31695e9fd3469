import assert from 'node:assert/strict';
import { appendFile, readFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { readProfile } from '../../runtime/index.js';
import type { GateEvent, GateSettings } from '../../src/core/gate-log.js';
import { random } from '../../src/core/random.js';
import { roundMargin } from '../../src/core/units.js';
import { question } from '../evaluate/question-runs.js';
import { hopgate, hopgateJson } from '../support/cli.js';
import { temporaryFolder } from '../support/files.js';
import { gateHeader, loggedQuestion } from '../support/logged-questions.js';

let folder: string;
let log: string;

/** 60 questions of four loops whose margins fall, with a fire at one of them; a line a event. */
async function writeLog(file: string, seed: number, settings: Partial<GateSettings> = {}, label: string | null = null): Promise<string> {
  const draw = random(seed, 'gate log');
  const questions = Array.from({ length: 60 }, (_, row) => {
    const fire = draw.int(5);
    const margins = Array.from({ length: 4 }, (_unused, at) => roundMargin(0.9 - 0.2 * at + 0.3 * draw.float()));
    return question(margins, Array.from({ length: 4 }, (_unused, at) => (at === fire ? 'F' : '.')).join(''), { id: `${seed}-${row}`, row });
  });
  const events: GateEvent[] = [
    gateHeader(settings, { label }),
    ...questions.flatMap((one) => loggedQuestion(one, { session: `${seed}-${one.row}` })),
  ];
  await writeFile(file, events.map((one) => `${JSON.stringify(one)}\n`).join(''));
  return file;
}

before(async () => {
  folder = await temporaryFolder();
  log = await writeLog(join(folder, 'may.jsonl'), 1);
});

const out = async (): Promise<string> => join(await temporaryFolder(), 'out');

test('calibrate --from-log chooses τ from one log by folds, and says the cut as an interval, the reference, and what a guarantee takes', async () => {
  const dir = await out();
  const { code, stdout, stderr } = await hopgate(['calibrate', '--from-log', log, '--resamples', '100', '--out', dir]);
  assert.equal(code, 0, stderr);
  const profile = await readProfile(join(dir, 'profile.json'));
  assert.deepEqual([profile.mode, profile.trained_on, profile.safety_reference, profile.without_gold], ['k-fold', ['may'], 'none', true]);
  assert.deepEqual([profile.decider, profile.splitter, profile.claim_source], [
    { name: 'mine', identity: { decider: 'mine' }, claims: null },
    ['dataset', 'sbd@1.0.19'],
    'heuristic',
  ]); // prettier-ignore
  assert.equal(profile.datasets[0]?.training, 60);
  assert.equal(profile.first_margins?.datasets[0]?.questions, 60);
  assert.ok(profile.from_log);
  const { pessimistic, optimistic } = profile.from_log.call_cut;
  assert.ok(pessimistic < optimistic);
  for (const words of [
    'From gate logs, without gold labels: there is no reference for coverage safety, agreement alone decides.',
    `the call cut lies between ${pessimistic.toFixed(3)} (one call at every loop that nobody saw) and ${optimistic.toFixed(3)} (no further call).`,
    // ln 0.05 / ln 0.9 = 28.4, ln 0.1 / ln 0.9 = 21.9.
    'A guarantee of agreement ≥ 0.9 takes at least 29 at δ 0.05, 22 at δ 0.1: questions of the kind it is to hold for, all of which would have to agree; more where some do not.',
  ])
    assert.ok(stdout.includes(words), `${words}\n${stdout}`);
  assert.ok((await hopgate(['explain', dir])).stdout.includes('τ was chosen by the smaller cut'));
});

test('several logs are held out in turn, under the names given, with a guarantee; and the result is byte-identical', async () => {
  const other = await writeLog(join(folder, 'june.jsonl'), 2, {}, 'labelled');
  const args = ['calibrate', '--from-log', log, other, '--resamples', '100'];
  const [a, b, named] = [await out(), await out(), await out()];
  const result = await hopgateJson([...args, '--guarantee', '0.1', '--out', a]);
  await hopgateJson([...args, '--guarantee', '0.1', '--out', b]);
  for (const name of await readdir(a)) assert.equal(await readFile(join(a, name), 'utf8'), await readFile(join(b, name), 'utf8'), name);
  assert.deepEqual(
    [result.mode, (result.folds as { target: string }[]).map((one) => one.target)],
    ['leave-one-dataset-out', ['may', 'labelled']],
  );
  assert.equal((result.guarantee as { delta: number }).delta, 0.1);
  const joined = await hopgateJson([...args, '--dataset-names', 'all,all', '--out', named]);
  assert.deepEqual([joined.mode, (joined.counts as { questions: number }).questions], ['k-fold', 120]);
});

test('logs of other gates, runs beside logs, flags that a log answers, and wrong names are refused', async () => {
  const sentence = await writeLog(join(folder, 'sentence.jsonl'), 3, { evidence_text: 'sentence' });
  const refused = async (args: readonly string[]): Promise<string> => {
    const { code, stderr } = await hopgate([...args, '--out', await out()]);
    assert.equal(code, 2, stderr);
    return stderr;
  };
  assert.equal(
    await refused(['calibrate', '--from-log', log, sentence]),
    `hopgate: evidence_text differs between the logs: ${log} has "title+sentence", ${sentence} has "sentence"; one report or calibration is about one gate\n`,
  );
  assert.equal(await refused(['calibrate', 'run', '--from-log', log]), 'hopgate: --from-log: expected logs or runs, not both\n');
  assert.equal(
    await refused(['calibrate', '--from-log', log, '--decider', 'mine']),
    'hopgate: --decider: a log says it itself; leave it out with --from-log\n',
  );
  assert.equal(
    await refused(['calibrate', '--from-log', log, '--dataset-names', 'a,b']),
    'hopgate: --dataset-names: got 2 names, expected 1, one for each log\n',
  );
  assert.equal(await refused(['calibrate']), 'hopgate: expected folders of runs, or gate logs with --from-log\n');
  assert.equal(await refused(['report']), 'hopgate: expected result folders, or gate logs with --from-log\n');
  assert.equal(
    await refused(['report', 'x', '--profile', 'p']),
    'hopgate: --profile: is about the logs of --from-log, and none is given\n',
  );
  const enforced = join(folder, 'enforced.jsonl');
  await writeFile(enforced, (await readFile(log, 'utf8')).replaceAll('"mode":"shadow","run_on"', '"mode":"enforce","run_on"'));
  assert.equal(
    await refused(['calibrate', '--from-log', enforced]),
    'hopgate: enforced: none of its 60 questions ran in shadow to its end (60 enforced), so nothing says which τ agrees\n',
  );
  const copy = join(folder, 'copy.jsonl');
  await writeFile(copy, await readFile(log));
  assert.equal(
    await refused(['report', '--from-log', log, copy]),
    `hopgate: ${copy}: has the same content as ${log}, which is given too: it would count twice\n`,
  );
});

test('a line that a kill cut off is counted; any other bad line is refused by its number', async () => {
  const torn = await writeLog(join(folder, 'torn.jsonl'), 4);
  await appendFile(torn, '{"event":"open","gate":"g","sess');
  const dir = await out();
  const result = await hopgateJson(['report', '--from-log', torn, '--resamples', '39', '--out', dir]);
  assert.deepEqual(
    [(result.counts as { torn: number }).torn, result.warnings],
    [1, ['torn: 1 line was cut off by a kill or a full disk, and left out']],
  );
  const bad = join(folder, 'bad.jsonl');
  await writeFile(bad, `${JSON.stringify(gateHeader())}\n{"event":"nothing"}\n${JSON.stringify(gateHeader())}\n`);
  const { code, stderr } = await hopgate(['report', '--from-log', bad, '--out', await out()]);
  assert.equal(code, 2);
  assert.match(stderr, /bad\.jsonl, line 2, field event: /);
});

test('report --from-log writes one self-contained page and its figures, and prints the verdict and the page’s path', async () => {
  const calibrated = await out();
  await hopgateJson(['calibrate', '--from-log', log, '--resamples', '39', '--out', calibrated]);
  const dir = await out();
  const { code, stdout } = await hopgate(['report', '--from-log', log, '--profile', calibrated, '--resamples', '39', '--out', dir]);
  assert.equal(code, 0);
  assert.equal(stdout.trimEnd().split('\n').at(-1), join(dir, 'report.html'));
  const profile = await readProfile(join(calibrated, 'profile.json'));
  assert.match(
    stdout,
    new RegExp(`^may: at τ ${profile.tau} the gate would have skipped \\d+ of the decider's \\d+ calls in 60 questions`),
  );
  assert.match(stdout, /\nmay: no alarm in 60 questions against the questions that τ was chosen on;/);
  assert.match(stdout, /\nmay: verification takes [\d.]+ s a question when always asked/);
  const html = await readFile(join(dir, 'report.html'), 'utf8');
  assert.equal(html.match(/<svg/g)?.length, 2);
  assert.doesNotMatch(html, /<script|src=|https?:\/\/(?!www\.w3\.org)/);
  // Each question has a page beside it, against the profile's τ, and the list of them leads there.
  assert.ok(html.includes('<a href="questions/1.html">') && html.includes('<a href="questions/index.html">'));
  const pages = await readdir(join(dir, 'questions'));
  assert.equal(pages.length, 61);
  assert.ok((await readFile(join(dir, 'questions', 'index.html'), 'utf8')).includes('<a href="60.html">'));
  assert.ok((await readFile(join(dir, 'questions', '60.html'), 'utf8')).includes(`The gate at τ ${profile.tau} would have skipped`));
  const figures = JSON.parse(await readFile(join(dir, 'log.json'), 'utf8')) as { shadow: { call_cut: unknown }[]; stops: unknown[] };
  assert.ok(figures.shadow[0]?.call_cut);
  // Without a profile the log's own τ stands, and drift is said not to be available.
  const plain = await hopgate(['report', '--from-log', log, '--resamples', '39', '--out', await out()]);
  assert.match(plain.stdout, /^may: at τ 0\.4 /);
  assert.match(plain.stdout, /\nDrift: Not available: the test compares the margins after the first loop/);
});

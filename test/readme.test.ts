import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { copyFile, mkdir, mkdtemp, rename, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { writeBuiltinData } from '../datasets/builtin/index.js';
import { openVerdicts, questionVerdict } from '../runtime/index.js';
import { allCommands, commandsFor } from '../src/cli/commands/index.js';
import { usage } from '../src/cli/usage.js';
import { readGateLog } from '../src/core/gate-log.js';
import { readArrow } from '../src/core/arrow.js';
import { writeJsonl } from '../src/core/jsonl.js';
import { recordColumns } from '../src/core/records.js';
import { hopgate } from './support/cli.js';
import { testCache, testHome } from './support/encoder-cache.js';
import { repositoryRoot } from './support/root.js';
import { skippedInSecondPass } from './support/second-pass.js';
import { writeSyntheticHotpotqa } from './support/synthetic-hotpotqa.js';

const readme = readFileSync(join(repositoryRoot, 'README.md'), 'utf8');

test('the usage in the README is that of the command, and every command is loaded by its own name', async () => {
  assert.ok(readme.includes(await usage()), 'stale: `npm run docs` writes it anew');
  for (const { path } of await allCommands()) {
    const words = path.replace(/ [<[].*/, '').split(' ');
    assert.deepEqual(
      (await commandsFor([...words, '--help'])).map((one) => one.path),
      [path],
    );
  }
  assert.equal((await commandsFor(['labels'])).length, (await allCommands()).length);
});

test('P109: every hopgate command of the README runs as it stands there', { timeout: 900_000 }, async (t) => {
  if (skippedInSecondPass(t)) return;
  const commands = shellLines('## The way of a real dataset').filter((line) => line.startsWith('hopgate '));
  assert.ok(commands.length >= 10, `found ${commands.length} commands`);
  const dir = await mkdtemp(join(tmpdir(), 'hopgate-readme-'));
  const env = { HOPGATE_HOME: testHome };
  const run = async (line: string): Promise<void> => {
    const ran = await hopgate(line.split(/\s+/).slice(1), { cwd: dir, env });
    assert.equal(ran.code, 0, `${line}\n${ran.stdout}\n${ran.stderr}`);
  };
  // The files that the commands name: an invented training file of the right size, and built-in data under the dev file's name.
  await writeSyntheticHotpotqa(join(dir, 'hotpot_train_v1.1.json'), { questions: 12_000 });
  const data = await writeBuiltinData(join(dir, 'data'), {});
  await rename(data.hotpotqa.data, join(dir, 'hotpot_dev_distractor_v1.json'));
  await rename(data.hotpotqa.followups, join(dir, 'followups.jsonl'));
  await mkdir(join(dir, 'runs'));
  for (const name of ['2wiki', 'musique'] as const) {
    await run(`hopgate trajectories run ${data[name].data} --agent scripted --followups ${data[name].followups} --out runs/${name}`);
    await run(`hopgate claims build runs/${name} --source heuristic`);
    await run(`hopgate embed runs/${name}`);
    await run(`hopgate decide runs/${name} --decider gold --name mine`);
  }
  for (const line of commands) {
    // Verdicts made elsewhere: those of the gold decider, as another program would write them.
    if (line.includes('--decider file')) {
      await run('hopgate decide runs/hotpotqa --decider gold --out elsewhere');
      await writeVerdicts(join(dir, 'elsewhere'), join(dir, 'verdicts.jsonl'));
      // One calibration compares runs of one decider: the others take theirs from files too.
      for (const name of ['2wiki', 'musique']) {
        await writeVerdicts(join(dir, 'runs', name, 'verdicts', 'mine'), join(dir, `${name}.jsonl`));
        await run(`hopgate decide runs/${name} --decider file --verdicts ${name}.jsonl --name mine --force`);
      }
    }
    await run(line.replace(/ +#.*$/, ''));
  }
  // The drafter and the small verifier, on built-in data under the names that their block gives; each is judged on other questions.
  const taught: string[] = [];
  for await (const { question, pages, supporting } of readArrow(join(dir, 'runs', 'hotpotqa', 'records.arrow'), recordColumns))
    taught.push(JSON.stringify({ question, titles: [...new Set(supporting.map(({ page }) => pages[page ?? -1]?.title))] }));
  await writeFile(join(dir, 'claims-2wiki.jsonl'), taught.map((line) => `${line}\n`).join(''));
  await copyFile(data['2wiki'].data, join(dir, 'train.json'));
  await run('hopgate labels build hotpot_dev_distractor_v1.json --out labels/dev');
  const further = shellLines('**The small verifier**').filter((one) => one.startsWith('hopgate '));
  assert.ok(further.some((line) => line.startsWith('hopgate drafter train ')));
  for (const line of further) await run(line.replace(/ +#.*$/, ''));
});

test('the library example of the README gives what it says', async () => {
  const code = /```ts\n([^]*?)```/.exec(readme.slice(readme.indexOf('## In a running agent')))?.[1];
  assert.ok(code);
  // Beside the compiled tests, so that the package's own name leads to its doors.
  const file = join(repositoryRoot, 'build', `readme-example-${process.pid}.mjs`);
  const log = `${file}.log`;
  writeFileSync(
    file,
    code.replace("cacheDir: '.cache'", `cacheDir: ${JSON.stringify(testCache)}`).replace("'gate.jsonl'", JSON.stringify(log)),
  );
  try {
    const ran = spawnSync(process.execPath, [file], { encoding: 'utf8' });
    assert.equal(ran.status, 0, ran.stderr);
    assert.equal(ran.stdout.trim(), 'true covered');
    assert.equal((await readGateLog(log)).sessions[0]?.end?.stopped_by, 'covered');
  } finally {
    rmSync(file);
    rmSync(log, { force: true });
  }
});

function shellLines(heading: string): string[] {
  const block = /```sh\n([^]*?)```/.exec(readme.slice(readme.indexOf(heading)))?.[1] ?? '';
  return block.split('\n');
}

async function writeVerdicts(folder: string, file: string): Promise<void> {
  const rows: { question_id: string; loop: number; covered: boolean }[] = [];
  const { questions, scan } = await openVerdicts(folder);
  for await (const { question, rows: pairs } of questions()) {
    for (const [at, covered] of questionVerdict(question, pairs, scan).firesByLoop.entries())
      rows.push({ question_id: question.question_id, loop: at + 1, covered });
  }
  await writeJsonl(file, rows);
}

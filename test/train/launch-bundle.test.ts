import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFile, readdir, rename, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { checkExport, checkedJob, launch, packJob } from '../../train/index.js';
import { hopgate, hopgateJson } from '../support/cli.js';
import { fakeJob } from '../support/fake-job.js';
import { temporaryFolder } from '../support/files.js';

test('a bundle unpacked in an empty folder runs by its own run.sh', async () => {
  const job = await fakeJob();
  const made = await hopgateJson(['verifier', 'train', job, '--launcher', 'bundle']);
  assert.equal(made.out, `${job}.zip`);
  assert.deepEqual(made.commands, {
    plain: 'python3 -m zipfile -e job.zip job && bash job/run.sh',
    slurm: 'python3 -m zipfile -e job.zip job && cd job && sbatch job.slurm',
    notebook: '!python3 -m zipfile -e job.zip job && bash job/run.sh --python python3',
  });
  const elsewhere = await temporaryFolder();
  await rename(`${job}.zip`, join(elsewhere, 'job.zip'));
  const { plain } = made.commands as { plain: string };
  execFileSync('bash', ['-c', plain], { cwd: elsewhere, stdio: 'ignore' });
  assert.deepEqual((await readdir(elsewhere)).toSorted(), ['job', 'job.zip']);
  const exported = await checkExport(join(elsewhere, 'job', 'export'));
  assert.equal(exported.metrics.steps, 4);
  // What arrived is still the job that was planned.
  assert.equal((await checkedJob(join(elsewhere, 'job'))).sha256, (await checkedJob(job)).sha256);
});

test('the next step names the job, whose rows the import compares; a job’s own README says the same', async () => {
  const job = await fakeJob({}, "it's a job");
  const quoted = String.raw`'${dirname(job)}/it'\''s a job'`;
  const bundled = await hopgate(['verifier', 'train', job, '--launcher', 'bundle']);
  assert.ok(bundled.stdout.endsWith(`\nthen: hopgate verifier import EXPORT --job ${quoted}\n${job}.zip\n`), bundled.stdout);
  const trained = await hopgate(['verifier', 'train', job, '--out', join(dirname(job), 'made')]);
  const end = `\nthen: hopgate verifier import ${join(dirname(job), 'made')} --job ${quoted}\n${join(dirname(job), 'made')}\n`;
  assert.ok(trained.stdout.endsWith(end), trained.stdout);
  assert.match(await readFile(join(job, 'README.md'), 'utf8'), /`hopgate verifier import EXPORT --job JOB` \(that folder, and this one\)/);
});

test('equal jobs give equal bytes, whenever and wherever they were written, without what a run left behind', async () => {
  const [one, other] = [await fakeJob(), await fakeJob({}, 'a job’s copy')];
  const { handle } = await launch(other, { environment: {} });
  while ((await handle.status()).state === 'running');
  await utimes(join(other, 'run.sh'), 0, 0);
  await writeFile(join(other, 'notes.txt'), 'not part of the job');
  const packed = await packJob(await checkedJob(one));
  assert.deepEqual(packed, await packJob(await checkedJob(other)));
  // What is dated and packed by local time or locale would differ here.
  const script = `import { checkedJob, packJob } from ${JSON.stringify(new URL('../../train/index.js', import.meta.url).href)};
    process.stdout.write(Buffer.from(await packJob(await checkedJob(${JSON.stringify(one)}))).toString('base64'));`;
  const env = { ...process.env, TZ: 'Pacific/Kiritimati', LC_ALL: 'tr_TR' };
  const elsewhere = execFileSync(process.execPath, ['--input-type=module', '-e', script], { env, encoding: 'utf8' });
  assert.equal(elsewhere, Buffer.from(packed).toString('base64'));
});

test('the commands of a bundle are quoted where its name asks for it', async () => {
  const job = await fakeJob({}, "it's a job");
  const { commands } = (await hopgateJson(['verifier', 'train', job, '--launcher', 'bundle'])) as { commands: { plain: string } };
  const name = String.raw`'it'\''s a job`;
  assert.equal(commands.plain, `python3 -m zipfile -e ${name}.zip' ${name}' && bash ${name}'/run.sh`);
  execFileSync('bash', ['-c', commands.plain], { cwd: dirname(job), stdio: 'ignore' });
  assert.match(await readFile(join(job, 'export', 'model-card.md'), 'utf8'), /step 0/);
});

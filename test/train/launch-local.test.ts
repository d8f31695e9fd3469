import assert from 'node:assert/strict';
import { appendFile, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { sha256 } from '../../src/core/hash.js';
import type { Manifest } from '../../src/core/manifest.js';
import { checkedJob, follow, launch, launchableJob, launchedJob } from '../../train/index.js';
import { hopgate, hopgateJson } from '../support/cli.js';
import { fakeJob } from '../support/fake-job.js';
import { temporaryFolder } from '../support/files.js';
import { driver, launchedId, processesWith, quietly } from '../support/launched.js';

type Json = { [field: string]: unknown };

const environment = {};

test('a job runs here to its end: events, foreign lines on stderr, export checked', async () => {
  const job = await fakeJob();
  const ran = await hopgate(['verifier', 'train', job, '--json']);
  assert.equal(ran.code, 0, ran.stderr);
  const result = JSON.parse(ran.stdout) as Json;
  assert.equal(result.out, join(job, 'export'));
  // 1000 bytes of the graph and 21 of "Gone on from step 0.\n"; the third file is empty.
  assert.deepEqual(result.counts, { train_rows: 8, steps: 4, dev_rows: 3, files: 3, bytes: 1021 });
  const { id, ...how } = result.job as Json;
  assert.match(String(id), /^hopgate-[0-9a-f]{12}-[0-9a-f]{8}$/);
  assert.deepEqual(how, { launcher: 'local', address: null, state: 'succeeded', attached: false });
  assert.equal((ran.stderr.match(/^half a line$/gm) ?? []).length, 4);
  const again = await launch(job, { environment });
  assert.deepEqual([again.handle.id, again.attached], [id, true], 'a finished job is not run twice');
});

test('the driver killed in the middle, the same command follows the job on to its export', async () => {
  const gate = { step: 2, file: join(await temporaryFolder(), 'go') };
  const job = await fakeJob({ gate });
  const first = driver(['verifier', 'train', job]);
  await first.until(/half a line/);
  first.child.kill('SIGKILL');
  await first.ended;
  const { handle } = await launchedJob(job, { environment });
  assert.equal((await handle.status()).state, 'running');
  await writeFile(gate.file, '');
  const result = await hopgateJson(['verifier', 'train', job]);
  assert.deepEqual([(result.job as Json).id, (result.job as Json).attached], [handle.id, true]);
  assert.equal(await readFile(join(job, 'export', 'model-card.md'), 'utf8'), 'Gone on from step 0.\n');
});

test('Ctrl-C ends the job and all its processes, says where it stands, and --resume goes on from the checkpoint', async () => {
  const gate = { step: 3, file: join(await temporaryFolder(), 'go') };
  const job = await fakeJob({ gate });
  const first = driver(['verifier', 'train', job]);
  await first.until(/(half a line[^]*){3}/);
  first.child.kill('SIGINT');
  assert.equal(await first.ended, 130);
  const id = await launchedId(job);
  assert.ok(first.said().includes(`\nhopgate: job ${id} is stopped; --resume goes on from the checkpoint of step 2\n`), first.said());
  assert.equal((await (await launchedJob(job, { environment })).handle.status()).state, 'stopped');
  assert.deepEqual(await processesWith(job), []);
  await assert.rejects(launch(job, { environment }), {
    name: 'InputError',
    message: `${job}: job ${id} was stopped; --resume goes on from its last checkpoint, --force starts again`,
  });
  await writeFile(gate.file, '');
  await hopgateJson(['verifier', 'train', job, '--resume']);
  assert.equal(await readFile(join(job, 'export', 'model-card.md'), 'utf8'), 'Gone on from step 2.\n');
});

test('--detach returns at once, --attach follows, with --on-interrupt leave Ctrl-C leaves the job, and --stop ends it', async () => {
  const job = await fakeJob({ gate: { step: 1, file: 'never' } });
  const started = await hopgateJson(['verifier', 'train', job, '--detach']);
  const { id, state } = started.job as { id: string; state: string };
  assert.equal(state, 'running');
  const following = driver(['verifier', 'train', job, '--attach', id, '--on-interrupt', 'leave']);
  await following.until(/half a line/);
  following.child.kill('SIGINT');
  assert.equal(await following.ended, 130);
  const left = `hopgate: job ${id} goes on without this command; --attach ${id}, or the same command, follows it again\n`;
  assert.ok(following.said().includes(left), following.said());
  const stopped = await hopgateJson(['verifier', 'train', job, '--stop']);
  assert.equal((stopped.job as Json).state, 'stopped');
  assert.deepEqual(await processesWith(job), []);
  await assert.rejects(launchedJob(job, { environment, attach: 'other' }), { message: 'no job other was launched from this folder' });
});

test('a job killed from outside is known to be dead, and another process with its number is not taken for it', async () => {
  const job = await fakeJob({ gate: { step: 1, file: 'never' } });
  const { handle } = await launch(job, { environment });
  const file = join(job, '.launch', `${handle.id}.pid`);
  const pid = Number(await readFile(file, 'utf8'));
  process.kill(-pid, 'SIGKILL');
  while ((await handle.status()).state === 'running');
  const dead = { state: 'failed', message: 'its process is gone without an exit code: it was killed', exitCode: null };
  assert.deepEqual(await handle.status(), dead);
  await writeFile(file, String(process.pid));
  assert.deepEqual(await handle.status(), dead);
});

test('a trainer that refuses its input is exit 2 with its words; one that breaks is exit 1 with its last line', async () => {
  const refusing = await fakeJob({ refuse: 'train.jsonl, line 3, field loss: empty span' });
  const refused = await hopgate(['verifier', 'train', refusing]);
  assert.deepEqual(
    [refused.code, refused.stderr.split('\n').at(-2)],
    [2, `hopgate: job ${await launchedId(refusing)}: the trainer refused its input: train.jsonl, line 3, field loss: empty span`],
  );
  const breaking = await fakeJob({ crash_at: 3 });
  const first = await launch(breaking, { environment });
  const words = 'failed (exit code 1): RuntimeError: out of memory; --resume goes on from the checkpoint of step 2';
  await assert.rejects(follow(first, quietly()), { name: 'CheckFailedError', message: `job ${first.handle.id} ${words}` });
  const second = await launch(breaking, { environment, force: true });
  assert.notEqual(second.handle.id, first.handle.id);
  await assert.rejects(follow(second, quietly()), { message: `job ${second.handle.id} ${words}` });
});

test('a changed, missing or stray file of the job is refused before anything starts', async () => {
  const job = await fakeJob();
  const bytes = (await readFile(join(job, 'run.sh'))).length;
  await appendFile(join(job, 'run.sh'), '#\n');
  await assert.rejects(launch(job, { environment }), {
    name: 'InputError',
    message: `${join(job, 'run.sh')}: got ${bytes + 2} bytes, expected ${bytes} as in the manifest`,
  });
  await rm(join(job, 'run.sh'));
  await assert.rejects(checkedJob(job), { message: `${join(job, 'run.sh')}: listed in the manifest, but missing` });
  const other = await fakeJob();
  await writeFile(join(other, 'trainer', 'json.py'), 'raise SystemExit(0)\n');
  await assert.rejects(launch(other, { environment }), {
    message: `${join(other, 'trainer', 'json.py')}: not listed in the manifest, and the trainer would import it`,
  });
  for (const folder of [job, other]) assert.equal((await readdir(folder)).filter((name) => name.startsWith('.launch')).length, 0);
});

test('a job with a fault that the preflight finds is refused by its name before anything starts', async () => {
  const job = await fakeJob();
  const file = join(job, 'plan.json');
  const plan = JSON.parse(await readFile(file, 'utf8')) as { template_sha256: string };
  const changed = JSON.stringify({ ...plan, template_sha256: '0'.repeat(64) });
  await writeFile(file, changed);
  const manifest = JSON.parse(await readFile(join(job, 'manifest.json'), 'utf8')) as Manifest;
  const outputs = manifest.outputs.map((one) =>
    one.name === 'plan.json' ? { ...one, bytes: Buffer.byteLength(changed), sha256: sha256(changed) } : one,
  );
  await writeFile(join(job, 'manifest.json'), JSON.stringify({ ...manifest, outputs }));
  await assert.rejects(launch(job, { environment }), { name: 'InputError', message: /^.+plan\.json: other-template: / });
  await assert.rejects(launchableJob(job), { name: 'InputError', message: /^.+plan\.json: other-template: / });
  assert.equal((await readdir(job)).filter((name) => name.startsWith('.launch')).length, 0);
});

test('an export folder that holds something else is left alone; a finished export goes only with --force', async () => {
  const job = await fakeJob();
  const out = await temporaryFolder();
  await writeFile(join(out, 'thesis.tex'), '');
  await assert.rejects(launch(job, { environment, out, force: true }), {
    message: `${out}: holds thesis.tex, expected an empty folder or none; choose another --out`,
  });
  await follow(await launch(job, { environment }), quietly());
  const second = await fakeJob({ bytes: 7 });
  const target = join(job, 'export');
  await assert.rejects(launch(second, { environment, out: target }), {
    message: `${target}: already holds a finished export; choose another --out, or --force to replace it`,
  });
  const { made } = await follow(await launch(second, { environment, out: target, force: true }), quietly());
  assert.equal(made.files.find(({ path }) => path.endsWith('.onnx'))?.bytes, 7);
});

test('flags of another launcher are refused by name', async () => {
  const job = await fakeJob();
  const cases: [Partial<Parameters<typeof launch>[1]>, string][] = [
    [{ storage: '/s' }, '--storage belongs to --launcher ray'],
    [{ gpus: 2 }, '--gpus belongs to --launcher ray; here a job takes the graphics processors that CUDA_VISIBLE_DEVICES shows it'],
    [{ launcher: 'ray' }, "--address: name Ray's dashboard, like http://127.0.0.1:8265 (or set RAY_API_SERVER_ADDRESS)"],
    [
      { launcher: 'ray', address: 'ray://head:10001' },
      '--address: got "ray://head:10001", expected the address of Ray\'s dashboard, like http://127.0.0.1:8265',
    ],
    [
      { launcher: 'ray', address: 'https://me:secret@head' },
      '--address: holds more than a server and a path; what proves who you are comes from RAY_AUTH_TOKEN or RAY_JOB_HEADERS',
    ],
  ];
  for (const [options, message] of cases) await assert.rejects(launch(job, { environment, ...options }), { name: 'InputError', message });
  await assert.rejects(launchedJob(job, { environment }), { message: `${job}: nothing was launched from this folder` });
  const ran = await hopgate(['verifier', 'train', job, '--status', '--stop']);
  assert.deepEqual([ran.code, ran.stderr], [2, 'hopgate: --status and --stop exclude each other\n']);
});

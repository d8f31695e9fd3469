import assert from 'node:assert/strict';
import { readFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { sha256 } from '../../src/core/hash.js';
import { checkExport, follow, launch, launchedJob, rayClient } from '../../train/index.js';
import { hopgate, hopgateJson } from '../support/cli.js';
import { fakeJob } from '../support/fake-job.js';
import { temporaryFolder } from '../support/files.js';
import { driver, launchedId, quietly } from '../support/launched.js';
import { endRayHead, rayHeadOrSkip } from '../support/ray-head.js';

type Json = { [field: string]: unknown };

after(endRayHead);

test('a real job on a real Ray head: its log followed, the driver killed and another attached, the export through the log', async (t) => {
  const head = await rayHeadOrSkip(t);
  if (head === undefined) return;
  const env = { RAY_AUTH_TOKEN: head.token };
  const gate = { step: 2, file: join(await temporaryFolder(), 'go') };
  // More than one piece of the log's base64 (768 KiB each).
  const job = await fakeJob({ gate, bytes: 1_000_000 });
  const flags = ['--launcher', 'ray', '--address', `${head.address}/`];
  const first = driver(['verifier', 'train', job, ...flags], env);
  await first.until(/half a line/);
  first.child.kill('SIGKILL');
  await first.ended;
  assert.match(first.said(), /^job hopgate-[\w-]+ started \(http:\/\/127\.0\.0\.1:\d+\)$/m);
  assert.ok(!first.said().includes(head.token));
  assert.ok(!(await readFile(join(job, '.launch.json'), 'utf8')).includes(head.token));

  // A launcher, an address or an id is not needed: all stands in the job's folder.
  const { handle } = await launchedJob(job, { environment: env });
  assert.equal((await handle.status()).state, 'running');
  await writeFile(gate.file, '');
  const ran = await hopgate(['verifier', 'train', job, '--json'], { env });
  assert.equal(ran.code, 0, ran.stderr);
  const result = JSON.parse(ran.stdout) as Json;
  assert.deepEqual(result.job, { id: handle.id, launcher: 'ray', address: head.address, state: 'succeeded', attached: true });
  assert.equal((ran.stderr.match(/^half a line$/gm) ?? []).length, 4, 'the log from its beginning');
  const made = await checkExport(join(job, 'export'));
  assert.equal(made.files.find(({ path }) => path.endsWith('.onnx'))?.bytes, 1_000_000);
  // The jobs that printed the files are off the cluster's list.
  const client = rayClient(head.address, env);
  assert.equal((await client.job(handle.id))?.status, 'SUCCEEDED');
  await assert.rejects(launchedJob(job, { environment: env, attach: 'nobody' }), { message: `no job nobody at ${head.address}` });
});

test('with a shared folder the export is copied from there, and one that was tampered with is refused', async (t) => {
  const head = await rayHeadOrSkip(t);
  if (head === undefined) return;
  const environment = { RAY_AUTH_TOKEN: head.token };
  const [storage, job] = [await temporaryFolder(), await fakeJob()];
  const ray = { environment, launcher: 'ray', address: head.address, storage } as const;
  await assert.rejects(launch(job, { ...ray, storage: join(storage, 'none') }), {
    message: `${join(storage, 'none')}: --storage: no such folder here; cluster and this machine have to see it under the same path`,
  });
  const { made } = await follow(await launch(job, ray), quietly());
  assert.equal(made.metrics.steps, 4);
  await checkExport(join(job, 'export'));

  const graph = 'onnx/fp32/model.onnx';
  const [run] = await readdir(storage).then((names) => names.filter((name) => !name.endsWith('.work')));
  const file = join(storage, run ?? '', graph);
  const bytes = await readFile(file);
  const expected = sha256(bytes);
  bytes[10] = (bytes[10] as number) ^ 1;
  await writeFile(file, bytes);
  const out = join(await temporaryFolder(), 'export');
  // Attached from a machine that did not submit it: where the export lies, the job says itself.
  const elsewhere = await launch(job, { ...ray, storage: undefined, attach: await launchedId(job), out });
  await assert.rejects(follow(elsewhere, quietly()), {
    name: 'InputError',
    message: `${graph}: got sha256 ${sha256(bytes)}, expected ${expected} as in export.json: the file was changed or damaged`,
  });
  assert.ok(!(await readdir(out)).includes('export.json'));
});

test('Ctrl-C stops a job on the cluster, and --resume goes on there from its checkpoint', async (t) => {
  const head = await rayHeadOrSkip(t);
  if (head === undefined) return;
  const env = { RAY_AUTH_TOKEN: head.token };
  const gate = { step: 3, file: join(await temporaryFolder(), 'go') };
  const job = await fakeJob({ gate });
  const first = driver(['verifier', 'train', job, '--launcher', 'ray', '--address', head.address], env);
  await first.until(/(half a line[^]*){3}/);
  first.child.kill('SIGINT');
  assert.equal(await first.ended, 130);
  const id = await launchedId(job);
  assert.ok(first.said().includes(`\nhopgate: job ${id} is stopped; --resume goes on from the checkpoint of step 2\n`), first.said());
  assert.equal((await (await launchedJob(job, { environment: env })).handle.status()).state, 'stopped');
  await writeFile(gate.file, '');
  const resumed = await hopgateJson(['verifier', 'train', job, '--resume'], { env });
  assert.notEqual((resumed.job as Json).id, id);
  assert.equal(await readFile(join(job, 'export', 'model-card.md'), 'utf8'), 'Gone on from step 2.\n');
});

test('a job that waits for what the cluster has not says so, also when it is to be stopped; a wrong token is one sentence', async (t) => {
  const head = await rayHeadOrSkip(t);
  if (head === undefined) return;
  const environment = { RAY_AUTH_TOKEN: head.token };
  const job = await fakeJob();
  const ray = { environment, launcher: 'ray', address: head.address } as const;
  const wrong = { ...ray, environment: { RAY_AUTH_TOKEN: '0'.repeat(32) } };
  await assert.rejects(launch(job, wrong), {
    message: `${head.address}/api/version: the server answered 403 ("Forbidden: Invalid authentication token"); RAY_AUTH_TOKEN holds another token than the cluster has`,
  });
  const { handle } = await launch(job, { ...ray, gpus: 1 });
  const message = await waitingMessage(handle);
  assert.match(message, /Job has not started yet\.|waiting for resources/);
  const stopped = await hopgateJson(['verifier', 'train', job, '--stop'], { env: environment });
  assert.equal((stopped.job as Json).state, 'pending');
  assert.deepEqual(stopped.warnings, [
    'not stopped yet: it waits for resources, and Ray ends such a job when it could start, or when it has waited too long (15 minutes by default)',
  ]);
});

async function waitingMessage(handle: { status(): Promise<{ state: string; message: string | null }> }): Promise<string> {
  for (let tries = 0; tries < 20; tries++) {
    const { state, message } = await handle.status();
    assert.equal(state, 'pending');
    if (message !== null) return message;
    await wait(100);
  }
  return '';
}

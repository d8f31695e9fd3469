import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readFile, readdir, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { openRecords } from '../../datasets/index.js';
import { ENCODER_NAMES, openEncoder } from '../../runtime/index.js';
import { sha256 } from '../../src/core/hash.js';
import { random } from '../../src/core/random.js';
import { commandFile, hopgate, hopgateJson } from '../support/cli.js';
import { type FileServer, serveFiles } from '../support/file-server.js';
import { temporaryFile, temporaryFolder } from '../support/files.js';
import { hotpotqaQuestions } from '../support/hotpotqa-file.js';
import { repositoryRoot } from '../support/root.js';
import { KILLS } from '../support/second-pass.js';
import { writeTinyBert } from '../support/tiny-bert.js';

const NAME = 'hotpot_train_v1.1.json';

async function officialServer(t: Parameters<typeof serveFiles>[0]): Promise<{ server: FileServer; registry: string; bytes: Buffer }> {
  const bytes = Buffer.from(JSON.stringify(hotpotqaQuestions(300)));
  const server = await serveFiles(t, { [`/${NAME}`]: { bytes, etag: '"v"' } });
  const shipped = JSON.parse(await readFile(join(repositoryRoot, 'datasets', 'official-files.json'), 'utf8')) as {
    files: { address: string | null; file: string }[];
  };
  const files = shipped.files.map((one) => ({ ...one, address: one.address === null ? null : `${server.url}/${one.file}` }));
  return { server, registry: await temporaryFile('registry.json', JSON.stringify({ files })), bytes };
}

test('P4: data download fetches an official file, and what is built from it names the version and the sha256', async (t) => {
  const { registry, bytes } = await officialServer(t);
  const out = join(await temporaryFolder(), 'data');
  const result = await hopgateJson(['data', 'download', 'hotpotqa-train', '--registry', registry, '--out', out]);
  assert.deepEqual(result.counts, { files: 1, fetched: 1, by_hand: 0 });
  assert.deepEqual(await readFile(join(out, NAME)), bytes);
  const labels = join(out, 'labels');
  await hopgateJson(['labels', 'build', join(out, NAME), '--out', labels]);
  const manifest = JSON.parse(await readFile(join(labels, 'manifest.json'), 'utf8')) as {
    inputs: unknown;
    details: { dataset_version: unknown };
  };
  assert.deepEqual(manifest.inputs, [{ name: NAME, sha256: sha256(bytes), bytes: bytes.length }]);
  assert.equal(manifest.details.dataset_version, '1.1');
  assert.equal((await openRecords(join(out, NAME), { version: 'mine' })).version, 'mine');
});

test('data download says how to get what no program can fetch, and contacts nobody for it', async () => {
  const ran = await hopgate(['data', 'download', 'musique']);
  assert.equal(ran.code, 0);
  assert.match(
    ran.stdout,
    /^musique \(CC BY 4\.0\): open https:\/\/drive\.google\.com\/.+\n {4}documented at https:\/\/github\.com\/StonyBrookNLP\/musique/,
  );
  const unknown = await hopgate(['data', 'download', 'squad']);
  assert.equal(unknown.code, 2);
  assert.match(unknown.stderr, /^hopgate: got "squad", expected one of hotpotqa, hotpotqa-train, .*bamboogle\n$/);
});

test('killed at drawn bytes, data download goes on to the bytes of the host, never asking for a byte twice', async (t) => {
  const { server, registry, bytes } = await officialServer(t);
  Object.assign(server.files[`/${NAME}`] ?? {}, { slice: 4096 });
  const folder = await temporaryFolder();
  const [calm, out] = [join(folder, 'calm'), join(folder, 'killed')];
  await hopgateJson(['data', 'download', 'hotpotqa-train', '--registry', registry, '--out', calm]);
  const part = join(out, `${NAME}.part`);
  const draw = random(13, 'kill');
  const moments = Array.from({ length: KILLS }, () => draw.int(bytes.length)).toSorted((x, y) => x - y);
  for (const moment of moments) {
    const child = spawn(
      process.execPath,
      [commandFile, 'data', 'download', 'hotpotqa-train', '--registry', registry, '--out', out, '--resume'],
      {
        detached: true,
        stdio: 'ignore',
      },
    );
    const ended = new Promise((resolve) => child.once('close', resolve));
    while (child.exitCode === null && (await stat(part).catch(() => ({ size: 0 }))).size < moment) await wait(1);
    try {
      process.kill(-(child.pid as number), 'SIGKILL');
    } catch {
      // It had ended already.
    }
    await ended;
  }
  await hopgateJson(['data', 'download', 'hotpotqa-train', '--registry', registry, '--out', out, '--resume']);
  assert.deepEqual((await readdir(out)).toSorted(), ['download.lock.json', NAME].toSorted());
  for (const name of await readdir(calm)) assert.deepEqual(await readFile(join(out, name)), await readFile(join(calm, name)), name);
  const offsets = server.requests.slice(1).map(({ range }) => Number(/\d+/.exec(range ?? '0')?.[0]));
  assert.deepEqual(
    offsets,
    offsets.toSorted((x, y) => x - y),
  );
  assert.ok((offsets.at(-1) ?? 0) > 0, 'the last run went on from a part');
});

/** A registry in which every encoder's files come from a tiny BERT. */
async function modelServer(t: Parameters<typeof serveFiles>[0]): Promise<{ server: FileServer; registry: string }> {
  const folder = await temporaryFolder();
  await writeTinyBert(folder);
  const shipped = JSON.parse(await readFile(join(repositoryRoot, 'models', 'encoders.json'), 'utf8')) as {
    encoders: { [name: string]: { address: string; files: { name: string }[] } };
  };
  const server = await serveFiles(t, {});
  for (const [name, entry] of Object.entries(shipped.encoders)) {
    entry.address = `${server.url}/${name}/{revision}/`;
    for (const file of entry.files) {
      const served = { bytes: await readFile(join(folder, file.name)), etag: '"m"', headers: { 'x-repo-commit': 'c0ffee' } };
      server.files[`/${name}/main/${file.name}`] = served;
      server.files[`/${name}/c0ffee/${file.name}`] = served;
    }
  }
  return { server, registry: await temporaryFile('registry.json', JSON.stringify(shipped)) };
}

test('models pull brings an encoder to where its name finds it; verify and use refuse a flipped byte', async (t) => {
  const { server, registry } = await modelServer(t);
  const models = await temporaryFolder();
  const flags = ['--model-dir', models, '--registry', registry];
  const graph = join(models, 'e5-base-v2', 'onnx', 'model.onnx');
  // The graph breaks off, and the second pull goes on.
  const served = server.files['/e5-base-v2/c0ffee/onnx/model.onnx'];
  if (served) Object.assign(served, { cuts: [1000] });
  const cut = await hopgate(['models', 'pull', 'e5-base-v2', ...flags, '--retries', '0']);
  assert.deepEqual([cut.code, cut.stdout], [2, '']);
  assert.match(
    cut.stderr,
    /model\.onnx: cannot be fetched \(.+\), tried 1 times without a new byte; 1000 bytes are kept, and the same command goes on\n$/,
  );
  const listed = await hopgateJson(['models', 'list', ...flags]);
  assert.equal((listed.models as { state: string }[])[0]?.state, 'unfinished');
  await assert.rejects(openEncoder('e5-base-v2', { modelDir: models }), {
    message: `${join(models, 'e5-base-v2')}: the pull is unfinished (no onnx/model.onnx); hopgate models pull e5-base-v2 goes on`,
  });
  const pulled = await hopgateJson(['models', 'pull', 'e5-base-v2', ...flags]);
  assert.deepEqual(pulled.counts, { files: 4, fetched: 1 });
  assert.equal(server.requests.at(-1)?.range, 'bytes=1000-');

  const encoder = await openEncoder('e5-base-v2', { modelDir: models });
  const { identity } = encoder;
  await encoder.close();
  assert.deepEqual([identity.query_prefix, identity.passage_prefix, identity.pooling], ['query: ', 'query: ', 'mean']);
  assert.equal(identity.model_sha256, sha256(await readFile(graph)));
  const verified = await hopgate(['models', 'verify', ...flags]);
  assert.deepEqual([verified.code, verified.stdout], [0, 'ok  e5-base-v2  4 files\n']);

  const bytes = await readFile(graph);
  bytes[500] = (bytes[500] as number) ^ 1;
  await writeFile(graph, bytes);
  const message = `${graph}: got sha256 ${sha256(bytes)}, expected ${identity.model_sha256} as in ${join(models, 'e5-base-v2', 'download.lock.json')}: the file was changed or damaged`;
  const damaged = await hopgate(['models', 'verify', 'e5-base-v2', ...flags]);
  assert.deepEqual([damaged.code, damaged.stderr], [1, `hopgate: ${message}\n`]);
  await assert.rejects(openEncoder('e5-base-v2', { modelDir: models }), { name: 'InputError', message });
});

test('every named encoder can be pulled and opened with its own prefixes and pooling', async (t) => {
  const { registry } = await modelServer(t);
  const models = await temporaryFolder();
  const listed = await hopgateJson(['models', 'list', '--model-dir', models]);
  for (const { name, query_prefix, passage_prefix, pooling, licence, source } of listed.models as { [field: string]: string }[]) {
    await hopgateJson(['models', 'pull', name as string, '--model-dir', models, '--registry', registry]);
    const encoder = await openEncoder(name as string, { modelDir: models });
    const { identity } = encoder;
    await encoder.close();
    assert.deepEqual([identity.query_prefix, identity.passage_prefix, identity.pooling], [query_prefix, passage_prefix, pooling], name);
    assert.ok(licence && source && source.length > 0, name);
  }
  assert.deepEqual((await readdir(models)).toSorted(), ENCODER_NAMES.toSorted());
});

test('no hash, size or commit stands in a shipped registry that this project has not computed, and every address names its source', async () => {
  const models = JSON.parse(await readFile(join(repositoryRoot, 'models', 'encoders.json'), 'utf8')) as {
    encoders: {
      [name: string]: {
        revision: unknown;
        source: string[];
        address: string;
        repository: string;
        files: { sha256: unknown; bytes: unknown }[];
      };
    };
  };
  for (const { revision, source, address, repository, files } of Object.values(models.encoders)) {
    assert.equal(revision, null);
    assert.ok(address.startsWith(`${repository}/`));
    assert.ok(source.some((one) => one.startsWith(repository)));
    for (const file of files) assert.deepEqual([file.sha256, file.bytes], [null, null]);
  }
});

test('P110: without being asked to fetch, no command touches the network', async () => {
  const file = await temporaryFile('a.json', JSON.stringify(hotpotqaQuestions(3)));
  const folder = dirname(file);
  const block = join(dirname(dirname(commandFile)), '..', 'test', 'support', 'no-network.js');
  const env = { NODE_OPTIONS: `--import ${block}`, HOPGATE_HOME: folder };
  for (const args of [
    ['data', 'doctor', file],
    ['data', 'convert', file, '--out', join(folder, 'records')],
    ['data', 'download', 'musique'],
    ['models', 'list'],
    ['models', 'verify'],
  ]) {
    const ran = await hopgate(args, { env });
    assert.deepEqual([ran.code, ran.stderr], [0, ''], args.join(' '));
  }
  const fetching = await hopgate(['models', 'pull', 'gte-base', '--retries', '0'], { env });
  assert.match(fetching.stderr, /NETWORK USED/);
});

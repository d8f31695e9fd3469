import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { cp, readFile, readdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { sha256 } from '../../src/core/hash.js';
import { type ExportSource, checkExport, fetchExport, folderSource, follow, launch } from '../../train/index.js';
import { fakeJob } from '../support/fake-job.js';
import { temporaryFolder } from '../support/files.js';
import { quietly } from '../support/launched.js';

const GRAPH = 'onnx/fp32/model.onnx';

/** An export on disk, as large as asked. */
async function madeExport(bytes: number): Promise<string> {
  const job = await fakeJob({ bytes });
  await follow(await launch(job, { environment: {} }), quietly());
  return join(job, 'export');
}

/** Reads as its source does, but breaks off after some pieces; counts the bytes that it gave. */
function breaking(source: ExportSource, pieces: number): ExportSource & { given: number } {
  const own: ExportSource & { given: number } = {
    given: 0,
    manifest: () => source.manifest(),
    read: async function* (ranges) {
      let left = pieces;
      for await (const { path, bytes } of source.read(ranges)) {
        // Small pieces, so that there is something to break.
        for (let at = 0; at < bytes.length; at += 1000) {
          if (left-- === 0) throw new Error('broken off');
          const piece = bytes.subarray(at, at + 1000);
          own.given += piece.length;
          yield { path, bytes: piece };
        }
      }
    },
  };
  return own;
}

test('an export is brought whole; broken off, it goes on at the byte where it stopped', async () => {
  const from = await madeExport(10_000);
  const out = join(await temporaryFolder(), 'export');
  const first = breaking(folderSource(from), 4);
  await assert.rejects(fetchExport(first, out), { message: 'broken off' });
  assert.deepEqual(await readdir(out), ['.unfinished', 'golden.jsonl', 'model-card.md']);
  const second = breaking(folderSource(from), Infinity);
  const made = await fetchExport(second, out);
  const total = made.files.reduce((sum, { bytes }) => sum + bytes, 0);
  assert.equal(first.given + second.given, total, 'no byte is read twice');
  for (const name of [GRAPH, 'model-card.md', 'golden.jsonl', 'export.json'])
    assert.deepEqual(await readFile(join(out, name)), await readFile(join(from, name)), name);
  assert.ok(!(await readdir(out)).includes('.unfinished'));
  const third = breaking(folderSource(from), Infinity);
  await fetchExport(third, out);
  assert.equal(third.given, 0, 'what is here is not read again');
});

test('a file that was changed on the way is refused by name and not kept, and export.json does not come', async () => {
  const from = await madeExport(5000);
  const listed = (await checkExport(from)).files.find(({ path }) => path === GRAPH)?.sha256;
  const bytes = await readFile(join(from, GRAPH));
  bytes[4000] = (bytes[4000] as number) ^ 1;
  const tampered = join(await temporaryFolder(), 'tampered');
  await cp(from, tampered, { recursive: true });
  await writeFile(join(tampered, GRAPH), bytes);
  const message = `${GRAPH}: got sha256 ${sha256(bytes)}, expected ${listed ?? ''} as in export.json: the file was changed or damaged`;
  const out = join(await temporaryFolder(), 'export');
  await assert.rejects(fetchExport(folderSource(tampered), out), { name: 'InputError', message });
  assert.ok(!(await readdir(out)).includes('export.json'));
  await assert.rejects(checkExport(tampered), { message: join(tampered, message) });
  await fetchExport(folderSource(from), out);
  assert.deepEqual(await readFile(join(out, GRAPH)), await readFile(join(from, GRAPH)), 'the whole file comes anew');
});

test('what was brought of another export is not mixed in, and a name that leads out of the folder is refused', async () => {
  const [one, other] = [await madeExport(8000), await madeExport(9000)];
  const out = join(await temporaryFolder(), 'export');
  await assert.rejects(fetchExport(breaking(folderSource(one), 3), out), { message: 'broken off' });
  await fetchExport(folderSource(other), out);
  await checkExport(out);
  const evil = await readFile(join(one, 'export.json'), 'utf8');
  const leading: ExportSource = {
    ...folderSource(one),
    manifest: () => Promise.resolve(evil.replace('model-card.md', '../model-card.md')),
  };
  const target = join(await temporaryFolder(), 'export');
  await assert.rejects(fetchExport(leading, target), {
    name: 'InputError',
    message: `${join(target, '.unfinished', 'export.json')}, field files.1.path: expected a relative path without ".."`,
  });
});

test('a source that ends early is said to, and the next attempt goes on', async () => {
  const from = await madeExport(3000);
  const whole = folderSource(from);
  const short: ExportSource = {
    manifest: () => whole.manifest(),
    read: async function* (ranges) {
      for await (const { path, bytes } of whole.read(ranges)) yield { path, bytes: bytes.subarray(0, Math.min(bytes.length, 2500)) };
    },
  };
  const out = join(await temporaryFolder(), 'export');
  await assert.rejects(fetchExport(short, out), { message: `${GRAPH}: ended 500 bytes early; the same command goes on` });
  await fetchExport(whole, out);
});

/** Sends a piece before those of the export that it stands for. */
function intruding(from: string, path: string, bytes = new TextEncoder().encode('x')): ExportSource {
  const whole = folderSource(from);
  return {
    manifest: () => whole.manifest(),
    read: async function* (ranges) {
      yield { path, bytes };
      yield* whole.read(ranges);
    },
  };
}

test('a source that sends what was not asked for writes nothing, neither outside the folder nor in it', async () => {
  const from = await madeExport(3000);
  const home = await temporaryFolder();
  const absolute = join(home, 'absolute');
  // One level up from .unfinished is the export's folder, two levels up is beside it.
  for (const path of [
    '../../beside',
    '../inside',
    'onnx/../../beside',
    absolute,
    'other.md',
    'export.json',
    '',
    '.',
    'golden.jsonl',
    `./${GRAPH}`,
  ]) {
    const out = join(home, 'export');
    await assert.rejects(fetchExport(intruding(from, path), out), {
      name: 'InputError',
      message: `${out}: the source sent ${JSON.stringify(path)}, which was not asked for; nothing of it is written`,
    });
    assert.deepEqual(await readdir(home), ['export'], path);
    assert.deepEqual((await readdir(out)).toSorted(), ['.unfinished', 'golden.jsonl'], path);
    const work = join(out, '.unfinished');
    assert.deepEqual((await readdir(work)).toSorted(), ['export.json', 'model-card.md', 'onnx'], path);
    assert.deepEqual(await readFile(join(work, 'export.json')), await readFile(join(from, 'export.json')), path);
    assert.equal(existsSync(join(dirname(home), 'beside')), false);
  }
});

test('bytes beyond what export.json lists are not written, before the end of a file or behind it', async () => {
  const from = await madeExport(3000);
  const out = join(await temporaryFolder(), 'export');
  await assert.rejects(fetchExport(intruding(from, GRAPH, new Uint8Array(3001)), out), {
    name: 'InputError',
    message: `${GRAPH}: the source sent 1 bytes more than export.json lists; none of the last piece is written`,
  });
  assert.equal((await readFile(join(out, '.unfinished', GRAPH))).length, 0);
  const whole = folderSource(from);
  const behind: ExportSource = {
    manifest: () => whole.manifest(),
    read: async function* (ranges) {
      yield* whole.read(ranges);
      yield { path: GRAPH, bytes: new Uint8Array(5) };
    },
  };
  await assert.rejects(fetchExport(behind, out), {
    message: `${GRAPH}: the source sent 5 bytes more than export.json lists; none of the last piece is written`,
  });
  assert.deepEqual(await readFile(join(out, GRAPH)), await readFile(join(from, GRAPH)));
  assert.equal(existsSync(join(out, '.unfinished', GRAPH)), false);
  await fetchExport(whole, out);
});

test('an export that lists a file twice, or export.json itself, is not fetched', async () => {
  const from = await madeExport(1000);
  const listed = JSON.parse(await readFile(join(from, 'export.json'), 'utf8')) as { files: { path: string }[] };
  for (const [path, message] of [
    ['export.json', 'lists export.json itself'],
    [GRAPH, `lists ${GRAPH} twice`],
  ] as const) {
    const out = join(await temporaryFolder(), 'export');
    const manifest = JSON.stringify({ ...listed, files: [...listed.files, { ...listed.files[0], path }] });
    await assert.rejects(fetchExport({ ...folderSource(from), manifest: () => Promise.resolve(manifest) }, out), {
      name: 'InputError',
      message: `${join(out, '.unfinished', 'export.json')}, field files: ${message}`,
    });
    assert.deepEqual(await readdir(out), ['.unfinished']);
  }
});

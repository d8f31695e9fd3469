import assert from 'node:assert/strict';
import { readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { sha256 } from '../../src/core/hash.js';
import { LOCK_NAME, type PinnedFile, fetchFiles, readLock } from '../../src/core/pinned-files.js';
import { type FileServer, serveFiles } from '../support/file-server.js';
import { temporaryFolder } from '../support/files.js';

const quick = { backoffMs: 1, retries: 1 };
const [a, b] = [Buffer.from('the first file'), Buffer.from('the second file')];

async function setting(t: Parameters<typeof serveFiles>[0]): Promise<{ server: FileServer; folder: string; files: PinnedFile[] }> {
  const server = await serveFiles(t, { '/main/a.txt': { bytes: a, etag: '"a"' }, '/main/sub/b.txt': { bytes: b, etag: '"b"' } });
  const files = ['a.txt', 'sub/b.txt'].map((name) => ({
    name,
    address: `${server.url}/{revision}/${name}`,
    sha256: null,
    bytes: null,
    revision: null,
  }));
  return { server, folder: await temporaryFolder(), files };
}

test('the first fetch records sha256, size and address of each file, byte-identically in every folder', async (t) => {
  const { server, folder, files } = await setting(t);
  const fetched = await fetchFiles(folder, files, { ...quick, branch: 'main' });
  assert.deepEqual(
    fetched.map(({ name, state, first }) => [name, state, first]),
    [
      ['a.txt', 'fetched', true],
      ['sub/b.txt', 'fetched', true],
    ],
  );
  const lock = await readFile(join(folder, LOCK_NAME), 'utf8');
  assert.deepEqual(JSON.parse(lock), {
    format_version: 1,
    files: [
      { name: 'a.txt', address: `${server.url}/main/a.txt`, revision: null, sha256: sha256(a), bytes: a.length },
      { name: 'sub/b.txt', address: `${server.url}/main/sub/b.txt`, revision: null, sha256: sha256(b), bytes: b.length },
    ],
  });
  const other = await temporaryFolder();
  await fetchFiles(other, files.toReversed(), { ...quick, branch: 'main' });
  assert.equal(await readFile(join(other, LOCK_NAME), 'utf8'), lock);
  assert.deepEqual((await readdir(folder)).toSorted(), ['a.txt', LOCK_NAME, 'sub']);
});

test('a second fetch hashes what is there and contacts nobody; a flipped byte is refused', async (t) => {
  const { server, folder, files } = await setting(t);
  await fetchFiles(folder, files, { ...quick, branch: 'main' });
  const before = server.requests.length;
  const again = await fetchFiles(folder, files, { ...quick, branch: 'main' });
  assert.deepEqual([again.map((one) => one.state), server.requests.length], [['kept', 'kept'], before]);
  const flipped = Buffer.from(a);
  flipped[3] = (flipped[3] as number) ^ 1;
  const path = join(folder, 'a.txt');
  await writeFile(path, flipped);
  await assert.rejects(fetchFiles(folder, files, quick), {
    name: 'InputError',
    message: `${path}: got sha256 ${sha256(flipped)}, expected ${sha256(a)} as in ${join(folder, LOCK_NAME)}: the file was changed or damaged`,
  });
  await writeFile(path, 'short');
  await assert.rejects(fetchFiles(folder, files, quick), { message: `${path}: got 5 bytes, expected 14 as in ${join(folder, LOCK_NAME)}` });
  await fetchFiles(folder, files, { ...quick, branch: 'main', force: true });
  assert.deepEqual(await readFile(path), a);
});

test('a host that has another file by now is refused until the lock file is deleted', async (t) => {
  const { server, folder, files } = await setting(t);
  await fetchFiles(folder, files, { ...quick, branch: 'main' });
  const changed = Buffer.from('another file');
  Object.assign(server.files['/main/a.txt'] ?? {}, { bytes: changed, etag: '"c"' });
  await assert.rejects(fetchFiles(folder, files, { ...quick, branch: 'main', force: true }), {
    message: `${server.url}/main/a.txt: got sha256 ${sha256(changed)}, 12 bytes; expected ${sha256(a)}, 14 bytes as in ${join(folder, LOCK_NAME)} (delete ${join(folder, LOCK_NAME)} to take what the host has now)`,
  });
  // What was here stays.
  assert.deepEqual(await readFile(join(folder, 'a.txt')), a);
  await rm(join(folder, LOCK_NAME));
  await fetchFiles(folder, files, { ...quick, branch: 'main', force: true });
  assert.deepEqual(await readFile(join(folder, 'a.txt')), changed);
});

test('a pinned sha256 or size that does not fit is refused on the first fetch', async (t) => {
  const { server, folder, files } = await setting(t);
  const wrong = '0'.repeat(64);
  for (const pin of [{ sha256: wrong }, { bytes: 15 }]) {
    const pinned = [{ ...(files[0] as PinnedFile), ...pin }];
    await assert.rejects(fetchFiles(folder, pinned, { ...quick, branch: 'main' }), {
      message: `${server.url}/main/a.txt: got sha256 ${sha256(a)}, 14 bytes; expected ${pin.sha256 ?? sha256(a)}, ${pin.bytes ?? 14} bytes as in the registry`,
    });
    assert.deepEqual(await readdir(folder), []);
  }
  const [fetched] = await fetchFiles(folder, [{ ...(files[0] as PinnedFile), sha256: sha256(a), bytes: 14 }], { ...quick, branch: 'main' });
  assert.equal(fetched?.first, false);
});

test('a file of unknown origin is neither trusted nor overwritten', async (t) => {
  const { folder, files } = await setting(t);
  const path = join(folder, 'a.txt');
  await writeFile(path, 'mine');
  await assert.rejects(fetchFiles(folder, files, quick), {
    message: `${path}: is there already, and no ${LOCK_NAME} says where it is from; --force replaces it`,
  });
  assert.equal(await readFile(path, 'utf8'), 'mine');
});

test('all files are of the commit that the first answer names, in this pull and in later ones', async (t) => {
  const { server, folder, files } = await setting(t);
  const commit = { headers: { 'x-repo-commit': 'c0ffee' } };
  Object.assign(server.files, {
    '/main/a.txt': { bytes: a, ...commit },
    '/c0ffee/a.txt': { bytes: a, ...commit },
    '/c0ffee/sub/b.txt': { bytes: b, ...commit },
    // What a later commit of the branch holds.
    '/main/sub/b.txt': { bytes: Buffer.from('later'), headers: { 'x-repo-commit': 'later' } },
  });
  await fetchFiles(folder, files, { ...quick, branch: 'main' });
  await rm(join(folder, 'a.txt'));
  await fetchFiles(folder, files, { ...quick, branch: 'main' });
  assert.deepEqual(
    server.requests.map((one) => one.path),
    ['/main/a.txt', '/c0ffee/sub/b.txt', '/c0ffee/a.txt'],
  );
  assert.deepEqual(await readFile(join(folder, 'sub', 'b.txt')), b);
});

test('files of two commits are not mixed, and an empty file is none', async (t) => {
  const { server, folder, files } = await setting(t);
  const [asked, other] = ['a'.repeat(40), 'b'.repeat(40)];
  Object.assign(server.files, {
    '/main/a.txt': { bytes: a, headers: { 'x-repo-commit': asked } },
    [`/${asked}/sub/b.txt`]: { bytes: b, headers: { 'x-repo-commit': other } },
  });
  await assert.rejects(fetchFiles(folder, files, { ...quick, branch: 'main' }), {
    message: `${server.url}/${asked}/sub/b.txt: the host served commit ${other}, expected ${asked}: files of two commits are not mixed`,
  });
  Object.assign(server.files, { [`/${asked}/sub/b.txt`]: { bytes: Buffer.alloc(0) } });
  await assert.rejects(fetchFiles(folder, files, { ...quick, branch: 'main' }), {
    message: `${server.url}/${asked}/sub/b.txt: got an empty file`,
  });
  assert.deepEqual(
    (await readLock(folder)).map((entry) => entry.name),
    ['a.txt'],
  );
});

test('a damaged lock file is refused by name and field', async (t) => {
  const { folder, files } = await setting(t);
  const lock = join(folder, LOCK_NAME);
  await writeFile(lock, '{"format_version":1,"files":[{"name":"../x","address":"","revision":null,"sha256":"","bytes":0}]}');
  await assert.rejects(fetchFiles(folder, files, quick), {
    message: `${lock}, field files.0.name: expected a relative path without ".."`,
  });
});

import assert from 'node:assert/strict';
import { readFile, readdir, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { type DownloadOptions, download, keepDownload } from '../../src/core/download.js';
import { random } from '../../src/core/random.js';
import { type FileServer, type Served, serveFiles } from '../support/file-server.js';
import { temporaryFolder } from '../support/files.js';

const SIZE = 300_000;
const content = (label: string, size = SIZE): Uint8Array => {
  const draw = random(13, label);
  return Uint8Array.from({ length: size }, () => draw.int(256));
};
const quick: DownloadOptions = { backoffMs: 1, retries: 3 };

async function target(): Promise<string> {
  return join(await temporaryFolder(), 'sub', 'file.bin');
}

async function fetchFrom(server: FileServer, options: DownloadOptions = quick): Promise<{ bytes: Buffer; left: string[] }> {
  const path = await target();
  await download(`${server.url}/f`, path, options);
  await keepDownload(path);
  return { bytes: await readFile(path), left: await readdir(dirname(path)) };
}

async function one(t: Parameters<typeof serveFiles>[0], served: Partial<Served> = {}): Promise<FileServer & { file: Served }> {
  const file: Served = { bytes: content('a'), etag: '"a"', ...served };
  return Object.assign(await serveFiles(t, { '/f': file }), { file });
}

test('a file arrives whole, and nothing is left beside it', async (t) => {
  const server = await one(t);
  const { bytes, left } = await fetchFrom(server);
  assert.deepEqual([...bytes], [...content('a')]);
  assert.deepEqual(left, ['file.bin']);
  assert.deepEqual(server.requests, [{ path: '/f', range: undefined, ifRange: undefined }]);
});

test('after a cut it goes on behind the last byte, asking for the same file by its ETag', async (t) => {
  const draw = random(13, 'cuts');
  const cuts = [1 + draw.int(100_000), 1 + draw.int(100_000), 1 + draw.int(50_000)];
  const server = await one(t, { cuts: [...cuts] });
  const { bytes } = await fetchFrom(server);
  assert.deepEqual(bytes, Buffer.from(content('a')));
  assert.equal(server.requests.length, 4);
  for (const { range, ifRange } of server.requests.slice(1)) {
    assert.match(range ?? '', /^bytes=\d+-$/);
    assert.equal(ifRange, '"a"');
  }
});

test('an interrupted download goes on in another call', async (t) => {
  const server = await one(t, { cuts: [120_000, 1, 1], statuses: [200, 503, 503] });
  const path = await target();
  await assert.rejects(download(`${server.url}/f`, path, { ...quick, retries: 1 }), {
    name: 'InputError',
    message: `${server.url}/f: cannot be fetched (the host answered 503 Service Unavailable), tried 2 times without a new byte; 120000 bytes are kept, and the same command goes on`,
  });
  server.file.cuts = [];
  await download(`${server.url}/f`, path, quick);
  assert.deepEqual(await readFile(`${path}.part`), Buffer.from(content('a')));
  assert.equal(server.requests.at(-1)?.range, 'bytes=120000-');
});

test('a host that ignores ranges is read from the start again', async (t) => {
  const server = await one(t, { ranges: false, cuts: [200_000] });
  assert.deepEqual((await fetchFrom(server)).bytes, Buffer.from(content('a')));
  assert.equal(server.requests[1]?.range, 'bytes=200000-');
});

test('a file that changes between two attempts is fetched anew, whatever its length', async (t) => {
  for (const size of [SIZE, SIZE - 70_000, 100]) {
    const server = await one(t, { cuts: [150_000] });
    const path = await target();
    await assert.rejects(download(`${server.url}/f`, path, { ...quick, retries: 0 }));
    Object.assign(server.file, { bytes: content('b', size), etag: '"b"' });
    await download(`${server.url}/f`, path, quick);
    assert.deepEqual(await readFile(`${path}.part`), Buffer.from(content('b', size)));
  }
});

test('a host that goes on with another file although If-Range forbids it is noticed by ETag and by total', async (t) => {
  for (const change of [{ etag: '"b"' }, { total: SIZE + 1 }]) {
    const server = await one(t, { cuts: [150_000] });
    const path = await target();
    await assert.rejects(download(`${server.url}/f`, path, { ...quick, retries: 0 }));
    const kept = server.file.etag;
    Object.assign(server.file, { headers: change.etag === undefined ? {} : { etag: change.etag }, total: change.total });
    assert.equal(server.file.etag, kept);
    await download(`${server.url}/f`, path, quick);
    assert.deepEqual(await readFile(`${path}.part`), Buffer.from(content('a')));
    assert.equal(server.requests.at(-1)?.range, undefined);
  }
});

test('Last-Modified serves where there is no strong ETag; without either nothing is continued', async (t) => {
  const date = 'Wed, 21 Oct 2015 07:28:00 GMT';
  for (const [etag, lastModified, ifRange] of [
    ['W/"a"', date, date],
    [undefined, date, date],
    ['W/"a"', undefined, undefined],
    [undefined, undefined, undefined],
  ] as const) {
    const server = await one(t, { etag, lastModified, cuts: [150_000] });
    assert.deepEqual((await fetchFrom(server)).bytes, Buffer.from(content('a')));
    assert.deepEqual([server.requests[1]?.ifRange, server.requests[1]?.range !== undefined], [ifRange, ifRange !== undefined]);
  }
});

test('content of unknown length ends where the host ends it, and a whole part is not fetched again', async (t) => {
  const server = await one(t, { chunked: true });
  const path = await target();
  await download(`${server.url}/f`, path, quick);
  await download(`${server.url}/f`, path, quick);
  assert.deepEqual(await readFile(`${path}.part`), Buffer.from(content('a')));
  assert.deepEqual(
    server.requests.map((request) => request.range),
    [undefined, `bytes=${SIZE}-`],
  );
});

test('where the first answer gave no length, the range that goes on says how long the file is', async (t) => {
  const server = await one(t, { chunked: true, cuts: [100_000, 50_000] });
  const { bytes } = await fetchFrom(server);
  assert.deepEqual(bytes, Buffer.from(content('a')));
  assert.deepEqual(
    server.requests.map((request) => request.range),
    [undefined, 'bytes=100000-', 'bytes=150000-'],
  );
});

test('a range whose answers never give a length is not continued: it might end early', async (t) => {
  const server = await one(t, { chunked: true, cuts: [100_000], headers: { 'content-range': 'bytes 100000-149999/*' } });
  const { bytes } = await fetchFrom(server);
  assert.deepEqual(bytes, Buffer.from(content('a')));
  assert.deepEqual(
    server.requests.map((request) => request.range),
    [undefined, 'bytes=100000-', undefined],
  );
});

test('a web page in the place of a file, and content whose end could be a cut, are refused', async (t) => {
  const server = await one(t, { headers: { 'content-type': 'text/html; charset=utf-8' } });
  await assert.rejects(fetchFrom(server), {
    message: `${server.url}/f: got a web page (content-type text/html; charset=utf-8), expected a file; the host may ask for a login first`,
  });
  const plain = createServer((socket) => void socket.end('HTTP/1.0 200 OK\r\n\r\nthe beginning of a file'));
  await new Promise<void>((listening) => plain.listen(0, '127.0.0.1', listening));
  t.after(() => plain.close());
  const url = `http://127.0.0.1:${(plain.address() as AddressInfo).port}/f`;
  await assert.rejects(download(url, await target(), quick), {
    message: `${url}: the host says neither how long the file is nor where it ends, so that a cut would go unnoticed`,
  });
});

test('an answer that will not get better ends the download at once', async (t) => {
  for (const [status, text] of [
    [404, 'Not Found'],
    [403, 'Forbidden'],
    [410, 'Gone'],
  ] as const) {
    const server = await one(t, { statuses: [status] });
    await assert.rejects(fetchFrom(server), { name: 'InputError', message: `${server.url}/f: the host answered ${status} ${text}` });
    assert.equal(server.requests.length, 1);
  }
});

test('500, 429 and cuts are tried again, a bounded number of times', async (t) => {
  const server = await one(t, { statuses: [500, 429, 503] });
  assert.deepEqual((await fetchFrom(server)).bytes, Buffer.from(content('a')));
  const broken = await one(t, { statuses: Array.from<number>({ length: 50 }).fill(500) });
  await assert.rejects(fetchFrom(broken), {
    message: `${broken.url}/f: cannot be fetched (the host answered 500 Internal Server Error), tried 4 times without a new byte; 0 bytes are kept, and the same command goes on`,
  });
  assert.equal(broken.requests.length, 4);
  const cutting = await one(t, { cuts: Array.from<number>({ length: 50 }).fill(0) });
  await assert.rejects(fetchFrom(cutting), { name: 'InputError' });
  assert.equal(cutting.requests.length, 4);
});

test('a host that cannot be reached is named with the reason', async (t) => {
  const server = await one(t);
  const closed = server.url.replace(/\d+$/, '1');
  await assert.rejects(download(`${closed}/f`, await target(), { ...quick, retries: 1 }), (error: Error) => {
    assert.match(
      error.message,
      /^http:\/\/127\.0\.0\.1:1\/f: cannot be fetched \(fetch failed: .+\), tried 2 times without a new byte; 0 bytes/,
    );
    return true;
  });
});

test('a silent connection counts as cut', async (t) => {
  const server = await one(t, { silent: true });
  await assert.rejects(fetchFrom(server, { ...quick, retries: 0, idleMs: 50 }), {
    message: `${server.url}/f: cannot be fetched (no byte for 0.05 s), tried 1 times without a new byte; 0 bytes are kept, and the same command goes on`,
  });
});

test('redirects are followed with the range, and the commit of the first answer is kept', async (t) => {
  const server = await one(t, { cuts: [100_000] });
  server.files['/a'] = { bytes: new Uint8Array(), redirect: '/f', headers: { 'x-repo-commit': 'abc123' } };
  const path = await target();
  assert.equal((await download(`${server.url}/a`, path, quick)).revision, 'abc123');
  assert.deepEqual(await readFile(`${path}.part`), Buffer.from(content('a')));
  assert.equal(server.requests.at(-1)?.range, 'bytes=100000-');
  server.files['/loop'] = { bytes: new Uint8Array(), redirect: '/loop' };
  await assert.rejects(download(`${server.url}/loop`, path, quick), { message: `${server.url}/loop: more than 10 redirects` });
});

test('Ctrl-C ends it with what has come so far', async (t) => {
  const server = await one(t, { slice: 10_000 });
  const abort = new AbortController();
  const path = await target();
  const work = download(`${server.url}/f`, path, {
    ...quick,
    signal: abort.signal,
    onProgress: (done) => done >= 50_000 && abort.abort(new Error('interrupted')),
  });
  await assert.rejects(work, { message: 'interrupted' });
  const kept = (await readFile(`${path}.part`)).length;
  assert.ok(kept >= 50_000 && kept < SIZE, String(kept));
  await download(`${server.url}/f`, path, quick);
  assert.deepEqual(await readFile(`${path}.part`), Buffer.from(content('a')));
  assert.equal(server.requests.at(-1)?.range, `bytes=${kept}-`);
});

test('a part of another address, or one whose description is damaged, is not continued', async (t) => {
  const server = await one(t);
  const path = await target();
  await assert.rejects(download(`${server.url}/gone`, path, quick));
  for (const state of ['{', JSON.stringify({ url: 'http://other/f', validator: '"a"', bytes: SIZE, revision: null })]) {
    await writeFile(`${path}.part`, 'other bytes');
    await writeFile(`${path}.part.json`, state);
    await download(`${server.url}/f`, path, quick);
    assert.deepEqual(await readFile(`${path}.part`), Buffer.from(content('a')));
  }
});

test('whatever a host does in between, what arrives is its file', async (t) => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.integer({ min: 0, max: 40_000 }), { maxLength: 6 }),
      fc.array(fc.constantFrom(200, 200, 500, 503, 429), { maxLength: 6 }),
      fc.boolean(),
      fc.boolean(),
      async (cuts, statuses, ranges, chunked) => {
        const bytes = content('small', 30_000);
        const server = await one(t, { bytes, cuts, statuses, ranges, chunked });
        const { bytes: got, left } = await fetchFrom(server, { backoffMs: 1, retries: 20 });
        assert.deepEqual(got, Buffer.from(bytes));
        assert.deepEqual(left, ['file.bin']);
      },
    ),
    { numRuns: 40, seed: 13 },
  );
});

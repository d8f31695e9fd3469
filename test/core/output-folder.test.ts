import assert from 'node:assert/strict';
import { appendFile, mkdir, mkdtemp, readFile, readdir, rename, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { test } from 'node:test';
import { readManifest } from '../../src/core/manifest.js';
import { type OutputSettings, openOutputFolder } from '../../src/core/output-folder.js';

async function settings(over: Partial<OutputSettings> = {}): Promise<OutputSettings> {
  const dir = over.dir ?? join(await mkdtemp(join(tmpdir(), 'hopgate-')), 'out');
  return { kind: 'labels', command: 'labels build', options: { preset: null }, seed: 13, inputs: [], ...over, dir };
}

async function withWork(given: OutputSettings): Promise<void> {
  const journal = await (await openOutputFolder(given)).journal('done.journal', (value) => value);
  await journal.append(1);
}

async function finished(given: OutputSettings, files: readonly string[] = []): Promise<void> {
  const out = await openOutputFolder(given);
  for (const name of files) await out.file(name, name);
  await out.finish({ counts: {} });
}

test('nothing outside the work folder exists until the run is finished', async () => {
  const given = await settings();
  const out = await openOutputFolder(given);
  await out.file('notes.txt', 'half');
  assert.deepEqual(await readdir(given.dir), ['.unfinished']);
  await assert.rejects(readManifest(given.dir), {
    message: `${given.dir}: no manifest.json, so not a finished output folder of this product: the run that makes it was interrupted; the same command with --resume goes on`,
  });
  await out.finish({ counts: { notes: 1 } });
  assert.deepEqual((await readdir(given.dir)).toSorted(), ['manifest.json', 'notes.txt']);
});

test('an interrupted run is refused without --resume, and with other settings', async () => {
  const given = await settings();
  await withWork(given);
  await assert.rejects(openOutputFolder(given), {
    name: 'InputError',
    message: `${given.dir}: holds an interrupted run; --resume goes on with it, --force starts again`,
  });
  await assert.rejects(openOutputFolder({ ...given, resume: true, options: { preset: 'halt' } }), {
    message: `${given.dir}: holds an interrupted run with other settings (--preset: it had null, now "halt"); --force starts again`,
  });
  assert.equal((await openOutputFolder({ ...given, resume: true })).finished, undefined);
  assert.equal((await openOutputFolder({ ...given, force: true, options: { preset: 'halt' } })).finished, undefined);
});

test('of a setting with fields of its own only the one that changed is named', async () => {
  const given = { ...(await settings()), options: { llm: { door: 'openai', model: 'a', revision: null } } };
  await withWork(given);
  await assert.rejects(openOutputFolder({ ...given, resume: true, options: { llm: { door: 'openai', model: 'a', revision: '2' } } }), {
    message: `${given.dir}: holds an interrupted run with other settings (--llm (revision): it had null, now "2"); --force starts again`,
  });
});

test('a finished run is refused, left alone under --resume, and replaced under --force', async () => {
  const given = await settings();
  const first = await openOutputFolder(given);
  const manifest = await first.finish({ counts: {} });
  await assert.rejects(openOutputFolder(given), {
    message: `${given.dir}: already holds a finished run; choose another --out, or --force to replace it`,
  });
  await assert.rejects(openOutputFolder({ ...given, resume: true, seed: 14 }), {
    message: `${given.dir}: holds a finished run with other settings (seed: it had 13, now 14); choose another --out, or --force`,
  });
  assert.deepEqual((await openOutputFolder({ ...given, resume: true })).finished, manifest);
  const again = await openOutputFolder({ ...given, force: true });
  assert.equal(again.finished, undefined);
  await assert.rejects(readManifest(given.dir), /no manifest\.json/);
});

test('a changed input file is another run', async () => {
  const given = await settings();
  const input = join(await mkdtemp(join(tmpdir(), 'hopgate-')), 'data.json');
  await writeFile(input, 'one');
  await withWork({ ...given, inputs: [input] });
  await writeFile(input, 'two');
  await assert.rejects(
    openOutputFolder({ ...given, inputs: [input], resume: true }),
    /holds an interrupted run with other settings \(inputs: /,
  );
});

test('a missing input file is named', async () => {
  await assert.rejects(openOutputFolder(await settings({ inputs: ['/nowhere/data.json'] })), {
    name: 'InputError',
    message: '/nowhere/data.json: no such file',
  });
});

test('a torn last journal line is cut off, and the whole ones are given back', async () => {
  const given = await settings();
  const parse = (value: unknown): number => value as number;
  const journal = await (await openOutputFolder(given)).journal('done.journal', parse);
  await journal.append(1);
  await journal.append(2);
  const out = await openOutputFolder({ ...given, resume: true });
  await appendFile(out.temporary('done.journal'), '{"half');
  const again = await out.journal('done.journal', parse);
  assert.deepEqual(again.done, [1, 2]);
  await again.append(3);
  const lines = (await readFile(out.temporary('done.journal'), 'utf8')).trim().split('\n');
  // printf %s 1 | sha256sum | cut -c1-16, and so for 2 and 3
  assert.deepEqual(lines, ['6b86b273ff34fce1 1', 'd4735e3a265e16ee 2', '4e07408562bedb8b 3']);
});

test('a journal entry of which a byte was changed is refused by its line', async () => {
  const given = await settings();
  const parse = (value: unknown): number => value as number;
  const journal = await (await openOutputFolder(given)).journal('done.journal', parse);
  for (const entry of [10, 20]) await journal.append(entry);
  const out = await openOutputFolder({ ...given, resume: true });
  const file = out.temporary('done.journal');
  await writeFile(file, (await readFile(file, 'utf8')).replace(' 20', ' 21'));
  await assert.rejects(out.journal('done.journal', parse), {
    name: 'InputError',
    message: `${file}, line 2: damaged journal entry (not what was written); start again with --force`,
  });
});

test('the manifest is the same whatever order counts and files came in', async () => {
  const texts: string[] = [];
  for (const order of [
    ['a', 'b'],
    ['b', 'a'],
  ]) {
    const given = await settings();
    const out = await openOutputFolder(given);
    for (const name of order) await out.file(`${name}.txt`, name);
    await out.finish({ counts: Object.fromEntries(order.map((name) => [name, 1])) });
    texts.push(await readFile(join(given.dir, 'manifest.json'), 'utf8'));
  }
  assert.equal(texts[0], texts[1]);
});

test('an interrupted run that had not finished a single piece of work is no hindrance', async () => {
  const given = await settings();
  await (await openOutputFolder(given)).journal('done.journal', (value) => value);
  const out = await openOutputFolder({ ...given, options: { preset: 'halt' } });
  assert.deepEqual((await out.finish({ counts: {} })).options, { preset: 'halt' });
});

test('--force replaces only what the same command made, and only a finished run of this product', async () => {
  const given = await settings();
  await finished(given);
  await assert.rejects(openOutputFolder({ ...given, kind: 'claims', command: 'claims build', force: true }), {
    name: 'InputError',
    message: `${given.dir}: holds what labels build made (kind labels); --force replaces only what claims build made; choose another --out`,
  });
  assert.equal((await readManifest(given.dir)).kind, 'labels');

  const text = '{"name":"an extension"}';
  await writeFile(join(given.dir, 'manifest.json'), text);
  for (const over of [{}, { force: true }, { resume: true }])
    await assert.rejects(openOutputFolder({ ...given, ...over }), {
      name: 'InputError',
      message: `${given.dir}: holds a manifest.json that is no finished run of this product, and it stays; choose another --out`,
    });
  assert.equal(await readFile(join(given.dir, 'manifest.json'), 'utf8'), text);
});

test("another command's interrupted run is neither thrown away by --force nor gone on with", async () => {
  const given = await settings();
  await withWork(given);
  const other = { ...given, kind: 'claims', command: 'claims build' } as const;
  for (const over of [{}, { force: true }, { resume: true }])
    await assert.rejects(openOutputFolder({ ...other, ...over }), {
      name: 'InputError',
      message: `${given.dir}: holds an interrupted run of labels build (kind labels); --force replaces only what claims build made; choose another --out`,
    });
  const out = await openOutputFolder({ ...given, resume: true });
  assert.deepEqual((await out.journal('done.journal', (value) => value)).done, [1]);
  await writeFile(out.temporary('settings.json'), 'no json');
  await assert.rejects(openOutputFolder({ ...given, force: true }), {
    name: 'InputError',
    message: `${given.dir}: holds files in .unfinished that are no run of this product; --force replaces only what labels build made; choose another --out`,
  });
});

test('a replaced run whose removal was cut short is ended by its own command alone', async () => {
  const given = await settings();
  await finished(given, ['labels.arrow']);
  await mkdir(join(given.dir, '.unfinished'));
  await rename(join(given.dir, 'manifest.json'), join(given.dir, '.unfinished', 'replaced.json'));
  await assert.rejects(openOutputFolder({ ...given, kind: 'claims', command: 'claims build', force: true }), {
    name: 'InputError',
    message: `${given.dir}: holds an interrupted run of labels build (kind labels); --force replaces only what claims build made; choose another --out`,
  });
  assert.ok((await readdir(given.dir)).includes('labels.arrow'));
  await openOutputFolder({ ...given, force: true });
  assert.deepEqual(await readdir(given.dir), ['.unfinished']);
});

test('--force takes away the files of the run that it replaces, and no others', async () => {
  const given = await settings();
  await finished(given, ['labels.arrow', 'plots/one.svg']);
  await writeFile(join(given.dir, 'mine.txt'), 'notes');
  await finished({ ...given, force: true }, ['labels.jsonl']);
  assert.deepEqual((await readdir(given.dir)).toSorted(), ['labels.jsonl', 'manifest.json', 'mine.txt']);
});

test('a manifest that lists a file outside its folder does not make --force delete it', async () => {
  const given = await settings();
  await finished(given);
  const outside = join(await mkdtemp(join(tmpdir(), 'hopgate-')), 'kept.txt');
  await writeFile(outside, 'kept');
  const manifest = await readManifest(given.dir);
  const entry = { sha256: '0'.repeat(64), bytes: 4 };
  const outputs = [outside, relative(given.dir, outside), '.'].map((name) => ({ name, ...entry }));
  await writeFile(join(given.dir, 'manifest.json'), JSON.stringify({ ...manifest, outputs }));
  await finished({ ...given, force: true });
  assert.equal(await readFile(outside, 'utf8'), 'kept');
});

test('a run replaced by --force takes the finished folders made from it along, and names them', async () => {
  const given = await settings({ kind: 'trajectories', command: 'trajectories run' });
  await finished(given);
  const [gold, mine] = [join(given.dir, 'verdicts', 'gold'), join(given.dir, 'claims', 'mine')];
  await finished({ ...given, dir: gold, kind: 'verdicts', command: 'decide' });
  await mkdir(mine, { recursive: true });
  await writeFile(join(mine, 'notes.txt'), 'notes');
  const out = await openOutputFolder({ ...given, force: true });
  assert.deepEqual(out.removed, [gold]);
  assert.deepEqual(await readdir(join(given.dir, 'verdicts')), []);
  assert.deepEqual(await readdir(mine), ['notes.txt']);
});

test('a seed that JSON cannot hold is refused before any work is done', async () => {
  const given = await settings({ seed: NaN });
  await assert.rejects(openOutputFolder(given), {
    name: 'InputError',
    message: 'field seed: not to be kept in a manifest: Invalid input: expected number, received NaN',
  });
  await assert.rejects(readdir(given.dir), { code: 'ENOENT' });
});

test('an input that is a folder or lies below a file is named as what it is', async () => {
  const file = join(await mkdtemp(join(tmpdir(), 'hopgate-')), 'data.json');
  await writeFile(file, '[]');
  await assert.rejects(openOutputFolder(await settings({ inputs: [tmpdir()] })), { message: `${tmpdir()}: is a folder, expected a file` });
  const below = join(file, 'data.json');
  await assert.rejects(openOutputFolder(await settings({ inputs: [below] })), {
    message: `${below}: a part of the path is a file, expected a folder`,
  });
});

test('discard takes back a run of no use, but none whose journal or ledger has an entry', async () => {
  const bare = await settings();
  const out = await openOutputFolder(bare);
  await out.journal('done.journal', (value) => value);
  await out.file('notes.txt', 'half');
  await out.discard();
  await assert.rejects(readdir(bare.dir), { code: 'ENOENT' });
  for (const name of ['done.journal', 'paid.ledger']) {
    const given = await settings();
    const kept = await openOutputFolder(given);
    await writeFile(kept.temporary(name), 'an entry\n');
    await kept.discard();
    assert.equal(await readFile(kept.temporary(name), 'utf8'), 'an entry\n');
  }
});

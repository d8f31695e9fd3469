import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { readManifest } from '../../src/core/manifest.js';
import { openOutputFolder } from '../../src/core/output-folder.js';
import { renderedOrSkip } from '../support/browser.js';
import { type Ran, hopgate } from '../support/cli.js';
import { testHome } from '../support/encoder-cache.js';

const env = { HOPGATE_HOME: testHome };
let dir: string;
let ran: Ran;

before(
  async () => {
    dir = join(await mkdtemp(join(tmpdir(), 'hopgate-demo-')), 'demo');
    ran = await hopgate(['demo', '--out', dir], { env });
  },
  { timeout: 900_000 },
);

test('the demo goes the whole way and its last line is the page', async () => {
  assert.equal(ran.code, 0, ran.stderr);
  const lines = ran.stdout.trim().split('\n');
  assert.equal(lines.at(-1), join(dir, 'report.html'));
  assert.match(
    lines[0] as string,
    /^dataset +gate reads +questions +loops +calls always +calls gated +call cut +agreement +coverage safety +Δcoverage +τ$/,
  );
  for (const name of ['hotpotqa', '2wiki', 'musique']) {
    const row = lines.find((line) => line.startsWith(name)) as string;
    const [, claims, questions, loops, always, gated, cut] = row.split(/ {2,}/) as [string, string, string, string, string, string, string];
    assert.equal(claims, 'claim text');
    assert.ok(Number(questions) >= 60 && Number(loops) > Number(questions), row);
    assert.ok(Math.abs(1 - Number(gated) / Number(always) - Number(cut)) < 0.0006, row);
  }
  const manifest = await readManifest(dir, 'demo');
  assert.deepEqual(
    manifest.outputs.map((one) => one.name),
    ['report.html', 'report.json'],
  );
});

test('its page is self-contained: no script, no other host, no picture or style from elsewhere', async () => {
  const html = await readFile(join(dir, 'report.html'), 'utf8');
  assert.doesNotMatch(html, /https?:|<script|<link|<img|url\((?!#)|@import/);
  assert.equal(html.match(/<svg/g)?.length, 2, 'one frontier for each kind of gate');
});

test('its page is laid out by a real browser, plots and tables included', (t) => {
  const rendered = renderedOrSkip(t, join(dir, 'report.html'));
  if (rendered === undefined) return;
  assert.match(rendered, /<title>hopgate demo<\/title>/);
  assert.ok((rendered.match(/aria-label="line"/g)?.length ?? 0) >= 2);
  assert.match(rendered, /What the gate saves and costs/);
});

test("a folder that holds something else is not the demo's to replace", async () => {
  const other = await mkdtemp(join(tmpdir(), 'hopgate-demo-'));
  await mkdir(join(other, 'data'));
  await writeFile(join(other, 'data', 'hotpotqa.json'), 'mine');
  const refused = await hopgate(['demo', '--out', other], { env });
  assert.equal(refused.code, 2);
  assert.equal(refused.stderr, `hopgate: ${other}: holds files that are not a demo's; choose another --out\n`);
  assert.equal(await readFile(join(other, 'data', 'hotpotqa.json'), 'utf8'), 'mine');
  assert.ok(!existsSync(join(other, 'manifest.json')));
});

test("another command's interrupted run is not the demo's to replace", async () => {
  const other = join(await mkdtemp(join(tmpdir(), 'hopgate-demo-')), 'labels');
  const given = { dir: other, kind: 'labels', command: 'labels build', options: {}, seed: 13, inputs: [] } as const;
  await (await (await openOutputFolder(given)).journal('done.journal', (value) => value)).append(1);
  const refused = await hopgate(['demo', '--out', other], { env });
  assert.deepEqual([refused.code, refused.stderr], [2, `hopgate: ${other}: holds files that are not a demo's; choose another --out\n`]);
  assert.equal(await readFile(join(other, '.unfinished', 'done.journal'), 'utf8'), '6b86b273ff34fce1 1\n');
});

test('report finds the results below a folder, and refuses one without any', async () => {
  const out = join(dir, '..', 'page');
  const made = await hopgate(['report', dir, '--out', out, '--title', 'A <b>title</b>']);
  assert.equal(made.code, 0, made.stderr);
  assert.equal(made.stdout.trim(), join(dir, '..', 'page', 'report.html'));
  assert.match(await readFile(join(out, 'report.html'), 'utf8'), /<h1>A &#60;b&#62;title&#60;\/b&#62;<\/h1>/);
  const empty = await mkdtemp(join(tmpdir(), 'hopgate-report-'));
  const refused = await hopgate(['report', empty]);
  assert.equal(refused.code, 2);
  assert.equal(refused.stderr, `hopgate: ${empty}: holds no finished calibration or replay, nor does a folder directly below it\n`);
});

import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { loadServer, runListPage, runPage } from '../../../runtime/index.js';
import { type BrowserPage, browserPageOrSkip } from '../../support/browser-session.js';
import { HOSTILE, SEARCHES, exampleRun } from '../../support/example-runs.js';
import { temporaryFolder } from '../../support/files.js';
import { scriptedGate } from '../../support/scripted-gate.js';

const HIT = 'window.hit === undefined';
const WIDTHS = [360, 1280];

async function opened(t: TestContext, html: string): Promise<BrowserPage | undefined> {
  const page = await browserPageOrSkip(t);
  if (!page) return undefined;
  const file = join(await temporaryFolder(), 'run.html');
  await writeFile(file, html);
  await page.open(pathToFileURL(file).href);
  return page;
}

/** Nothing was asked for but the page itself, and nothing was complained of. */
function quiet(page: BrowserPage, where: string): void {
  assert.deepEqual(page.complaints, [], where);
  assert.equal(page.requests.length, 1, `${where}: ${page.requests.join(' ')}`);
}

const width = (page: BrowserPage): Promise<[number, number]> =>
  page.evaluate('[document.documentElement.scrollWidth, document.documentElement.clientWidth]');

test('a run’s page opens from a file, asks for nothing, and needs no sideways scrolling on a telephone or a desk', async (t) => {
  const { session, settings } = await exampleRun(({ loop }) => loop === 3, { gate: { mode: 'shadow' } });
  session.open.claim_texts = ['Salem was founded by Roger Conant.', 'Roger Conant was born in East Budleigh, Devon, in England.'];
  for (const line of session.loops) line.matched = [line.loop > 1, line.loop > 2];
  const page = await opened(t, runPage(session, { settings }));
  if (!page) return;
  quiet(page, 'file');
  for (const size of WIDTHS) {
    for (const scheme of ['light', 'dark'] as const) {
      await page.resize(size, 800);
      await page.emulate('', scheme);
      const [content, room] = await width(page);
      assert.ok(content <= room, `${size} px: ${content} > ${room}`);
    }
    // Tables too, at these lengths: what may scroll by itself does not have to.
    const inner: string[] = await page.evaluate<string[]>(
      '[...document.querySelectorAll(".wide")].filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.getAttribute("aria-label"))',
    );
    assert.deepEqual(inner, [], `${size} px`);
  }
});

test('every step is reached by keyboard: by arrows, by the buttons, and by the list of loops without any script', async (t) => {
  const { session, settings } = await exampleRun(({ loop }) => loop === 3);
  const page = await opened(t, runPage(session, { settings }));
  if (!page) return;
  const focused = (): Promise<string> => page.evaluate('document.activeElement.textContent');
  const current = (): Promise<string[]> => page.evaluate('[...document.querySelectorAll("[aria-current=step]")].map((one) => one.id)');
  const seen: string[] = [];
  for (let at = 0; at < 4; at++) {
    await page.press('ArrowRight');
    seen.push(await focused());
  }
  // The last press stays at the last loop.
  assert.deepEqual(seen, ['Loop 1: skipped', 'Loop 2: skipped', 'Loop 3: called, covered', 'Loop 3: called, covered']);
  await page.press('ArrowLeft');
  assert.deepEqual(await current(), ['loop-2']);
  const button = 'document.querySelectorAll(".stepper button")';
  await page.evaluate(`${button}[2].focus()`);
  await page.press('Enter');
  const shown = (): Promise<string[]> =>
    page.evaluate('[...document.querySelectorAll(".loop")].filter((one) => one.offsetHeight > 0).map((one) => one.id)');
  assert.deepEqual(await shown(), ['loop-2'], 'one at a time');
  await page.evaluate(`${button}[1].focus()`);
  await page.press('Enter');
  assert.deepEqual(await shown(), ['loop-3']);
  assert.equal(await page.evaluate('document.querySelector(".stepper output").textContent'), 'Loop 3 of 3');
  await page.emulate('print');
  assert.deepEqual(await shown(), ['loop-1', 'loop-2', 'loop-3'], 'in print all are there');
  quiet(page, 'stepping');

  await page.emulate('');
  await page.scripting(false);
  await page.open(await page.evaluate('location.href'));
  assert.deepEqual(await shown(), ['loop-1', 'loop-2', 'loop-3'], 'without script all are there');
  const reached: string[] = [];
  for (let at = 0; at < 3; at++) {
    await page.press('Tab');
    reached.push(await page.evaluate('document.activeElement.getAttribute("href") ?? document.activeElement.getAttribute("aria-label")'));
  }
  assert.deepEqual(reached, ['#loop-1', '#loop-2', '#loop-3']);
});

test('hostile content stays text wherever it stands, and long words do not widen the page', async (t) => {
  const long = 'x'.repeat(400);
  const searches = SEARCHES.map((sentences) => sentences.map(({ text }) => ({ title: HOSTILE, text: `${HOSTILE} ${long} ${text}` })));
  const { session, settings } = await exampleRun(
    () => {
      throw new Error(HOSTILE);
    },
    { question: `${HOSTILE} ${long}`, searches, gate: { mode: 'shadow', claims: { source: 'heuristic', make: () => Promise.resolve([`${HOSTILE} 1,0,0`, `${long} 0,1,0`]) } } }, // prettier-ignore
  );
  session.open.session = HOSTILE;
  session.open.question_id = HOSTILE;
  const page = await opened(t, runPage(session, { settings, list: 'javascript&quot;' }));
  if (!page) return;
  assert.ok(await page.evaluate(HIT));
  assert.equal(await page.evaluate('document.querySelectorAll("img, script").length'), 1, 'the page’s own script alone');
  assert.equal(await page.evaluate('document.querySelector("h1").textContent'), `${HOSTILE} ${long}`);
  assert.match(await page.evaluate('document.querySelector("#loop-1 .sentences").textContent'), /<img src=x onerror="window\.hit=1">/);
  quiet(page, 'hostile');
  for (const size of WIDTHS) {
    await page.resize(size, 800);
    const [content, room] = await width(page);
    assert.ok(content <= room, `${size} px: ${content} > ${room}`);
  }
  const file = join(await temporaryFolder(), 'list.html');
  await writeFile(file, runListPage([session], { title: HOSTILE, href: () => HOSTILE }));
  await page.open(pathToFileURL(file).href);
  assert.ok(await page.evaluate(HIT));
  assert.equal(await page.evaluate('document.querySelectorAll("img, script").length'), 0);
  quiet(page, 'list');
});

test('a run’s page prints, in light colours also where the reader has dark ones', async (t) => {
  const { session, settings } = await exampleRun(({ loop }) => loop === 3);
  const page = await opened(t, runPage(session, { settings }));
  if (!page) return;
  await page.emulate('', 'dark');
  assert.notEqual(await page.evaluate('getComputedStyle(document.body).backgroundColor'), 'rgb(255, 255, 255)');
  await page.emulate('print', 'dark');
  assert.equal(await page.evaluate('getComputedStyle(document.body).backgroundColor'), 'rgb(255, 255, 255)');
  assert.equal(await page.evaluate('getComputedStyle(document.querySelector("nav")).display'), 'none');
  assert.match((await page.pdf()).subarray(0, 5).toString(), /^%PDF-/);
});

test('a running service shows its questions under /ui, with links that a browser follows, and under its own policy', async (t) => {
  const page = await browserPageOrSkip(t);
  if (!page) return;
  const { startService, sessionPages } = await loadServer();
  const running = await startService({
    gateOf: (log) => scriptedGate(({ loop }) => loop === 3, { log, content: true }).gate,
    requestsPerMinute: null,
    pages: sessionPages,
  });
  t.after(() => running.close());
  const { address } = running.http;
  const post = async (path: string, body: object): Promise<{ [field: string]: unknown }> =>
    (await (await fetch(`${address}${path}`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })).json()) as { [field: string]: unknown }; // prettier-ignore
  const { session } = await post('/v1/sessions', { question: 'Who founded the town?' });
  for (const evidence of SEARCHES) await post(`/v1/sessions/${String(session)}/observe`, { evidence, query: 'a query' });
  await page.open(`${address}/ui`);
  // A browser asks a server for its icon by itself.
  assert.deepEqual(page.complaints.filter((one) => !one.includes('favicon')), []); // prettier-ignore
  assert.equal(await page.evaluate('document.querySelector("td a").textContent'), 'Who founded the town?');
  const link = await page.evaluate<string>('document.querySelector("td a").href');
  await page.open(link);
  assert.deepEqual(page.complaints.filter((one) => !one.includes('favicon')), []); // prettier-ignore
  await page.press('ArrowRight');
  assert.equal(await page.evaluate('document.activeElement.textContent'), 'Loop 1: skipped');
  assert.equal(await page.evaluate('document.querySelector("nav a").href'), `${address}/ui`);
  const unknown = await fetch(`${address}/ui/sessions/none`);
  assert.deepEqual([unknown.status, unknown.headers.get('cache-control')], [404, 'no-store']);
  assert.match(await unknown.text(), /not among the last ones/);
});

test('the list shows one reason’s questions alone by a plain link, and all again', async (t) => {
  const covered = await exampleRun(({ loop }) => loop === 3);
  const ended = await exampleRun(() => false);
  const page = await opened(t, runListPage([covered.session, ended.session], { title: 'Questions', href: (_, at) => `${at}.html` }));
  if (!page) return;
  const shown = (): Promise<string[]> =>
    page.evaluate('[...document.querySelectorAll(".group")].filter((one) => one.offsetHeight > 0).map((one) => one.id)');
  const follow = (hash: string): Promise<unknown> => page.evaluate(`document.querySelector('a[href="#${hash}"]').click()`);
  assert.deepEqual(await shown(), ['covered', 'hostFinished']);
  await follow('covered');
  assert.deepEqual(await shown(), ['covered']);
  await follow('all');
  assert.deepEqual(await shown(), ['covered', 'hostFinished']);
  for (const size of WIDTHS) {
    await page.resize(size, 800);
    const [content, room] = await width(page);
    assert.ok(content <= room, `${size} px: ${content} > ${room}`);
  }
  quiet(page, 'list');
});

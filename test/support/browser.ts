import { spawnSync } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { pathToFileURL } from 'node:url';

export const BROWSERS = ['chromium', 'chromium-browser', 'google-chrome'];

/** Headless, and asking nobody for anything. */
export const FLAGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** The page's document after a real browser has laid it out, or undefined after skipping the test with the reason. */
export function renderedOrSkip(t: TestContext, file: string): string | undefined {
  const browser = BROWSERS.find((name) => spawnSync(name, ['--version'], { encoding: 'utf8' }).status === 0);
  if (browser === undefined) {
    t.skip(`needs browser: none of ${BROWSERS.join(', ')} is on the path`);
    return undefined;
  }
  const profile = mkdtempSync(join(tmpdir(), 'hopgate-browser-'));
  const ran = spawnSync(browser, [...FLAGS, `--user-data-dir=${profile}`, '--dump-dom', pathToFileURL(file).href], {
    encoding: 'utf8',
    timeout: 60_000,
    maxBuffer: 1 << 26,
  });
  if (ran.status !== 0) throw new Error(`${browser}: exit ${String(ran.status)}\n${ran.stderr}`);
  return ran.stdout;
}

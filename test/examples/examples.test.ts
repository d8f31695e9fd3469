import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { testHome } from '../support/encoder-cache.js';
import { hostPackagesOrSkip } from '../support/host-packages.js';
import { repositoryRoot } from '../support/root.js';

const HOSTS = ['ai-sdk-6', 'ai-sdk-7', 'langchain', 'langgraph', 'mastra'];

/** What an agent of the examples prints: its mock model goes on searching while it may, so only coverage ends it. */
const PRINTED =
  /^search 1: 2 new sentences, margin 0\.\d+, not covered\nsearch 2: 1 new sentences, margin 0\.\d+, covered\nstopped by covered: Ines Valdorra was born in Port Merrin\.\n$/;

for (const host of HOSTS) {
  test(`the example ${host} runs on the real packages and the real encoder, stops by coverage and answers`, (t) => {
    const packages = hostPackagesOrSkip(t, host);
    if (!packages) return;
    const ran = spawnSync(process.execPath, [join(packages.folder, 'agent.mjs')], {
      encoding: 'utf8',
      timeout: 120_000,
      // Mastra counts its features over the network unless told not to.
      env: { ...process.env, HOPGATE_HOME: testHome, MASTRA_TELEMETRY_DISABLED: '1' },
    });
    assert.equal(ran.stderr, '');
    assert.match(ran.stdout, PRINTED);
    assert.equal(ran.status, 0);
  });

  test(`P98: the adapter's structural types fit those of ${host}, and its example compiles`, (t) => {
    const packages = hostPackagesOrSkip(t, host);
    if (!packages) return;
    const tsc = join(repositoryRoot, 'node_modules', 'typescript', 'bin', 'tsc');
    const ran = spawnSync(process.execPath, [tsc, '-p', packages.folder], { encoding: 'utf8', timeout: 120_000 });
    assert.equal(ran.stdout, '');
    assert.equal(ran.status, 0);
  });
}

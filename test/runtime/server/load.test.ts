import assert from 'node:assert/strict';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { createGate, liveSmallDecider, loadServer, openSmallVerifier, sharedEncoder } from '../../../runtime/index.js';
import { heuristicClaims } from '../../../datasets/index.js';
import { hopgateJson } from '../../support/cli.js';
import { openMinilm, testHome } from '../../support/encoder-cache.js';
import { temporaryFolder } from '../../support/files.js';
import { twoWikiFile } from '../../support/label-folder.js';
import { scriptedGate } from '../../support/scripted-gate.js';
import { ended, loadQuestions, percentile, runLoad, serveProcess } from '../../support/serve-load.js';
import { ask } from '../../support/serving.js';

const env = { HOPGATE_HOME: testHome };
let model: string;

before(async () => {
  const root = await temporaryFolder();
  const file = await twoWikiFile(10);
  model = join(root, 'model');
  await hopgateJson(['labels', 'build', file, '--forms', 'sentence,title,triple,masked', '--out', join(root, 'labels')]);
  await hopgateJson(['small', 'train', join(root, 'labels'), '--out', model, '--epochs', '4', '--hidden', '8', '--backend', 'wasm'], {
    env,
  });
});

test('200 sessions at once, with the built-in encoder and a small verifier: each has the margins and verdicts that it has alone, and a kill loses them all, clearly', async (t) => {
  const questions = loadQuestions(200);
  const encoder = sharedEncoder(await openMinilm());
  const verifier = await openSmallVerifier(model, encoder);
  const alone = createGate({
    encoder,
    claims: {
      source: 'heuristic',
      make: ({ id, question }) => Promise.resolve(heuristicClaims({ question_id: id, row: 0, question })),
    },
    decider: liveSmallDecider(verifier),
    mode: 'shadow',
  });
  const expected = [];
  for (const { session: id, question, searches } of questions) {
    const session = await alone.open(question, { id });
    const answer = { session: id, margins: [] as (number | null)[], covered: [] as (boolean | null)[] };
    for (const evidence of searches) {
      const { margin, covered, stoppedBy } = await session.observe(evidence);
      answer.margins.push(margin);
      answer.covered.push(covered);
      if (stoppedBy !== null) break;
    }
    expected.push(answer);
  }
  await verifier.close();
  await encoder.close();

  const args = ['--decider', 'small', '--model', model, '--claims', 'heuristic'];
  const first = await serveProcess(args, env);
  const { answers, times } = await runLoad(first.address, questions);
  t.diagnostic(
    `${times.length} observations of 200 sessions at once: p50 ${percentile(times, 0.5).toFixed(0)} ms, p99 ${percentile(times, 0.99).toFixed(0)} ms, ${(await first.memory()).toFixed(0)} MB`,
  );
  assert.deepEqual(answers, expected);
  await ended(first, 'SIGKILL');

  const second = await serveProcess(args, env);
  const lost = await ask(second.address, 'POST', '/v1/sessions/load-0/observe', { json: { evidence: ['x'] } });
  assert.deepEqual([lost.status, (lost.body.error as { code: string }).code], [404, 'session_unknown']);
  await ended(second, 'SIGTERM');
});

test('memory stays flat over 20,000 sessions', async (t) => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const { openService } = await loadServer();
  const discard = { write: () => undefined, lost: { events: 0, reason: null }, close: () => undefined };
  let now = 0;
  const service = openService({ gate: scriptedGate(() => true, { log: discard }).gate, limits: { idleMillis: 500 }, clock: () => now });
  const heaps: number[] = [];
  for (let at = 0; at < 20_000; at++) {
    const session = `s${at}`;
    now++;
    await service.openSession({ question: `Who was number ${at}?`, session });
    // Evidence of its own for each: the cache of vectors has to let go of it.
    await service.observe(session, { evidence: [`1,${at % 977},${at % 613}`, `1,0,${at}`] });
    // Half of them are left to expire, which the service does in its own time.
    if (at % 2 === 0) service.close(session);
    if (at % 1000 === 999) service.sweep();
    if (at === 9_999 || at === 19_999) {
      collect();
      heaps.push(process.memoryUsage().heapUsed / 1e6);
    }
  }
  t.diagnostic(`heap after 10,000 and 20,000 sessions: ${heaps.map((one) => one.toFixed(1)).join(', ')} MB`);
  const [half, whole] = heaps as [number, number];
  assert.ok(whole - half < 4, `${half} → ${whole}`);
});

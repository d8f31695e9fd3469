import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { checkClaimFree, profileIn } from '../support/claim-free.js';
import { hopgateJson } from '../support/cli.js';
import { dataOrSkip } from '../support/data.js';
import { openMinilm } from '../support/encoder-cache.js';
import { temporaryFolder } from '../support/files.js';
import { repositoryRoot } from '../support/root.js';
import { skippedInSecondPass } from '../support/second-pass.js';
import { verifierFolderOf } from '../support/verifier-folder.js';

/** Kept between test runs, as in real-data.test.ts. */
const env = { HOPGATE_HOME: join(repositoryRoot, '.cache', 'test') };

test('a drafter and an imported verifier route 50 real questions claim-free in a live gate exactly as replay does', async (t) => {
  if (skippedInSecondPass(t)) return;
  const data = dataOrSkip(t);
  if (data === undefined) return;
  const folder = await temporaryFolder();
  const [run, drafter, calibration] = ['run', 'drafter', 'calibration'].map((name) => join(folder, name)) as [string, string, string];
  const verifier = await verifierFolderOf({ seed: 16 });
  const followUps = ['--agent', 'scripted', '--followups', join(data, 'followups_2wiki.jsonl'), '--rows', '0..50'];
  await hopgateJson(['trajectories', 'run', join(data, '2wiki_train_500.json'), ...followUps, '--out', run]);
  await hopgateJson(['claims', 'build', run, '--source', 'heuristic']);
  await hopgateJson(['embed', run], { env });
  const decide = ['--decider', 'verifier', '--model', verifier, '--claims', 'heuristic', '--provider', 'cpu', '--threads', '1'];
  await hopgateJson(['decide', run, ...decide, '--name', 'tiny'], { env });
  // Other questions' claims; one pass over them is enough for a margin that is a drafter's.
  const training = ['--field', 'titles', '--source', 'heuristic', '--epochs', '1'];
  await hopgateJson(['drafter', 'train', join(data, 'claims_2wiki.jsonl'), ...training, '--out', drafter], { env });
  const sources = ['--decider', 'tiny', '--claims', 'heuristic', '--drafter', drafter];
  await hopgateJson(['calibrate', run, ...sources, '--grid', 'exact', '--out', calibration], { env });
  const encoder = await openMinilm();
  try {
    const sums = await checkClaimFree(run, {
      encoder,
      drafter,
      verifier,
      profile: profileIn(calibration),
      claims: 'heuristic',
      verdicts: 'tiny',
    });
    t.diagnostic(JSON.stringify(sums));
    assert.equal(sums.questions, 50);
    // The test says something: some questions are called and some are not, some fire and some do not.
    for (const part of [sums.claimed, sums.fired]) assert.ok(part > 0 && part < 50, String(part));
    assert.ok(sums.calls < sums.loops);
  } finally {
    await encoder.close();
  }
});

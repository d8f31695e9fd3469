import assert from 'node:assert/strict';
import { mkdtemp, readFile, rename, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { writeBuiltinData } from '../../datasets/builtin/index.js';
import { completion, serveChat } from '../support/chat-server.js';
import { hopgate, hopgateJson } from '../support/cli.js';

/** A run of some rows of the built-in 2Wiki questions with gold claims and verdicts; with embeddings where it is to be measured on. */
async function makeRun(root: string, name: string, rows: string, embedded: boolean): Promise<string> {
  const data = await writeBuiltinData(join(root, 'data'), { seed: 13 });
  const dir = join(root, name);
  const { data: file, followups } = data['2wiki'];
  await hopgateJson(['trajectories', 'run', file, '--agent', 'scripted', '--followups', followups, '--rows', rows, '--out', dir]);
  await hopgateJson(['claims', 'build', dir, '--source', 'gold']);
  await hopgateJson(['decide', dir, '--decider', 'gold']);
  if (embedded) await hopgateJson(['embed', dir, '--cache-dir', join(root, 'cache')]);
  return dir;
}

let made: Promise<{ root: string; held: string }> | undefined;

/** Made once: the first 25 questions, with all that a drafter is measured on. */
function heldRun(): Promise<{ root: string; held: string }> {
  made ??= (async () => {
    const root = await mkdtemp(join(tmpdir(), 'hopgate-drafter-'));
    return { root, held: await makeRun(root, 'held', '0..25', true) };
  })();
  return made;
}

test('a drafter is measured at training and by evaluate alike, and stands in the gate of calibrate and replay under its sha256', async () => {
  const { root, held } = await heldRun();
  const training = await makeRun(root, 'training', '25..60', false);
  const train = (out: string, ...more: string[]): string[] => {
    const fit = ['--epochs', '6', '--backend', 'wasm', '--cache-dir', join(root, 'cache')];
    return ['drafter', 'train', join(training, 'claims', 'gold'), '--out', join(root, out), ...fit, ...more];
  };
  const trained = await hopgateJson(train('drafter', '--run', held));
  const frontier = trained.frontier as { dataset: string; questions: number; drafter: number; claim_text: number }[];
  assert.deepEqual(
    frontier.map((one) => [one.dataset, one.questions]),
    [['2wiki', 25]],
  );
  const manifest = JSON.parse(await readFile(join(root, 'drafter', 'manifest.json'), 'utf8')) as {
    details: { label: string; claim_text: string };
  };
  assert.equal(manifest.details.label, 'gold-claim drafter (diagnostic)');
  assert.equal(manifest.details.claim_text, 'title');

  const evaluated = await hopgateJson(['drafter', 'evaluate', join(root, 'drafter'), held, '--out', join(root, 'evaluation')]);
  assert.deepEqual(evaluated.frontier, frontier);
  assert.equal(evaluated.beatsBaselines, trained.beatsBaselines);

  const drafted = ['--drafter', join(root, 'drafter'), '--resamples', '50', '--out', join(root, 'calibration')];
  const calibrated = await hopgateJson(['calibrate', held, '--decider', 'gold', '--claims', 'gold', ...drafted]);
  const own = (calibrated.frontier as { bars: { bar: number; call_cut: number }[] }[])[0]?.bars.find((one) => one.bar === 0.9);
  assert.equal(own?.call_cut, frontier[0]?.drafter);
  const profile = join(root, 'calibration', 'profile.json');
  const { drafter_sha256: sha256, claim_text: claimText } = JSON.parse(await readFile(profile, 'utf8')) as { [field: string]: unknown };
  assert.equal(sha256, evaluated.drafter_sha256);
  assert.equal(claimText, null);

  const replay = (out: string, ...more: string[]): string[] => [
    'replay', held, '--profile', profile, '--resamples', '50', '--out', join(root, out), ...more,
  ]; // prettier-ignore
  await hopgateJson(replay('replayed', '--drafter', join(root, 'drafter')));
  const without = await hopgate(replay('without'));
  assert.deepEqual(
    [without.code, without.stderr],
    [2, `hopgate: --drafter: expected the drafter that the profile was made with (sha256 ${String(sha256)})\n`],
  );
  await hopgateJson(train('other', '--seed', '14'));
  const other = await hopgate(replay('other-replay', '--drafter', join(root, 'other')));
  assert.equal(other.code, 2);
  assert.match(
    other.stderr,
    /drafter_sha256 differs: the profile was made with "[0-9a-f]{64}", this run uses "[0-9a-f]{64}"; --transfer applies the profile knowingly\n$/,
  );
});

test('a drafter is not measured on questions that it has seen, and calibrate and replay say how many there are', async () => {
  const { root, held } = await heldRun();
  const { data } = (await writeBuiltinData(join(root, 'data'), { seed: 13 }))['2wiki'];
  const asked = (JSON.parse(await readFile(data, 'utf8')) as { question: string }[]).slice(0, 25).map((one) => one.question);
  const train = async (out: string, questions: string[], ...more: string[]): Promise<{ [field: string]: unknown }> => {
    const claims = join(root, `${out}.jsonl`);
    await writeFile(
      claims,
      questions.map((question) => `${JSON.stringify({ question, claims: [`the claim of ${question}`] })}\n`).join(''),
    );
    const fit = ['--epochs', '1', '--held-out', '0.25', '--backend', 'wasm', '--cache-dir', join(root, 'cache')];
    return hopgateJson(['drafter', 'train', claims, '--out', join(root, out), ...fit, ...more]);
  };
  // Fifteen of the run's 25 questions, in another case, and 25 others; ten of the forty are held out and choose the epoch.
  const others = Array.from({ length: 25 }, (_, at) => `who wrote the book number ${at}?`);
  const trained = await train('part', [...asked.slice(10).map((one) => one.toUpperCase()), ...others], '--run', held);
  const lines = (await readFile(join(root, 'part', 'training-questions.jsonl'), 'utf8')).trim().split('\n');
  const uses = lines.map((line) => (JSON.parse(line) as { use: string }).use);
  assert.deepEqual([uses.filter((one) => one === 'training').length, uses.filter((one) => one === 'epoch').length], [30, 10]);
  const [entry] = trained.frontier as { questions: number; left_out: { training: number; epoch: number } }[];
  assert.ok(entry);
  const { training, epoch } = entry.left_out;
  assert.deepEqual([entry.questions, training + epoch], [10, 15]);
  const seen = `2wiki: the drafter was trained on ${training} of 25 questions, and ${epoch} chose its epoch`;
  const leftOut = `${seen}: they are left out of the call cut`;
  assert.ok((trained.warnings as string[]).includes(leftOut), String(trained.warnings));

  const evaluated = await hopgateJson(['drafter', 'evaluate', join(root, 'part'), held]);
  assert.deepEqual(evaluated.frontier, trained.frontier);
  assert.deepEqual((evaluated.counts as { left_out: object }).left_out, { training, epoch });
  assert.ok((evaluated.warnings as string[]).includes(leftOut), String(evaluated.warnings));

  const drafted = ['--drafter', join(root, 'part'), '--decider', 'gold', '--claims', 'gold', '--resamples', '50'];
  const warned = `${seen}: figures on them are not those of held-out questions`;
  const calibrated = await hopgateJson(['calibrate', held, ...drafted, '--out', join(root, 'seen-calibration')]);
  assert.ok((calibrated.warnings as string[]).includes(warned), String(calibrated.warnings));
  const replayed = await hopgateJson(['replay', held, ...drafted, '--tau', '0.5', '--out', join(root, 'seen-replay')]);
  assert.ok((replayed.warnings as string[]).includes(warned), String(replayed.warnings));

  const whole = await train('whole', asked, '--run', held);
  assert.deepEqual(whole.frontier, []);
  const none = '2wiki: no question is left that the drafter has not seen: its call cut is n/a';
  assert.ok((whole.warnings as string[]).includes(none), String(whole.warnings));
  const refused = await hopgate(['drafter', 'evaluate', join(root, 'whole'), held, '--quiet']);
  assert.deepEqual(
    [refused.code, refused.stderr],
    [2, `hopgate: ${join(root, 'whole')}: the drafter has seen every question of ${held} at training: nothing is left to measure it on\n`],
  );
});

test('the claim-free pipeline: drafter and prompt judge through embed, decide, calibrate and replay, with no claims folder there', async (t) => {
  const { root } = await heldRun();
  const server = await serveChat(t, ({ messages }) => {
    const found = (messages.at(-1)?.content ?? '').match(/^Looked up:/gm)?.length ?? 0;
    const yes = Math.min(0.95, 0.1 + 0.2 * found);
    const top = [['yes', yes] as const, ['no', 1 - yes] as const].map(([token, p]) => ({ token, logprob: Math.log(p) }));
    return completion('x', { logprobs: { content: [{ token: 'x', logprob: -9, top_logprobs: top }] } });
  });
  const free = await makeRun(root, 'free', '60..90', false);
  const cache = ['--cache-dir', join(root, 'cache')];
  const fit = ['--epochs', '2', '--backend', 'wasm', ...cache];
  await hopgateJson(['drafter', 'train', join(free, 'claims', 'gold'), '--out', join(root, 'free-drafter'), ...fit]);
  // From here on there are no claims to read.
  await rename(join(free, 'claims'), join(root, 'claims-elsewhere'));
  await rename(join(free, 'verdicts'), join(root, 'verdicts-elsewhere'));
  const embedded = await hopgateJson(['embed', free, ...cache]);
  assert.deepEqual(embedded.warnings, ['this run has no claims yet, so none were embedded']);
  await hopgateJson(['decide', free, '--decider', 'judge', '--llm', 'tiny', '--llm-url', server.url, ...cache]);
  const drafter = ['--drafter', join(root, 'free-drafter'), '--resamples', '50'];
  const calibration = join(root, 'free-calibration');
  await hopgateJson(['calibrate', free, '--decider', 'judge', ...drafter, '--out', calibration]);
  const profile = JSON.parse(await readFile(join(calibration, 'profile.json'), 'utf8')) as { [field: string]: unknown };
  assert.deepEqual([(profile.decider as { name: string; claims: unknown }).claims ?? null, profile.claim_text], [null, null]);
  const replayed = await hopgateJson([
    'replay',
    free,
    '--profile',
    join(calibration, 'profile.json'),
    ...drafter,
    '--out',
    join(root, 'free-replay'),
  ]);
  const manifest = JSON.parse(await readFile(join(root, 'free-replay', 'manifest.json'), 'utf8')) as {
    options: { claims: unknown };
    inputs: { name: string }[];
  };
  assert.equal(manifest.options.claims, null);
  // The profile, and the manifests of run, embeddings, verdicts and drafter.
  assert.equal(manifest.inputs.length, 5);
  assert.ok((replayed.counts as { questions: number }).questions > 0);
});

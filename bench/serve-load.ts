// The service under load, in a process of its own, with the built-in encoder and a small verifier of one's own:
//   node build/bench/serve-load.js SMALL_VERIFIER
// 200 sessions at once over different pools of sentences (popular documents, every document new), then 20,000 sessions one behind the other in
// batches. Prints milliseconds per observation as the client sees them and resident memory.
import { ask } from '../test/support/serving.js';
import { ended, loadQuestions, percentile, runLoad, serveProcess } from '../test/support/serve-load.js';

const [model] = process.argv.slice(2);
if (model === undefined) throw new Error('expected the folder of a small verifier');
const served = await serveProcess(['--decider', 'small', '--model', model, '--claims', 'heuristic'], {});
try {
  for (const pool of [200, 1_000_000]) {
    const questions = loadQuestions(200, { pool }).map((one) => ({ ...one, session: `${pool}-${one.session}` }));
    const from = performance.now();
    const { times } = await runLoad(served.address, questions);
    console.log(
      `${pool} sentences: ${times.length} observations in ${((performance.now() - from) / 1000).toFixed(1)} s, p50 ${percentile(times, 0.5).toFixed(0)} ms, p99 ${percentile(times, 0.99).toFixed(0)} ms, ${(await served.memory()).toFixed(0)} MB`,
    );
  }
  const PER_BATCH = 80;
  for (let at = 0; at < 20_000; at += PER_BATCH) {
    const requests = Array.from({ length: PER_BATCH }, (_, i) => [
      { op: 'open', session: `many-${at + i}`, question: `Who was born in the year ${(at + i) % 50}?` },
      { op: 'observe', session: `many-${at + i}`, evidence: [`Number ${(at + i) % 100} was born there.`] },
      { op: 'close', session: `many-${at + i}` },
    ]).flat();
    const { body } = await ask(served.address, 'POST', '/v1/batch', { json: { requests } });
    const failed = (body.results as { status: number }[]).filter(({ status }) => status >= 300).length;
    if (failed > 0) throw new Error(`${failed} of ${requests.length} requests failed`);
    if ((at + PER_BATCH) % 4000 === 0) console.log(`${at + PER_BATCH} sessions: ${(await served.memory()).toFixed(0)} MB`);
  }
} finally {
  await ended(served, 'SIGTERM');
}

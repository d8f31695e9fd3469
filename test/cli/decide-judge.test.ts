import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { openVerdicts, questionVerdict } from '../../runtime/index.js';
import { runFolder } from '../../src/core/run-folder.js';
import { collect } from '../../src/core/tables.js';
import { type ChatBody, completion, refusal, serveChat } from '../support/chat-server.js';
import { hopgate, hopgateJson } from '../support/cli.js';
import { temporaryFile, temporaryFolder } from '../support/files.js';
import { hotpotqaQuestions } from '../support/hotpotqa-file.js';

let run: string;
before(async () => {
  run = await temporaryFolder();
  const file = await temporaryFile('small.json', JSON.stringify(hotpotqaQuestions(5)));
  await hopgateJson(['trajectories', 'run', file, '--agent', 'chain', '--budget', '3', '--out', run]);
});

/** Yes grows with what was looked up. */
function judge({ messages }: ChatBody): object {
  const found = messages.at(-1)?.content.match(/^(?:Looked up|Sub-answer):/gm)?.length ?? 0;
  const [yes, no] = [0.1 + 0.25 * found, 0.8 - 0.25 * found];
  const top = [
    { token: ' yes', logprob: Math.log(yes) },
    { token: 'No', logprob: Math.log(no) },
  ];
  return completion('x', { usage: [50, 1], logprobs: { content: [{ token: 'x', logprob: -9, top_logprobs: top }] } });
}

async function firesIn(name: string): Promise<boolean[][]> {
  const { questions, scan } = await openVerdicts(runFolder.verdicts(run, name));
  return (await collect(questions())).map(({ question, rows }) => questionVerdict(question, rows, scan).firesByLoop);
}

test('judge verdicts stand beside the run, with what they cost; the OR of two deciders fires where either does', async (t) => {
  const server = await serveChat(t, judge);
  const llm = ['--llm', 'tiny', '--llm-url', server.url, '--cache-dir', await temporaryFolder()];
  const result = await hopgateJson(['decide', run, '--decider', 'judge', ...llm, '--concurrency', '3']);
  const counts = result.counts as { [name: string]: unknown };
  // Fifteen loops; the eight calls of the polarity check belong to no question.
  assert.deepEqual(counts.usage, { calls: 15, prompt_tokens: 750, completion_tokens: 15 });
  assert.deepEqual([counts.canaries_right, counts.fires, counts.firing_loops, server.requests.length], [4, { 2: 5 }, 10, 23]);
  const { details } = await openVerdicts(runFolder.verdicts(run, 'judge'));
  const { reads, threshold, model, prompt_sha256: sha } = details.decider as { [field: string]: unknown };
  assert.deepEqual([reads, threshold, details.claims, (model as { model: string }).model], ['sentences', 0.5, null, 'tiny']);
  assert.match(String(sha), /^[0-9a-f]{64}$/);

  await hopgateJson(['decide', run, '--decider', 'judge', '--name', 'judge-95', '--threshold', '0.95', ...llm]);
  assert.equal(server.requests.length, 23);
  await hopgateJson(['decide', run, '--decider', 'gold']);
  const or = await hopgateJson(['decide', run, '--decider', 'or', '--of', 'gold,judge']);
  // Its verdicts are made of the judge's, and cost what those did; gold asks no model.
  assert.deepEqual((or.counts as typeof counts).usage, { calls: 15, prompt_tokens: 750, completion_tokens: 15 });
  const twice = await hopgateJson(['decide', run, '--decider', 'or', '--name', 'both', '--of', 'judge,judge-95']);
  assert.deepEqual((twice.counts as typeof counts).usage, { calls: 30, prompt_tokens: 1500, completion_tokens: 30 });
  const [gold, judged, either] = [await firesIn('gold'), await firesIn('judge'), await firesIn('or')];
  assert.deepEqual(
    either,
    judged.map((fires, at) => fires.map((fire, loop) => fire || (gold[at]?.[loop] ?? false))),
  );
  assert.ok(gold.some((fires) => fires[0]) || gold.every((fires) => !fires[0]));
  assert.deepEqual((await openVerdicts(runFolder.verdicts(run, 'or'))).details.claims, null);
});

test('a failed question is exit 1, and --resume asks for it alone; a wrong polarity is exit 1 and leaves nothing', async (t) => {
  let broken = true;
  const server = await serveChat(t, (body) => {
    const [question = ''] = (body.messages.at(-1)?.content ?? '').split('\n');
    return broken && question.includes(String(hotpotqaQuestions(5)[3]?.question)) ? refusal(400, 'no') : judge(body);
  });
  const args = ['decide', run, '--decider', 'judge', '--name', 'again', '--llm', 'tiny', '--llm-url', server.url, '--no-reply-cache'];
  const ran = await hopgate([...args, '--quiet']);
  assert.equal(ran.code, 1);
  assert.match(ran.stderr, /1 of 5 questions failed/);
  broken = false;
  const asked = server.requests.length;
  await hopgateJson([...args, '--resume']);
  assert.equal(server.requests.length - asked, 8 + 3);
  const contrary = await serveChat(t, () =>
    completion('no', { logprobs: { content: [{ token: 'no', logprob: 0, top_logprobs: [{ token: 'no', logprob: 0 }] }] } }),
  );
  const wrong = await hopgate([
    'decide',
    run,
    '--decider',
    'judge',
    '--name',
    'wrong',
    '--llm',
    'tiny',
    '--llm-url',
    contrary.url,
    '--quiet',
    '--no-reply-cache',
  ]);
  assert.equal(wrong.code, 1);
  assert.match(wrong.stderr, /^hopgate: the judge gives obviously sufficient states P\(yes\) 0\.000 on average, and empty ones 0\.000/);
});

test('a server that is down before the first question is exit 1 and keeps what the run has; up again, --resume goes on', async (t) => {
  let down = true;
  const server = await serveChat(t, (body) => (down ? refusal(503, 'busy') : judge(body)));
  const args = ['decide', run, '--decider', 'judge', '--name', 'later', '--llm', 'tiny', '--llm-url', server.url, '--llm-retries', '0'];
  const ran = await hopgate([...args, '--no-reply-cache', '--quiet']);
  assert.equal(ran.code, 1);
  assert.equal(
    ran.stderr,
    `hopgate: --decider judge: ${server.url}/v1/chat/completions: status 503: "busy"; the same command with --resume tries again\n`,
  );
  down = false;
  const { work } = await hopgateJson([...args, '--no-reply-cache', '--resume']);
  // The call that failed is still counted.
  assert.equal((work as { calls: number }).calls, server.requests.length - 1);
});

test('bad usage of judge and or is exit 2', async () => {
  const cases: [string[], string][] = [
    [['--decider', 'or'], '--of: got null, expected the names of two verdicts in RUN/verdicts: A,B'],
    [['--decider', 'or', '--of', 'gold,gold'], '--of: got "gold,gold", expected the names of two verdicts in RUN/verdicts: A,B'],
    [['--decider', 'gold', '--llm', 'x'], '--llm: of no use with --decider gold'],
    [['--decider', 'gold', '--llm-threads', '2'], '--llm-threads: of no use with --decider gold'],
    [['--decider', 'gold', '--no-llm-schema'], '--llm-schema: of no use with --decider gold'],
    [['--decider', 'gold', '--no-reply-cache'], '--reply-cache: of no use with --decider gold'],
    [['--decider', 'judge', '--encoder-url', 'http://x'], '--encoder-url: of no use with --decider judge'],
    [['--decider', 'gold', '--query-prefix', 'q'], '--query-prefix: of no use with --decider gold'],
    [['--decider', 'gold', '--cache-dir', 'x'], '--cache-dir: of no use with --decider gold'],
    [['--decider', 'gold', '--model-dir', 'x'], '--model-dir: of no use with --decider gold'],
    [['--decider', 'judge', '--threshold', '2'], '--threshold: got 2, expected a number in [5e-324, 1]'],
  ];
  for (const [args, message] of cases) {
    const ran = await hopgate(['decide', run, ...args, '--quiet']);
    assert.deepEqual([ran.code, ran.stderr], [2, `hopgate: ${message}\n`]);
  }
});

import assert from 'node:assert/strict';
import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { answerColumns } from '../../src/core/agent-answers.js';
import { readManifest } from '../../src/core/manifest.js';
import { readRunQuestions } from '../../src/core/run-questions.js';
import { collect, readTable } from '../../src/core/tables.js';
import { type ChatAnswer, type ChatBody, completion, refusal, selfAskState, serveChat } from '../support/chat-server.js';
import { hopgate, hopgateJson } from '../support/cli.js';
import { temporaryFile, temporaryFolder } from '../support/files.js';
import { hotpotqaQuestions } from '../support/hotpotqa-file.js';

const questions = hotpotqaQuestions(4);
const dataset = (): Promise<string> => temporaryFile('small.json', JSON.stringify(questions));
const userOf = (body: ChatBody): string => body.messages.at(-1)?.content ?? '';

/** Two follow-ups, then an answer that names the last intermediate answer. */
function selfAsk(body: ChatBody): ChatAnswer {
  const user = userOf(body);
  if (user.endsWith('Answer:')) return completion(`about ${(/Question: (.*)\n/.exec(user) ?? [])[1]?.slice(0, 12)}`);
  const { question, asked } = selfAskState(body);
  return completion(asked < 2 ? `Follow up: w${asked} ${question.slice(0, 10)}?` : 'So the final answer is: w1');
}

const selfAskRun = async (url: string, ...more: string[]): Promise<string[]> => [
  'trajectories',
  'run',
  await dataset(),
  '--agent',
  'self-ask',
  '--llm',
  'tiny',
  '--llm-url',
  url,
  ...more,
];

const hashes = async (folder: string): Promise<[string, string][]> =>
  Promise.all((await readdir(folder)).toSorted().map(async (name) => [name, (await readFile(join(folder, name))).toString('base64')]));

test('Self-Ask through the command: loops with intermediate answers, answers with transcripts, and what it took', async (t) => {
  const server = await serveChat(t, async (body) => {
    await new Promise((resolve) => setTimeout(resolve, 30));
    return selfAsk(body);
  });
  const [out, cache] = [await temporaryFolder(), await temporaryFolder()];
  const args = await selfAskRun(server.url, '--cache-dir', cache);
  const result = await hopgateJson([...args, '--out', out, '--concurrency', '2']);
  const counts = result.counts as { [name: string]: unknown };
  // Three steps and two intermediate answers a question, at 7 and 3 tokens.
  assert.deepEqual(counts.usage, { calls: 20, prompt_tokens: 140, completion_tokens: 60 });
  assert.deepEqual([counts.questions, counts.loops, counts.stopped_by], [4, 8, { no_follow_up: 4 }]);
  assert.deepEqual(counts.agent, { repeated_queries: 0, unmarked_starts: 0, forced_stops: 0 });
  assert.equal(server.underWay.most, 2);
  const manifest = await readManifest(out, 'trajectories');
  const agent = manifest.details.agent as { [field: string]: unknown };
  assert.deepEqual([agent.agent, agent.force_continue, manifest.details.budget], ['self-ask', false, 6]);
  assert.match(String(agent.prompt_sha256), /^[0-9a-f]{64}$/);
  const all = await collect(readRunQuestions(out));
  assert.deepEqual(
    all.map(({ trajectory: { row, loops } }) => [row, loops.length, loops[0]?.sub_answer?.startsWith('about w0'), loops[1]?.stop_reason]),
    [0, 1, 2, 3].map((row) => [row, 2, true, 'no_follow_up']),
  );
  const answers = await collect(readTable(out, manifest, 'answers', answerColumns));
  assert.deepEqual(
    answers.map(({ row, answer, transcript }) => [row, answer, transcript.includes('Intermediate answer: about')]),
    [0, 1, 2, 3].map((row) => [row, 'w1', true]),
  );

  // One at a time, from the cache: the same bytes, and nothing asked.
  const before = server.requests.length;
  const again = await temporaryFolder();
  await hopgateJson([...args, '--out', again]);
  assert.equal(server.requests.length, before);
  assert.deepEqual(await hashes(again), await hashes(out));
});

test('a question whose calls fail harms no other: exit 1 with a count, and --resume asks for it alone', async (t) => {
  let broken = true;
  const failing = String(questions[2]?.question).slice(0, 20);
  const server = await serveChat(t, (body) =>
    broken && selfAskState(body).question.startsWith(failing) ? refusal(400, '{"error":"no"}') : selfAsk(body),
  );
  const [out, calm] = [await temporaryFolder(), await temporaryFolder()];
  const args = await selfAskRun(server.url, '--no-reply-cache');
  const ran = await hopgate([...args, '--out', out, '--quiet']);
  assert.equal(ran.code, 1);
  assert.match(
    ran.stderr,
    /1 of 4 questions failed; the others are kept, and the same command with --resume tries the failed ones again \(question "q2": /,
  );
  assert.ok(!(await readdir(out)).includes('manifest.json'));
  broken = false;
  const before = server.requests.length;
  await hopgateJson([...args, '--out', out, '--resume']);
  assert.equal(server.requests.length - before, 5);
  await hopgateJson([...args, '--out', calm]);
  assert.deepEqual(await hashes(out), await hashes(calm));
});

test('P91: budget, threshold and forced continuation of the flags are those of manifest and trace', async (t) => {
  const sure = (text: string, p: number): object =>
    completion(text, {
      logprobs: { content: (text.match(/\s*\S+/g) ?? []).map((token) => ({ token, logprob: Math.log(p), top_logprobs: [] })) },
    });
  let at = 0;
  const server = await serveChat(t, (body) => (body.logprobs === true ? sure(`Sentence number ${at++}.`, 0.2) : selfAsk(body)));
  const common = ['--llm', 'tiny', '--llm-url', server.url, '--no-reply-cache', '--rows', '..1'];
  const cases: [string[], { [field: string]: unknown }, number, string][] = [
    [['--agent', 'flare'], { beta: 0.4 }, 8, 'sentence_limit'],
    [['--agent', 'dragin', '--budget', '2', '--beta', '0.5'], { beta: 0.5, fidelity: 'approximate' }, 2, 'budget'],
    [['--agent', 'flare', '--beta', '0.1'], { beta: 0.1, fidelity: 'exact' }, 0, 'sentence_limit'],
    [['--agent', 'self-ask', '--force-continue', '--budget', '3'], { force_continue: true }, 2, 'continue_refused'],
    [['--agent', 'self-ask', '--budget', '1'], { force_continue: false }, 1, 'budget'],
  ];
  for (const [args, identity, loops, reason] of cases) {
    const out = await temporaryFolder();
    const { counts } = (await hopgateJson(['trajectories', 'run', await dataset(), ...args, ...common, '--out', out])) as {
      counts: { loops: number; stopped_by: object; without_loop?: number };
    };
    assert.deepEqual(
      [counts.loops, counts.stopped_by, counts.without_loop],
      [loops, loops === 0 ? {} : { [reason]: 1 }, loops === 0 ? 1 : undefined],
      args.join(' '),
    );
    const { details } = await readManifest(out, 'trajectories');
    const agent = details.agent as { [field: string]: unknown };
    for (const [field, value] of Object.entries(identity)) assert.equal(agent[field], value, `${args.join(' ')} ${field}`);
    assert.ok(loops <= (details.budget as number));
  }
});

test('bad usage of the agents on a language model is exit 2', async (t) => {
  const server = await serveChat(t, () => completion('yes'));
  const file = await dataset();
  const llm = ['--llm', 'tiny', '--llm-url', server.url];
  const cases: [string[], string][] = [
    [['--agent', 'chain', '--force-continue'], '--force-continue: of no use with --agent chain'],
    [['--agent', 'self-ask', '--beta', '0.4', ...llm], '--beta: of no use with --agent self-ask'],
    [['--agent', 'chain', ...llm], '--llm: of no use with --agent chain'],
    [['--agent', 'chain', '--budget-calls', '5'], '--budget-calls: of no use with --agent chain'],
    [['--agent', 'chain', '--no-reply-cache'], '--reply-cache: of no use with --agent chain'],
    [['--agent', 'chain', '--concurrency', '2'], "--concurrency: of no use with --agent chain over a question's own pages"],
    [['--agent', 'flare', '--beta', '2', ...llm], '--beta: got 2, expected a number in [5e-324, 1]'],
    [['--agent', 'self-ask'], '--llm: expected a model: the path of a .gguf file, or with --llm-url its name on that server'],
  ];
  for (const [args, message] of cases) {
    const out = await temporaryFolder();
    const ran = await hopgate(['trajectories', 'run', file, ...args, '--quiet', '--out', out]);
    assert.deepEqual([ran.code, ran.stderr], [2, `hopgate: ${message}\n`]);
  }
  // Refused before the first question; what the probe cost stays known.
  const out = await temporaryFolder();
  const ran = await hopgate(['trajectories', 'run', file, '--agent', 'flare', ...llm, '--no-reply-cache', '--quiet', '--out', out]);
  assert.equal(ran.code, 2);
  assert.match(ran.stderr, /^hopgate: --agent flare: needs the log-probabilities of tokens, and the language model gives none \(/);
  assert.equal(server.requests.length, 1);
  assert.deepEqual(await readdir(out), ['.unfinished']);
  assert.ok((await readdir(join(out, '.unfinished'))).includes('paid.ledger'));
});

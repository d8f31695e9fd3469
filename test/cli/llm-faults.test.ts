import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readFile, readdir } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { sha256 } from '../../src/core/hash.js';
import { random } from '../../src/core/random.js';
import { type ChatAnswer, type ChatBody, completion, refusal, selfAskState, serveChat } from '../support/chat-server.js';
import { commandFile, hopgate, hopgateJson } from '../support/cli.js';
import { temporaryFile, temporaryFolder } from '../support/files.js';
import { hotpotqaQuestions } from '../support/hotpotqa-file.js';

const questions = hotpotqaQuestions(8);
const JSON_TYPE = { 'content-type': 'application/json' };

/** One follow-up, then an answer: two steps and an intermediate answer a question. */
function selfAsk(body: ChatBody): ChatAnswer {
  const { question, asked, wantsIntermediate } = selfAskState(body);
  if (wantsIntermediate) return completion('something');
  return completion(asked > 0 ? 'So the final answer is: w1' : `Follow up: ${question.slice(0, 14)}?`);
}
const CALLS_A_QUESTION = 3;

/** Each of these for the question of its place; the last is answered. */
const FAULTS: readonly ((body: ChatBody) => ChatAnswer)[] = [
  () => () => undefined,
  () => (response: ServerResponse) => response.writeHead(200, JSON_TYPE).end('{"choices": [{"mess'),
  () => refusal(429, 'slow down', { 'retry-after': '0' }),
  () => refusal(500, 'down'),
  () => (response: ServerResponse) => response.writeHead(200, { 'content-type': 'text/html' }).end('<p>hello</p>'),
  () => (response: ServerResponse) => {
    response.writeHead(200, JSON_TYPE);
    const block = Buffer.alloc(1 << 20, 'x');
    const send = (left: number): void => {
      while (left > 0 && response.write(block)) left--;
      if (left > 0) response.once('drain', () => send(left - 1));
      else response.end();
    };
    send(100);
  },
  () => (response: ServerResponse) => {
    response.writeHead(200, { ...JSON_TYPE, 'content-length': '1000' }).write('{"choices"');
    setTimeout(() => response.destroy(), 20);
  },
  selfAsk,
];

const hashes = async (folder: string): Promise<string[]> =>
  Promise.all((await readdir(folder)).toSorted().map(async (name) => `${name} ${sha256(await readFile(join(folder, name)))}`));

async function command(url: string, ...more: string[]): Promise<string[]> {
  const file = await temporaryFile('small.json', JSON.stringify(questions));
  return ['trajectories', 'run', file, '--agent', 'self-ask', '--llm', 'tiny', '--llm-url', url, ...more];
}

test('a broken server costs its questions one clear error each, the others nothing; healed, --resume gives the undisturbed run', async (t) => {
  let broken = true;
  const server = await serveChat(t, (body) => {
    // The request for an intermediate answer does not repeat the question.
    const asked = selfAskState(body).question;
    const at = questions.findIndex(({ question }) => asked === question);
    return broken ? (FAULTS[at] ?? selfAsk)(body) : selfAsk(body);
  });
  const [out, calm] = [join(await temporaryFolder(), 'out'), join(await temporaryFolder(), 'out')];
  const flags = ['--llm-timeout', '2', '--llm-retries', '1', '--concurrency', '3'];
  const args = await command(server.url, ...flags, '--cache-dir', await temporaryFolder());
  const began = performance.now();
  const ran = await hopgate([...args, '--out', out]);
  assert.ok(performance.now() - began < 60_000);
  assert.equal(ran.code, 1, ran.stderr);
  const address = `${server.url}/v1/chat/completions`;
  for (const [at, fault] of [
    'no answer within 2 s',
    'got "{\\"choices\\": [{\\"mess", expected JSON',
    'status 429 after 2 tries: "slow down"',
    'status 500 after 2 tries: "down"',
    'got content type "text/html" ("<p>hello</p>"), expected application/json',
    'a reply of over 33554432 bytes, which is not read on',
    'the connection broke off within the reply (UND_ERR_SOCKET)',
  ].entries())
    assert.ok(ran.stderr.includes(`warning: question "q${at}": ${address}: ${fault}\n`), `${fault} is not in ${ran.stderr}`);
  assert.match(
    ran.stderr,
    /^hopgate: 7 of 8 questions failed; the others are kept, and the same command with --resume tries the failed ones again/m,
  );
  // The good question's calls, one for each fault, one more for each that is sent again.
  assert.equal(server.requests.length, CALLS_A_QUESTION + 7 + 2);
  broken = false;
  await hopgateJson([...args, '--out', out, '--resume']);
  assert.equal(server.requests.length, CALLS_A_QUESTION + 9 + 7 * CALLS_A_QUESTION);
  await hopgateJson([...(await command(server.url)), '--cache-dir', await temporaryFolder(), '--out', calm]);
  assert.deepEqual(await hashes(out), await hashes(calm));
});

test('no call whose reply had come is made again after kill -9, with and without what was journalled, and the bytes are the same', async (t) => {
  const server = await serveChat(t, async (body) => {
    await wait(40);
    return selfAsk(body);
  });
  const concurrency = 2;
  const [out, calm] = [join(await temporaryFolder(), 'out'), join(await temporaryFolder(), 'out')];
  const args = await command(server.url, '--concurrency', String(concurrency));
  await hopgateJson([...args, '--cache-dir', await temporaryFolder(), '--out', calm]);
  const undisturbed = server.requests.length;
  assert.equal(undisturbed, questions.length * CALLS_A_QUESTION);
  const killed = [...args, '--cache-dir', await temporaryFolder(), '--out', out, '--resume'];
  const draw = random(13, 'kill');
  const KILLS = 3;
  for (let kills = 0; kills < KILLS; kills++) {
    const before = server.requests.length;
    const child = spawn(process.execPath, [commandFile, ...killed], { stdio: 'ignore' });
    const ended = new Promise<NodeJS.Signals | null>((resolve) => child.once('close', (_, signal) => resolve(signal)));
    // Some calls after the first one, and within one.
    const calls = 1 + draw.int(4);
    while (server.requests.length < before + calls) await wait(5);
    await wait(draw.float() * 40);
    child.kill('SIGKILL');
    assert.equal(await ended, 'SIGKILL');
  }
  const result = await hopgateJson(killed);
  const made = server.requests.length - undisturbed;
  assert.ok(made <= undisturbed + KILLS * concurrency, `${made} calls`);
  assert.deepEqual(await hashes(out), await hashes(calm));
  const { calls, cached } = result.work as { calls: number; cached: number };
  // A question is journalled and asks for nothing, or has each of its replies from the cache or from a call.
  assert.ok(calls < undisturbed && calls + cached > 0);
  assert.equal((calls + cached) % CALLS_A_QUESTION, 0, `${calls} calls, ${cached} from the cache`);
});

test('the budget ends a run at its limit, says so, and a higher one with --resume goes on from there', async (t) => {
  const server = await serveChat(t, selfAsk);
  const out = join(await temporaryFolder(), 'out');
  const prices = await temporaryFile(
    'prices.json',
    JSON.stringify({ currency: 'EUR', models: { tiny: { prompt: 1000, completion: 1000 } } }),
  );
  const args = await command(server.url, '--cache-dir', await temporaryFolder(), '--out', out, '--prices', prices, '--concurrency', '2');
  const short = await hopgate([...args, '--budget-calls', '10']);
  // 7 prompt and 3 completion tokens a call.
  assert.equal(
    short.stderr.split('\n').find((line) => line.startsWith('hopgate: ')),
    'hopgate: the budget of 10 calls is reached: 10 calls paid (70 prompt and 30 completion tokens, 0.1000 EUR); everything finished is kept, and ' +
      'the same command with a higher --budget-calls and --resume goes on',
  );
  assert.deepEqual([short.code, server.requests.length], [1, 10]);
  const costly = await hopgate([...args, '--budget-cost', '0.12', '--resume']);
  assert.match(
    costly.stderr,
    /^hopgate: the budget of 0\.12 EUR is reached: 12 calls paid \(84 prompt and 36 completion tokens, 0\.1200 EUR\)/m,
  );
  assert.deepEqual([costly.code, server.requests.length], [1, 12]);
  const rest = await hopgate([...args, '--budget-calls', '24', '--resume']);
  assert.equal(rest.code, 0, rest.stderr);
  assert.match(rest.stderr, /^24 calls paid \(168 prompt and 72 completion tokens, 0\.2400 EUR\), \d+ replies from the cache$/m);
  assert.equal(server.requests.length, questions.length * CALLS_A_QUESTION);
});

test('flags of a model that do not belong together are refused, and no key is ever shown', async () => {
  const [out, key] = [join(await temporaryFolder(), 'out'), 'sk-very secret key'];
  const file = await temporaryFile('small.json', JSON.stringify(questions));
  const refuses = async (more: string[], message: string): Promise<void> => {
    const args = ['trajectories', 'run', file, '--agent', 'self-ask', '--out', out, ...more];
    const ran = await hopgate(args, { env: { MY_KEY: key } });
    assert.deepEqual([ran.code, ran.stderr], [2, `hopgate: ${message}\n`]);
  };
  await refuses([], '--llm: expected a model: the path of a .gguf file, or with --llm-url its name on that server');
  await refuses(['--llm', 'tiny'], '--llm: got "tiny", expected the path of a .gguf file, or --llm-url beside it');
  await refuses(['--llm', 'a.gguf', '--llm-retries', '2'], '--llm-retries: of no use without --llm-url');
  const url = ['--llm', 'tiny', '--llm-url', 'http://127.0.0.1:2'];
  await refuses([...url, '--llm-context', '512'], '--llm-context: of no use with --llm-url');
  await refuses([...url, '--budget-cost', '1'], '--budget-cost: expected --prices beside it');
  await refuses([...url, '--llm-key-env', 'NO_KEY'], '--llm-key-env: got "NO_KEY", which the environment does not have');
  await refuses([...url, '--llm-key-env', 'MY_KEY'], '--llm-key-env: the value of MY_KEY has blanks or characters that no key has');
  const prices = await temporaryFile('prices.json', '{"currency": "EUR", "models": {"big": {"prompt": 1, "completion": 2}}}');
  await refuses([...url, '--prices', prices], `${prices}, field models: no price of "tiny", expected one of "big"`);
});

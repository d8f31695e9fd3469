import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { random } from '../../src/core/random.js';
import { sha256 } from '../../src/core/hash.js';
import { type ChatBody, type ChatServer, completion, selfAskState, serveChat } from '../support/chat-server.js';
import { hopgate, hopgateJson } from '../support/cli.js';
import { ownCache } from '../support/encoder-cache.js';
import { temporaryFile, temporaryFolder } from '../support/files.js';
import { hotpotqaQuestions } from '../support/hotpotqa-file.js';
import { assertSurvivesKills } from '../support/killed-runs.js';

const CONCURRENCY = 3;

/** A model that always says the same to the same: follow-ups of one to three words, claims of the question's words, a judge that wants two answers. */
function say({ messages, ...request }: ChatBody): object {
  const last = messages.at(-1)?.content ?? '';
  const draw = random(13, 'reply', Number.parseInt(sha256(JSON.stringify(messages)).slice(0, 6), 16));
  if (request.logprobs === true) {
    const yes = (last.match(/Sub-answer/g) ?? []).length >= 2 ? 0.9 : 0.2 * draw.float();
    const top = [
      { token: 'yes', logprob: Math.log(yes), bytes: null },
      { token: 'no', logprob: Math.log(1 - yes), bytes: null },
    ];
    return completion(yes > 0.5 ? 'yes' : 'no', { logprobs: { content: [{ ...top[yes > 0.5 ? 0 : 1], top_logprobs: top }] } });
  }
  if (messages.length > 4) {
    const asked = selfAskState({ messages, ...request }).question.split(' ');
    return completion(
      draw.int(4) === 0
        ? 'So the final answer is: w1'
        : `Follow up: ${asked.slice(0, 2 + draw.int(3)).join(' ')} w${draw.int(400).toString(36)}?`,
    );
  }
  if (last.includes('JSON')) {
    const word = (last.split('Question: ')[1] ?? 'w1').split(' ');
    const claims = [0, 1].map((at) => ({
      target_entity: word[at],
      expected_target: 'w2',
      role: 'bridge_title',
      answer_type: 'other',
      expected_claim: word.slice(at, at + 4).join(' '),
    }));
    return completion(JSON.stringify(claims));
  }
  return completion(`w${draw.int(400).toString(36)}`);
}

function serve(t: { after(fn: () => unknown): void }): Promise<ChatServer> {
  return serveChat(t, async (body) => {
    await wait(3);
    return say(body);
  });
}

async function flags(server: ChatServer, questions: number): Promise<string[]> {
  const file = await temporaryFile('questions.json', JSON.stringify(hotpotqaQuestions(questions)));
  return ['trial', file, '--llm', 'double', '--llm-url', server.url, '--concurrency', String(CONCURRENCY)];
}

test('one command from a dataset file to a replay table with EM, and what it cost; a second trial asks for nothing again', async (t) => {
  const server = await serve(t);
  const [args, folder] = [await flags(server, 12), await temporaryFolder()];
  const cache = await ownCache(folder);
  const out = join(folder, 'trial');
  const shown = await hopgate([...args, '--cache-dir', cache, '--out', out]);
  assert.equal(shown.code, 0, shown.stderr);
  for (const words of [/always-verify/, /\bgate\b/, /\bEM\b/, /calls of a language model/]) assert.match(shown.stdout, words);
  assert.equal(shown.stdout.trim().split('\n').at(-1), join(out, 'report.html'));
  assert.ok((await readdir(out)).includes('report.html'));
  const asked = server.requests.length;
  assert.ok(asked > 12 * 4 && server.underWay.most <= CONCURRENCY);

  const again = await hopgateJson([...args, '--cache-dir', cache, '--out', join(folder, 'again')]);
  assert.equal(server.requests.length, asked);
  assert.deepEqual((again.counts as { questions: number }).questions, 12);
  assert.match(shown.stdout, new RegExp(`^${asked} calls paid .*over all stages and resumes$`, 'm'));
  assert.deepEqual([(again.paid as { calls: number }).calls, (again.work as { calls: number }).calls], [0, 0]);

  // What is finished is another trial's: of other questions, or read otherwise.
  const others = await flags(server, 11);
  for (const more of [others, [...args, '--judge-reads', 'sentences']]) {
    const refused = await hopgate([...more, '--cache-dir', cache, '--out', out, '--resume']);
    assert.equal(refused.code, 2, refused.stdout);
  }
  assert.equal(server.requests.length, asked);
});

test('what would fail at the end is refused at the beginning: too few questions, a threshold out of range, a judge of the wrong polarity', async (t) => {
  const server = await serveChat(t, (body) => {
    // The judge says yes where it should say no.
    if (body.logprobs !== true) return say(body);
    return JSON.parse(JSON.stringify(say(body)).replace(/"(yes|no)"/g, (word) => (word === '"yes"' ? '"no"' : '"yes"'))) as object;
  });
  const out = join(await temporaryFolder(), 'trial');
  const args = [...(await flags(server, 6)), '--cache-dir', await ownCache(await temporaryFolder()), '--out', out];
  const refused = async (more: string[], code: number, words: RegExp): Promise<void> => {
    const ran = await hopgate([...args, ...more]);
    assert.deepEqual([ran.code, words.test(ran.stderr)], [code, true], ran.stderr);
  };
  await refused(['--rows', '0..4'], 2, /got 4 usable questions, expected at least 5 to choose a threshold on/);
  await refused(['--tau', '9'], 2, /^hopgate: --tau: got 9, expected/);
  assert.equal(server.requests.length, 0);
  await refused([], 1, /the judge gives obviously sufficient states/);
  assert.equal(server.requests.length, 8);
});

test('a budget is of all stages together, stops to within one call, and a higher one goes on', async (t) => {
  const server = await serve(t);
  const [args, folder] = [await flags(server, 8), await temporaryFolder()];
  await hopgateJson([...args, '--cache-dir', await ownCache(await temporaryFolder()), '--out', join(folder, 'calm')]);
  const whole = server.requests.length;
  // Five calls behind the first that asks for claims: the agent has ended by then.
  const limit = server.requests.findIndex(({ messages }) => messages.at(-1)?.content.includes('JSON')) + 5;
  server.requests.length = 0;
  const own = ['--cache-dir', await ownCache(folder), '--out', join(folder, 'trial')];
  const stopped = await hopgate([...args, ...own, '--budget-calls', String(limit)]);
  assert.equal(stopped.code, 1, stopped.stderr);
  assert.ok(stopped.stderr.includes(String(limit)), stopped.stderr);
  assert.equal(server.requests.length, limit);
  assert.ok((await readdir(join(folder, 'trial', 'run'))).includes('manifest.json'));
  await hopgateJson([...args, ...own, '--resume']);
  assert.equal(server.requests.length, whole);
});

test(
  'killed at any moment and resumed, a trial asks for no reply again that had arrived, and ends with the same bytes',
  { timeout: 900_000 },
  async (t) => {
    const server = await serve(t);
    const caches = await temporaryFolder();
    let calm = 0;
    await assertSurvivesKills(t, await flags(server, 8), {
      flagsFor: async (out) => ['--cache-dir', await ownCache(join(caches, basename(out)))],
      onCalm: () => {
        calm = server.requests.length;
        server.requests.length = 0;
      },
      onEnd: ({ kills, wholeRuns }) => {
        const most = wholeRuns * calm + kills * CONCURRENCY;
        t.diagnostic(`${server.requests.length} requests, ${calm} undisturbed; at most ${most}`);
        assert.ok(server.requests.length <= most, `${server.requests.length} requests, expected at most ${most}`);
        assert.ok(server.requests.length >= wholeRuns * calm);
      },
    });
  },
);

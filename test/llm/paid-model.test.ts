import assert from 'node:assert/strict';
import { mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import {
  type Budget,
  type BudgetLimits,
  type ChatRequest,
  type LanguageModel,
  LanguageModelError,
  openBudget,
  openHttpModel,
  openReplyCache,
  paidModel,
  readPrice,
} from '../../src/llm/index.js';
import { completion, refusal, serveChat } from '../support/chat-server.js';
import { temporaryFolder } from '../support/files.js';
import { type ScriptedModel, scriptedModel } from '../support/scripted-model.js';

const ask = (content: string, more: Partial<ChatRequest> = {}): ChatRequest => ({
  messages: [{ role: 'user', content }],
  maxTokens: 8,
  ...more,
});
const echo = (): ScriptedModel => scriptedModel(({ messages }) => `said ${messages[0]?.content}`);
/** Long enough that calls begun together are under way together. */
const slowEcho = (): ScriptedModel =>
  scriptedModel(async ({ messages }) => {
    await wait(5);
    return `said ${messages[0]?.content}`;
  });

test('a reply is paid once: by another process, for another run, whatever was asked between', async () => {
  const folder = await temporaryFolder();
  const [first, second] = [echo(), echo()];
  const one = paidModel(first, { cache: openReplyCache(folder), budget: openBudget() });
  const reply = await one.chat(ask('a', { stop: ['\n'], schema: { type: 'object' } }));
  const other = paidModel(second, { cache: openReplyCache(folder), budget: openBudget() });
  assert.deepEqual(await other.chat(ask('a', { schema: { type: 'object' }, stop: ['\n'], temperature: 0 })), reply);
  assert.deepEqual([first.requests.length, second.requests.length, one.cached(), other.cached()], [1, 0, 0, 1]);
});

test('whatever moves a reply is another entry: the model, the messages, every parameter', async () => {
  const folder = await temporaryFolder();
  const cache = openReplyCache(folder);
  const model = echo();
  const paid = paidModel(model, { cache, budget: openBudget() });
  const different: ChatRequest[] = [
    ask('a'),
    ask('b'),
    ask('a', { maxTokens: 9 }),
    ask('a', { temperature: 0.5 }),
    ask('a', { stop: ['x'] }),
    ask('a', { schema: { type: 'object' } }),
    { ...ask('a'), messages: [{ role: 'system', content: 'a' }] },
  ];
  for (const request of [...different, ...different]) await paid.chat(request);
  assert.equal(model.requests.length, different.length);
  const elsewhere = scriptedModel(() => 'x', { identity: { model: 'another' } });
  await paidModel(elsewhere, { cache, budget: openBudget() }).chat(ask('a'));
  assert.equal(elsewhere.requests.length, 1);
});

test('equal requests at one time are one call; one caller that leaves does not end it, the last one does', async () => {
  const model = slowEcho();
  const paid = paidModel(model, { cache: openReplyCache(await temporaryFolder()), budget: openBudget(), concurrency: 8 });
  const leaver = new AbortController();
  const calls = Array.from({ length: 6 }, (_, at) => paid.chat(ask('a'), at === 0 ? { signal: leaver.signal } : {}));
  leaver.abort(new Error('left'));
  const ends = await Promise.allSettled(calls);
  assert.deepEqual(
    ends.map(({ status }) => status),
    ['rejected', ...Array.from({ length: 5 }, () => 'fulfilled')],
  );
  assert.deepEqual([model.requests.length, paid.cached()], [1, 5]);
  // The only caller: its call is broken off, and asked again it is made anew.
  let aborted = 0;
  const hanging: LanguageModel = {
    ...model,
    chat: (_, { signal } = {}) =>
      new Promise((_resolve, reject) =>
        signal?.addEventListener('abort', () => {
          aborted++;
          reject(signal.reason as Error);
        }),
      ),
  };
  const alone = new AbortController();
  const call = paidModel(hanging, { cache: openReplyCache(await temporaryFolder()), budget: openBudget() }).chat(ask('a'), {
    signal: alone.signal,
  });
  setTimeout(() => alone.abort(new Error('enough')), 20);
  await assert.rejects(call, { message: 'enough' });
  assert.equal(aborted, 1);
});

test('a failed call is not kept, and is made again', async () => {
  let calls = 0;
  const model = scriptedModel(() => (calls++ === 0 ? new LanguageModelError('down') : 'up'));
  const paid = paidModel(model, { cache: openReplyCache(await temporaryFolder()), budget: openBudget() });
  await assert.rejects(paid.chat(ask('a')), { name: 'LanguageModelError', message: 'down' });
  assert.equal((await paid.chat(ask('a'))).text, 'up');
});

test('a damaged entry is made again, at whatever byte it was damaged', async () => {
  const folder = await temporaryFolder();
  const model = echo();
  const paid = paidModel(model, { cache: openReplyCache(folder), budget: openBudget() });
  const reply = await paid.chat(ask('a'));
  const file = (await readdir(folder, { recursive: true })).find((name) => name.endsWith('.json'));
  const path = join(folder, file as string);
  const whole = await readFile(path);
  const damages = [
    ...[0, 40, 64, 65, 90, whole.length - 2, whole.length - 1].map((at) => {
      const bytes = Buffer.from(whole);
      bytes[at] = (bytes[at] as number) ^ 1;
      return bytes;
    }),
    Buffer.alloc(0),
    whole.subarray(0, 30),
    whole.subarray(0, whole.length - 1),
    Buffer.concat([whole, Buffer.from('x')]),
  ];
  for (const [at, damage] of damages.entries()) {
    await writeFile(path, damage);
    assert.deepEqual(await paid.chat(ask('a')), reply);
    assert.equal(model.requests.length, at + 2, `damage ${at}`);
    assert.deepEqual(await readFile(path), whole);
  }
});

test('a kept reply that cannot be read is an error with its path, and is not paid again', async () => {
  const folder = await temporaryFolder();
  const model = echo();
  const paid = paidModel(model, { cache: openReplyCache(folder), budget: openBudget() });
  await paid.chat(ask('a'));
  const path = join(folder, (await readdir(folder, { recursive: true })).find((name) => name.endsWith('.json')) as string);
  // A folder in its place: what no permission and a broken disk are too, an error other than that it is missing.
  await rm(path);
  await mkdir(path);
  await assert.rejects(paid.chat(ask('a')), {
    name: 'StoppedError',
    message: `${path}: a kept reply that cannot be read (EISDIR: illegal operation on a directory, read)`,
  });
  assert.equal(model.requests.length, 1);
});

test('neither key nor address is in any file of the cache', async (t) => {
  const folder = await temporaryFolder();
  const key = 'sk-very-secret-key';
  const server = await serveChat(t, (_, number) => (number === 0 ? completion('fine') : refusal(401, key)));
  const door = openHttpModel({ url: server.url, model: 'm', apiKey: key });
  const paid = paidModel(door, { cache: openReplyCache(folder), budget: openBudget({ ledger: join(folder, 'run', 'paid.ledger') }) });
  await paid.chat(ask('a'));
  await assert.rejects(paid.chat(ask('b')));
  const files = (await readdir(folder, { recursive: true, withFileTypes: true })).filter((one) => one.isFile());
  assert.equal(files.length, 2);
  for (const { parentPath, name } of files) {
    const text = `${join(parentPath, name)}\n${await readFile(join(parentPath, name), 'utf8')}`;
    for (const secret of [key, '127.0.0.1', new URL(server.url).port]) assert.ok(!text.includes(secret), `${name} holds ${secret}`);
  }
});

/** Asks `texts` until the budget ends, `concurrency` at a time; returns what was answered. */
async function askAll(
  model: LanguageModel,
  texts: readonly string[],
  concurrency: number,
): Promise<{ answered: number; messages: string[] }> {
  const left = [...texts];
  const messages: string[] = [];
  let answered = 0;
  await Promise.all(
    Array.from({ length: concurrency }, async () => {
      for (let text = left.shift(); text !== undefined && messages.length === 0; text = left.shift()) {
        await model.chat(ask(text)).then(
          () => answered++,
          (error: Error) => messages.push(error.message),
        );
      }
    }),
  );
  return { answered, messages };
}

const texts = Array.from({ length: 60 }, (_, at) => `question ${at}`);
/** `question N` is two words, `said question N` three: what the double counts as tokens. */
const TOKENS_A_CALL = 5;
const price = { currency: 'USD', prompt: 1_000_000, completion: 2_000_000 };
const COST_A_CALL = 2 * 1 + 3 * 2;

for (const concurrency of [1, 8]) {
  test(`a budget ends a run within one call of its limit, ${concurrency} at a time`, async () => {
    const cases: [BudgetLimits, number, number][] = [
      [{ calls: 13 }, 13, 13],
      [{ tokens: 13 * TOKENS_A_CALL }, 13, 13],
      [{ tokens: 13 * TOKENS_A_CALL - 1 }, 13, 13],
      [{ tokens: 13 * TOKENS_A_CALL + 1 }, 13, 14],
      [{ cost: 13 * COST_A_CALL - 0.5 }, 13, 13],
      [{ calls: 1 }, 1, 1],
    ];
    for (const [limits, least, most] of cases) {
      const model = slowEcho();
      const budget = openBudget({ limits, price });
      const paid = paidModel(model, { budget, concurrency });
      const { answered, messages } = await askAll(paid, texts, concurrency);
      assert.ok(messages.length > 0);
      assert.ok(answered >= least && answered <= most, `${JSON.stringify(limits)}: ${answered} calls`);
      assert.equal(model.requests.length, answered, 'every call that was made was answered and kept');
      assert.equal((await budget.paid()).calls, answered);
      // The most that a call may take (by its bytes) is over these limits on tokens, so that only calls far from a limit on calls overlap.
      if (limits.calls === 13) assert.equal(model.mostAtOnce(), concurrency);
    }
  });
}

test('the error says what was spent and how to go on, and a resumed run counts from there', async () => {
  const folder = await temporaryFolder();
  const ledger = join(folder, 'run', '.unfinished', 'paid.ledger');
  const cache = openReplyCache(folder);
  const run = async (limits: BudgetLimits): Promise<{ answered: number; messages: string[]; made: number; budget: Budget }> => {
    const model = echo();
    const budget = openBudget({ limits, price, ledger });
    return { ...(await askAll(paidModel(model, { cache, budget }), texts, 1)), made: model.requests.length, budget };
  };
  const first = await run({ cost: 80 });
  assert.deepEqual(first.messages, [
    'the budget of 80 USD is reached: 10 calls paid (20 prompt and 30 completion tokens, 80.0000 USD); everything finished is kept, and the same ' +
      'command with a higher --budget-cost and --resume goes on',
  ]);
  // The same limit again: what was paid is free now, and nothing more is bought.
  const again = await run({ cost: 80 });
  assert.deepEqual([again.answered, again.made, again.messages], [10, 0, first.messages]);
  const more = await run({ cost: 120 });
  assert.deepEqual([more.answered, more.made], [15, 5]);
  assert.deepEqual(await more.budget.paid(), {
    calls: 15,
    failed: 0,
    estimated: 0,
    lost: 0,
    prompt_tokens: 30,
    completion_tokens: 45,
    cost: 120,
    currency: 'USD',
  });
  assert.equal(more.budget.own().calls, 5);
  // Another run beside it has its own total.
  const other = openBudget({ limits: { calls: 2 }, ledger: join(folder, 'other', '.unfinished', 'paid.ledger') });
  assert.equal((await askAll(paidModel(echo(), { budget: other }), texts, 1)).answered, 2);
});

test('calls that failed count as calls; one that a kill cut off too, until its reply turns up in the cache', async () => {
  const folder = await temporaryFolder();
  const ledger = join(folder, 'paid.ledger');
  const cache = openReplyCache(folder);
  const failing = scriptedModel(() => new LanguageModelError('down'));
  await assert.rejects(paidModel(failing, { cache, budget: openBudget({ ledger }) }).chat(ask('a')));
  // A process that is killed with two calls under way; the reply of one had come and was kept.
  const killed = openBudget({ ledger });
  const hanging = scriptedModel(() => new Promise<string>(() => undefined));
  void paidModel(hanging, { cache, budget: killed, concurrency: 2 }).chat(ask('b'));
  const kept = new Promise<void>((resolve) => {
    void paidModel(echo(), {
      cache: {
        get: async () => undefined,
        put: async (key, reply) => {
          await cache.put(key, reply);
          resolve();
          await new Promise(() => undefined);
        },
      },
      budget: killed,
    }).chat(ask('c'));
  });
  await kept;
  const resumed = openBudget({ ledger });
  const before = await resumed.paid();
  assert.deepEqual([before.calls, before.failed, before.lost, before.prompt_tokens], [3, 1, 2, 0]);
  const model = echo();
  await paidModel(model, { cache, budget: resumed }).chat(ask('c'));
  const after = await resumed.paid();
  assert.deepEqual([after.calls, after.failed, after.lost, after.prompt_tokens, after.completion_tokens], [3, 1, 1, 1, 2]);
  assert.equal(model.requests.length, 0);
  assert.deepEqual(await openBudget({ ledger }).paid(), after);
});

test('a call that failed after the server had worked is paid for: by its usage, else by the most that it may have taken', async (t) => {
  const unusable = [
    completion('x', { finish: 'content_filter', usage: [70, 30] }),
    { choices: [] },
    refusal(200, '<p>', { 'content-type': 'text/html' }),
    refusal(400, 'no'),
  ];
  const server = await serveChat(t, (_, number) => unusable[number % unusable.length] as object);
  const door = openHttpModel({ url: server.url, model: 'm' });
  const ledger = join(await temporaryFolder(), 'paid.ledger');
  const budget = openBudget({ ledger });
  for (const text of ['a', 'b', 'c', 'd']) await assert.rejects(paidModel(door, { budget }).chat(ask(text)), LanguageModelError);
  const paid = await budget.paid();
  // 70 and two times 1 byte and 64 for the message and 64 for the template; 30 and two times 8.
  assert.deepEqual(
    [paid.calls, paid.failed, paid.estimated, paid.prompt_tokens, paid.completion_tokens],
    [4, 4, 2, 70 + 2 * (1 + 64 + 64), 30 + 2 * 8],
  );
  assert.deepEqual(await openBudget({ ledger }).paid(), paid);
  const { messages } = await askAll(
    paidModel(openHttpModel({ url: server.url, model: 'm' }), { budget: openBudget({ limits: { tokens: 374 }, ledger }) }),
    texts,
    1,
  );
  assert.deepEqual(messages, [
    'the budget of 374 tokens is reached: 4 calls paid (328 prompt and 46 completion tokens, 4 failed, 2 of them counted by an upper estimate); ' +
      'everything finished is kept, and the same command with a higher --budget-tokens and --resume goes on',
  ]);
});

test('a damaged ledger is set aside with a warning where nothing hangs on it, and refused by every limit', async () => {
  const ledger = join(await temporaryFolder(), 'paid.ledger');
  await paidModel(echo(), { budget: openBudget({ ledger }) }).chat(ask('a'));
  await writeFile(ledger, (await readFile(ledger, 'utf8')).replace('sent', 'sunk'));
  const refusal = (file: string): object => ({
    name: 'InputError',
    message:
      `${file}: the ledger is damaged, so that what was paid is not known, which --budget-tokens needs; the same command without any --budget flag ` +
      'goes on, and --force starts again',
  });
  const limited = (): Budget => openBudget({ ledger, limits: { tokens: 100 } });
  await assert.rejects(limited().paid(), refusal(ledger));
  const told: string[] = [];
  const budget = openBudget({ ledger, onDamaged: (message) => told.push(message) });
  await paidModel(echo(), { budget }).chat(ask('b'));
  assert.equal((await budget.paid()).calls, 1);
  assert.deepEqual(told, [
    `${ledger}: the ledger is damaged and set aside as ${ledger}.damaged: what was paid before is lost from the total, nothing that was finished is`,
  ]);
  // What was lost stays lost for a limit that is given later.
  await assert.rejects(limited().paid(), refusal(`${ledger}.damaged`));
});

test('a model whose name every object has is without a price too, and a price is a number from 0', async () => {
  const file = join(await temporaryFolder(), 'prices.json');
  await writeFile(file, '{"currency": "USD", "models": {}}');
  for (const name of ['constructor', '__proto__', 'toString'])
    await assert.rejects(readPrice(file, name), {
      name: 'InputError',
      message: `${file}, field models: no price of ${JSON.stringify(name)}, expected one of none`,
    });
  for (const wrong of ['-1', '1e999', 'null', '"1"']) {
    await writeFile(file, `{"currency": "USD", "models": {"m": {"prompt": ${wrong}, "completion": 1}}}`);
    await assert.rejects(readPrice(file, 'm'), { name: 'InputError' });
  }
});

test('two runs at once, in one cache, answer as two after each other do', async () => {
  const runs = (folder: string): { model: LanguageModel; budget: Budget }[] =>
    ['one', 'two'].map((name) => {
      const budget = openBudget({ ledger: join(folder, name, 'paid.ledger') });
      const door = slowEcho();
      return { budget, model: paidModel(door, { cache: openReplyCache(folder), budget, concurrency: 4 }) };
    });
  const questions = (at: number): string[] => texts.slice(at * 20, at * 20 + 30);
  const all = (model: LanguageModel, at: number): Promise<string[]> =>
    Promise.all(questions(at).map(async (text) => (await model.chat(ask(text))).text));
  const serial: string[][] = [];
  for (const [at, { model }] of runs(await temporaryFolder()).entries()) serial.push(await all(model, at));
  const interleaved = await Promise.all(runs(await temporaryFolder()).map(({ model }, at) => all(model, at)));
  assert.deepEqual(interleaved, serial);
});

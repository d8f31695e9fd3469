import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { readManifest } from '../../src/core/manifest.js';
import { runFolder } from '../../src/core/run-folder.js';
import { type ChatServer, completion, serveChat } from '../support/chat-server.js';
import { hopgate, hopgateJson } from '../support/cli.js';
import { temporaryFile, temporaryFolder } from '../support/files.js';
import { hotpotqaQuestions } from '../support/hotpotqa-file.js';
import { embedWithWords, smallRun } from '../support/small-run.js';

const QUESTIONS = 12;

interface Question {
  question: string;
  answer: string;
  supporting_facts: [string, number][];
}
const byQuestion = new Map((hotpotqaQuestions(QUESTIONS) as unknown as Question[]).map((one) => [one.question, one]));

/**
 * Writes the claims that a question's gold pages would give, with prose around them, and answers right as soon as the evidence has both
 * of those pages.
 */
async function server(t: TestContext): Promise<ChatServer> {
  return serveChat(t, ({ messages }) => {
    const user = messages.at(-1)?.content ?? '';
    const { answer, supporting_facts: facts } = byQuestion.get(/^Question: (.*)$/m.exec(user)?.[1] ?? '') as Question;
    const titles = facts.map(([title]) => title);
    if (user.startsWith('Evidence:')) return completion(titles.every((one) => user.includes(`\n${one}: `)) ? answer : 'unknown');
    return completion(`Here:\n${JSON.stringify(titles.map((title) => ({ target_entity: title, claim: `${title} is told of.` })))}`);
  });
}

test('P106: generated claims, embedded, decided on, replayed with EM, and what they cost: the whole way through the commands', async (t) => {
  const { url, requests } = await server(t);
  const home = { HOPGATE_HOME: await temporaryFolder() };
  const llm = ['--llm', 'tiny', '--llm-url', url];
  const run = await smallRun('hotpotqa', 0, QUESTIONS);
  const made = await hopgateJson(['claims', 'build', run, '--source', 'generated', ...llm, '--concurrency', '4'], { env: home });
  assert.equal(made.out, runFolder.claims(run, 'generated'));
  const counts = made.counts as { [name: string]: unknown };
  assert.deepEqual(
    [counts.claims_per_question, counts.readings, counts.entity_f1, counts.usage],
    [
      { 2: QUESTIONS },
      { plain: 0, repaired: QUESTIONS, fallback: 0, none: 0 },
      1,
      { calls: QUESTIONS, prompt_tokens: 7 * QUESTIONS, completion_tokens: 3 * QUESTIONS },
    ],
  );
  assert.equal(requests.length, QUESTIONS);
  await embedWithWords(run, 'again');

  const extracted = await hopgateJson(['extract', run, ...llm], { env: home });
  assert.equal(extracted.out, runFolder.extractions(run, 'tiny'));
  const manifest = await readManifest(runFolder.extractions(run, 'tiny'), 'extractions');
  assert.equal(manifest.details.tokens_counted_by, 'estimate');
  assert.deepEqual(manifest.details.model, manifest.options.llm);
  const paid = requests.length;
  // Every reply is in the cache: the same extractor under another name pays nothing, and agrees.
  await hopgateJson(['extract', run, ...llm, '--name', 'anew'], { env: home });
  assert.equal(requests.length, paid);

  const folder = await temporaryFolder();
  const replay = (out: string, ...more: string[]): string[] =>
    ['replay', run, '--decider', 'gold', '--claims', 'generated', '--encoder', 'again', '--tau', '0.5', '--resamples', '100'].concat(
      ['--out', join(folder, out)],
      more,
    );
  const result = await hopgateJson(replay('both', '--extractor', 'tiny', '--extractor', 'anew'));
  const [dataset] = result.datasets as { systems: { label: string; answers: { extractor: string; em: { value: number } }[] }[] }[];
  const emOf = (label: string): number => dataset?.systems.find((one) => one.label === label)?.answers[0]?.em.value as number;
  // The gold decider stops where both pages are there, and the answer is right there and at every later loop.
  assert.equal(emOf('always-verify'), emOf('full'));
  assert.ok(emOf('full') > 0);
  assert.deepEqual(result.parity, [{ dataset: 'hotpotqa', first: 'tiny', second: 'anew', questions: QUESTIONS, same: QUESTIONS }]);
  assert.deepEqual(
    (result.usage as { stage: string; name: string; usage: { calls: number } }[]).map(({ stage, name, usage }) => [
      stage,
      name,
      usage.calls,
    ]),
    [
      ['claims', 'generated', QUESTIONS],
      ['extractions', 'tiny', paid - QUESTIONS],
      ['extractions', 'anew', paid - QUESTIONS],
    ],
  );
  const told = await hopgate(replay('told', '--extractor', 'tiny'));
  assert.match(told.stdout, /^hotpotqa: answers by tiny on 12 questions$/m);
  assert.match(told.stdout, /^gate +\d\.\d{3} \[/m);
  // P106: what the answers and claims cost stands below them.
  assert.match(
    told.stdout,
    /^hotpotqa, claims \(generated\): 12 calls of a language model, 84 prompt and 36 completion tokens, on 12 questions$/m,
  );
  assert.match(told.stdout, /; decider: gold/);

  const report = join(folder, 'report');
  await hopgateJson(['report', join(folder, 'both'), '--out', report]);
  const page = await readFile(join(report, 'report.html'), 'utf8');
  assert.match(page, /hotpotqa: answers by tiny on 12 questions/);
  assert.match(page, /claims \(generated\): 12 calls of a language model/);
});

test('an extractor and an agent whose replies are reasoning alone end with a warning', async (t) => {
  // As vLLM gives the reply of a model that reasoned until its tokens were used up.
  const { url } = await serveChat(t, () => ({
    choices: [{ message: { role: 'assistant', content: null, reasoning_content: 'Let me see' }, finish_reason: 'length' }],
    usage: { prompt_tokens: 7, completion_tokens: 48 },
  }));
  const env = { HOPGATE_HOME: await temporaryFolder() };
  const llm = ['--llm', 'tiny', '--llm-url', url];
  const run = await smallRun('hotpotqa', 0, 2);
  const { counts, warnings } = await hopgateJson(['extract', run, ...llm], { env });
  const { loops, calls } = counts as { loops: number; calls: number };
  assert.deepEqual(warnings, [
    `${loops} of ${loops} answers are empty`,
    `${calls} of ${calls} replies were cut off after 48 tokens; a model that reasons first has to have that switched off on its server`,
  ]);
  const file = await temporaryFile('small.json', JSON.stringify(hotpotqaQuestions(2)));
  const agent = ['trajectories', 'run', file, '--agent', 'self-ask', ...llm, '--out', join(await temporaryFolder(), 'run')];
  const ran = await hopgateJson(agent, { env });
  assert.ok((ran.warnings as string[]).includes('the agent gave no answer to 2 of 2 questions'), JSON.stringify(ran.warnings));
});

test('an extraction made anew that gives other answers is not compared, and neither is one of another run', async (t) => {
  let turn = 0;
  const { url } = await serveChat(t, () => completion(`answer ${turn}`));
  const env = { HOPGATE_HOME: await temporaryFolder() };
  const extract = ['--llm', 'tiny', '--llm-url', url, '--no-reply-cache'];
  const run = await smallRun('hotpotqa', 0, 4);
  await hopgateJson(['extract', run, ...extract], { env });
  turn = 1;
  await hopgateJson(['extract', run, ...extract, '--name', 'anew'], { env });
  const out = join(await temporaryFolder(), 'replay');
  const replay = ['replay', run, '--decider', 'gold', '--claims', 'gold', '--encoder', 'words', '--systems', 'full', '--out', out];
  const refused = await hopgate([...replay, '--extractor', 'tiny', '--extractor', 'anew']);
  assert.deepEqual(
    [refused.code, refused.stderr],
    [
      1,
      'hopgate: --extractor: anew is tiny extracted anew, and gives the same answers on 0 of 4 questions of hotpotqa, expected at least 0.98 of them: the two are not compared\n',
    ],
  );
  const missing = await hopgate([...replay, '--extractor', 'other']);
  assert.deepEqual([missing.code, missing.stderr], [2, `hopgate: ${runFolder.extractions(run, 'other')}: no such folder\n`]);
  const twice = await hopgate([...replay, '--extractor', 'tiny', '--extractor', 'tiny']);
  assert.deepEqual([twice.code, twice.stderr], [2, 'hopgate: --extractor: got "tiny" twice, expected each once\n']);
});

test('flags of the language model are refused where none is asked, and a model is asked for where one is', async () => {
  const run = await smallRun('hotpotqa', 0, 2);
  const gold = await hopgate(['claims', 'build', run, '--source', 'gold', '--llm', 'x', '--force']);
  assert.deepEqual([gold.code, gold.stderr], [2, 'hopgate: --llm: of no use with --source gold\n']);
  const prices = await hopgate(['claims', 'build', run, '--source', 'gold', '--prices', 'p', '--force']);
  assert.deepEqual([prices.code, prices.stderr], [2, 'hopgate: --prices: of no use with --source gold\n']);
  const none = await hopgate(['claims', 'build', run, '--source', 'generated']);
  assert.deepEqual([none.code, none.stderr.startsWith('hopgate: --llm: expected a model')], [2, true]);
  const file = await hopgate(['claims', 'build', join(run, 'records.arrow'), '--source', 'generated', '--after-loop', '1']);
  assert.deepEqual([file.code, file.stderr], [2, 'hopgate: --after-loop: only a run has loops; give the folder of one\n']);
  const subset = await hopgate(['claims', 'build', run, '--source', 'generated', '--after-loop', '1', '--subset', 'x']);
  assert.deepEqual([subset.code, subset.stderr], [2, 'hopgate: --subset: of no use with --after-loop\n']);
});

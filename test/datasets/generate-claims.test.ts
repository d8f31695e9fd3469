import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { claimQuality } from '../../datasets/claim-quality.js';
import { type GenerateOptions, generateClaims, openRecords } from '../../datasets/index.js';
import { resolveSupporting } from '../../datasets/supporting.js';
import { claimColumns, claimQualityColumns } from '../../src/core/claims.js';
import { type Manifest, readManifest } from '../../src/core/manifest.js';
import { FailedQuestionsError } from '../../src/core/question-work.js';
import { runFolder } from '../../src/core/run-folder.js';
import { collect, readTable } from '../../src/core/tables.js';
import { readRunClaims } from '../../src/evaluate/index.js';
import { LanguageModelError } from '../../src/llm/index.js';
import { CLAIM_SCHEMA, claimContents, claimPromptSha256 } from '../../src/prompts/index.js';
import { temporaryFile, temporaryFolder } from '../support/files.js';
import { hotpotqaQuestions } from '../support/hotpotqa-file.js';
import { type Scripted, scriptedModel } from '../support/scripted-model.js';
import { recordOf } from '../support/trajectories.js';
import { writeRun } from '../support/written-run.js';

/** A claim for each of the named pages. */
function listOf(...pages: string[]): string {
  return JSON.stringify(
    pages.map((page) => ({
      target_entity: page,
      expected_target: '',
      role: 'bridge_title',
      answer_type: 'other',
      expected_claim: `${page} is known.`,
    })),
  );
}

async function generated(
  say: (question: string) => Scripted,
  { questions = hotpotqaQuestions(3), ...more }: Partial<GenerateOptions> & { questions?: object[] } = {},
): Promise<{ manifest: Manifest; out: string; model: ReturnType<typeof scriptedModel> }> {
  const model = scriptedModel(({ messages }) => say(messages.at(-1)?.content ?? ''));
  const file = await temporaryFile('a.json', JSON.stringify(questions));
  const out = more.out ?? join(await temporaryFolder(), 'claims');
  return { manifest: await generateClaims(await openRecords(file), { model, format: 'jsonl', ...more, out }), out, model };
}

test('claims of the model’s list: K, readings, quality against the gold titles, and what the calls took', async () => {
  const questions = hotpotqaQuestions(3);
  const [first, second] = (questions as { supporting_facts: [string, number][]; question: string }[]).map((one) => [
    ...new Set(one.supporting_facts.map(([title]) => title)),
  ]) as [string[], string[]];
  const replies = [listOf(...first), `Here: ${listOf(second[0] as string, 'Elsewhere', 'Nowhere')}`, 'I cannot. Sorry.'];
  let next = 0;
  const { manifest, out, model } = await generated(() => replies[next++] as string, { questions });
  // 2 · 2 / (2 + 2); 2 · 1 / (3 + 2); 0.
  assert.deepEqual(manifest.counts.entity_f1, (1 + 0.4 + 0) / 3);
  const words = model.requests.map(
    ({ messages }) =>
      messages
        .map(({ content }) => content)
        .join(' ')
        .match(/\S+/g)?.length ?? 0,
  );
  assert.deepEqual(
    { ...manifest.counts, entity_f1: null },
    {
      questions: 3,
      claims: 6,
      no_claims: 0,
      claims_per_question: { 1: 1, 2: 1, 3: 1 },
      readings: { plain: 0, repaired: 2, fallback: 1, none: 0 },
      fallbacks: { not_json: 1 },
      cut_replies: 0,
      entity_f1: null,
      buckets: { all: 1, partial: 1, no_match: 1 },
      repaired: {},
      usage: {
        calls: 3,
        prompt_tokens: words.reduce((sum, n) => sum + n, 0),
        completion_tokens: replies.join(' ').match(/\S+/g)?.length as number,
      },
    },
  );
  assert.deepEqual(manifest.warnings, ['1 of 3 questions have one claim made of question and reply: no claim could be read']);
  const quality = await collect(readTable(out, await readManifest(out, 'claims'), 'quality', claimQualityColumns));
  assert.deepEqual(
    quality.map(({ row, k, entity_f1, bucket, fallback, reply }) => [row, k, entity_f1, bucket, fallback, reply]),
    [
      [0, 2, 1, 'all', null, replies[0]],
      [1, 3, 0.4, 'partial', null, replies[1]],
      [2, 1, 0, 'no_match', 'not_json', replies[2]],
    ],
  );
  const claims = await collect(readTable(out, await readManifest(out, 'claims'), 'claims', claimColumns));
  assert.deepEqual([...new Set(claims.map(({ source }) => source))], ['generated']);
});

test('question ids that repeat are counted and said', async () => {
  const [first, second] = hotpotqaQuestions(2) as [object, object];
  const { manifest } = await generated(() => listOf('A'), { questions: [first, second, first] });
  assert.equal(manifest.counts.repeated_ids, 1);
  assert.deepEqual(manifest.warnings, ['1 questions have an id that stood before; calibrate and replay ask for --repeats']);
});

test('one call a question, greedy, of at most 256 new tokens, from the question alone', async () => {
  const { model } = await generated(() => listOf('A'));
  assert.equal(model.requests.length, 3);
  for (const [at, { messages, maxTokens, temperature, schema }] of model.requests.entries()) {
    assert.deepEqual([maxTokens, temperature ?? 0, schema], [256, 0, undefined]);
    const { question } = hotpotqaQuestions(3)[at] as { question: string };
    assert.deepEqual(messages, [
      { role: 'system', content: claimContents(question).system },
      { role: 'user', content: claimContents(question).user },
    ]);
  }
  const bound = await generated(() => listOf('A'), { constrained: true });
  assert.deepEqual(bound.model.requests[0]?.schema, CLAIM_SCHEMA);
  assert.deepEqual(bound.manifest.warnings, ['this model cannot be bound to a schema: it was asked as without --constrained']);
});

test('P103: the manifest says how near the claims are to the papers’, and with which prompt and model they were made', async () => {
  const { manifest, model } = await generated(() => listOf('A'));
  assert.equal(manifest.details.fidelity, 'approximate');
  assert.match(String(manifest.details.fidelity_note), /own wording of the prompt/);
  assert.equal(manifest.details.prompt_sha256, claimPromptSha256());
  assert.deepEqual([manifest.details.model, manifest.options.llm], [model.identity, model.identity]);
});

test('the record’s answer is never read: whatever it is, the prompts keep every byte', async () => {
  const asked = async (answer: string | null): Promise<unknown> => {
    const questions = hotpotqaQuestions(5).map((one) => ({ ...one, answer }));
    return (await generated(() => listOf('A'), { questions })).model.requests;
  };
  const before = await asked('w1');
  for (const answer of ['yes', null, 'Some other page']) assert.deepEqual(await asked(answer), before);
});

test('P97: an empty reply makes no claim, is counted, and is no claim of the run', async () => {
  const { dir } = await writeRun(join(await temporaryFolder(), 'run'), 2);
  const model = scriptedModel(({ messages }) => (messages[1]?.content.includes('record 0') ? '  \n' : listOf('Page 1.0')));
  const out = runFolder.claims(dir, 'generated');
  const manifest = await generateClaims(await openRecords(dir), { model, out });
  assert.deepEqual([manifest.counts.no_claims, manifest.counts.fallbacks], [1, { empty_reply: 1 }]);
  assert.deepEqual(manifest.warnings, ['1 of 2 questions have no claim (empty reply) and are never covered']);
  const claims = await readRunClaims({ folder: dir, manifest: await readManifest(dir) }, 'generated');
  assert.deepEqual([claims.of({ question_id: 'q0', row: 0 }).length, claims.of({ question_id: 'q1', row: 1 }).length], [0, 1]);
});

test('a question that fails harms no other; the same command with resume asks it alone, and the bytes are those of an undisturbed run', async () => {
  const questions = hotpotqaQuestions(6);
  const file = await temporaryFile('a.json', JSON.stringify(questions));
  const folder = await temporaryFolder();
  const second = (questions[1] as { question: string }).question;
  let down = true;
  const model = scriptedModel(async ({ messages }) => {
    const { content } = messages[1] as { content: string };
    await new Promise((resolve) => setTimeout(resolve, content.length % 7));
    return down && content.includes(second) ? new LanguageModelError('the server hung up') : listOf('A', 'B');
  });
  const run = async (out: string, resume = false): Promise<Manifest> =>
    generateClaims(await openRecords(file), { model, out, concurrency: 3, resume });
  await assert.rejects(run(join(folder, 'claims')), (error: unknown) => {
    assert.ok(error instanceof FailedQuestionsError);
    assert.match(error.message, /^1 of 6 questions failed; .*the server hung up\)$/);
    return true;
  });
  assert.equal(model.requests.length, 6);
  assert.equal(model.mostAtOnce(), 3);
  down = false;
  await run(join(folder, 'claims'), true);
  assert.equal(model.requests.length, 7);
  await run(join(folder, 'undisturbed'));
  for (const name of ['claims.arrow', 'quality.arrow', 'manifest.json'])
    assert.deepEqual(await readFile(join(folder, 'claims', name)), await readFile(join(folder, 'undisturbed', name)), name);
});

test('claims after a loop are asked for from what was found by then, for the questions that came so far', async () => {
  const { dir } = await writeRun(join(await temporaryFolder(), 'run'), 2);
  const model = scriptedModel(() => listOf('Page 0.0'));
  const out = runFolder.claims(dir, 'generated');
  const manifest = await generateClaims(await openRecords(dir), { model, out, afterLoop: 2 });
  const user = model.requests[0]?.messages[1]?.content ?? '';
  assert.match(user, /\n\nQuestion: .*\nFound so far:\nPage 0\.0: .*\nPage 0\.1: .*\nJSON list:$/);
  assert.deepEqual([manifest.details.after_loop, manifest.options['after-loop'], manifest.counts.ended_before_loop], [2, 2, 0]);
  await assert.rejects(generateClaims(await openRecords(dir), { model, out: join(await temporaryFolder(), 'c'), afterLoop: 4 }), {
    message: `${dir}: no question of the run has that many loops`,
  });
});

test('margins and verdicts of claims that were made after a loop are refused: before it there were none', async () => {
  const { dir } = await writeRun(join(await temporaryFolder(), 'run'), 1);
  const out = runFolder.claims(dir, 'generated');
  await generateClaims(await openRecords(dir), { model: scriptedModel(() => listOf('A')), out, afterLoop: 1 });
  await assert.rejects(readRunClaims({ folder: dir, manifest: await readManifest(dir) }, 'generated'), {
    message:
      `${out}: these claims were made after loop 1, from what had been found by then, and have no margin and no verdict before it; ` +
      'a gate, a decider and a drafter need claims of the question alone (claims build without --after-loop)',
  });
});

test('entity F1 is of sets of normalised titles; a title that the pool lacks is a gold title', () => {
  const record = recordOf([
    ['Caf&eacute;  Velm', 'x'],
    ['Orr', 'y'],
  ]);
  record.supporting = resolveSupporting(record.pages, [
    { title: 'Caf&eacute;  Velm', sentence: 0 },
    { title: 'Gone', sentence: 0 },
  ]);
  const of = (...pages: string[]): unknown =>
    claimQuality(
      pages.map((page) => ({ page })),
      record,
    );
  assert.deepEqual(of('Café Velm', 'Café  Velm', ''), { entity_f1: 2 / 3, bucket: 'partial' });
  assert.deepEqual(of('Gone', 'Café Velm', 'Orr'), { entity_f1: 4 / 5, bucket: 'all' });
  assert.deepEqual(of('café velm'), { entity_f1: 0, bucket: 'no_match' });
  assert.deepEqual(of(), { entity_f1: 0, bucket: 'no_match' });
  assert.deepEqual(claimQuality([{ page: 'Orr' }], recordOf([['Orr', 'y']])), { entity_f1: null, bucket: null });
});

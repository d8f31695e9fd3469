import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { type AgentAnswer, answerColumns } from '../../src/core/agent-answers.js';
import { extractionColumns } from '../../src/core/extractions.js';
import { MANIFEST_NAME, type Manifest, readManifest } from '../../src/core/manifest.js';
import { openOutputFolder } from '../../src/core/output-folder.js';
import { FailedQuestionsError } from '../../src/core/question-work.js';
import { type HopRecord, recordColumns } from '../../src/core/records.js';
import { derivedFolders, runFolder } from '../../src/core/run-folder.js';
import { collect, readTable } from '../../src/core/tables.js';
import { type Trajectory, trajectoryColumns } from '../../src/core/trajectories.js';
import { extractRun } from '../../src/evaluate/index.js';
import { LanguageModelError } from '../../src/llm/index.js';
import { temporaryFolder } from '../support/files.js';
import { type ScriptedModel, scriptedModel } from '../support/scripted-model.js';
import { recordOf, trajectoryOf } from '../support/trajectories.js';

async function runOf(
  records: readonly HopRecord[],
  trajectories: readonly Trajectory[],
  answers?: readonly AgentAnswer[],
): Promise<string> {
  const dir = join(await temporaryFolder(), 'run');
  const out = await openOutputFolder({ dir, kind: 'trajectories', command: 'trajectories run', options: {}, seed: 13, inputs: [] });
  if (records.length > 0) await out.table('records', recordColumns, records, 'arrow');
  await out.table(
    'trajectories',
    trajectoryColumns,
    trajectories.flatMap(({ loops }) => loops),
    'arrow',
  );
  if (answers) await out.table('answers', answerColumns, answers, 'arrow');
  await out.finish({ counts: { questions: trajectories.length }, details: { dataset: 'hotpotqa' } });
  return dir;
}

async function extracted(
  run: string,
  model: ScriptedModel,
  more: { name?: string; resume?: boolean; concurrency?: number; maxInputTokens?: number } = {},
): Promise<Manifest> {
  const { name = 'small', resume, ...options } = more;
  const dir = runFolder.extractions(run, name);
  const inputs = [join(run, MANIFEST_NAME)];
  const out = await openOutputFolder({ dir, kind: 'extractions', command: 'extract', options: { name }, seed: 13, inputs, resume });
  const counts = await extractRun(out, { run, manifest: await readManifest(run), name, model, format: 'arrow', ...options });
  return out.finish({ counts });
}

const velm = recordOf([], { question: 'Where was she born?', answer: 'Velm', aliases: ['Velm Town'] });
// Loops 2 and 4 bring nothing.
const found = trajectoryOf([[[0, 0]], [], [[1, 0], [1, 2]], []]); // prettier-ignore

function lastLines(model: ScriptedModel): string[] {
  return model.requests.map(({ messages }) => messages[1]?.content ?? '');
}

test('an answer for every loop; loops with the same evidence cost one call; EM and F1 over the aliases', async () => {
  const run = await runOf([velm], [found]);
  const model = scriptedModel(({ messages }) => (messages[1]?.content.includes('T1') ? 'Answer: the Velm town' : 'in Velm'));
  const manifest = await extracted(run, model);
  const rows = await collect(readTable(runFolder.extractions(run, 'small'), manifest, 'extractions', extractionColumns));
  // in Velm / Velm: precision 1/2, recall 1.
  assert.deepEqual(
    rows.map(({ loop, extractor, answer, em, f1 }) => [loop, extractor, answer, em, f1]),
    [
      [1, 'small', 'in Velm', 0, 2 / 3],
      [2, 'small', 'in Velm', 0, 2 / 3],
      [3, 'small', 'the Velm town', 1, 1],
      [4, 'small', 'the Velm town', 1, 1],
    ],
  );
  assert.equal(model.requests.length, 2);
  assert.deepEqual(lastLines(model), [
    'Evidence:\nT0: text 0.0\n\nQuestion: Where was she born?\nAnswer:',
    'Evidence:\nT0: text 0.0\nT1: text 1.0 text 1.2\n\nQuestion: Where was she born?\nAnswer:',
  ]);
  for (const { maxTokens, temperature } of model.requests) assert.deepEqual([maxTokens, temperature ?? 0], [48, 0]);
  const { usage, longest_prompt: longest, ...counts } = manifest.counts as { [name: string]: unknown };
  assert.deepEqual(counts, {
    questions: 1,
    loops: 4,
    calls: 2,
    without_answer: 0,
    empty_answers: 0,
    cut_replies: 0,
    cut_prompts: 0,
    at_last_loop: { questions: 1, em: 1, f1: 1 },
    native: null,
  });
  const size = (request: (typeof model.requests)[number]): number =>
    request.messages
      .map(({ content }) => content)
      .join(' ')
      .match(/\S+/g)?.length as number;
  const sizes = model.requests.map(size);
  assert.equal(longest, Math.max(...sizes));
  assert.deepEqual(usage, { calls: 2, prompt_tokens: sizes.reduce((sum, one) => sum + one, 0), completion_tokens: 2 + 4 });
});

test('P24: nothing found is asked as nothing, and a record without an answer has no scores', async () => {
  const run = await runOf([{ ...velm, answer: null }], [trajectoryOf([[], []])]);
  const model = scriptedModel(() => '');
  const manifest = await extracted(run, model);
  assert.match(lastLines(model).join(), /^Evidence:\n\(nothing was found\)\n/);
  const rows = await collect(readTable(runFolder.extractions(run, 'small'), manifest, 'extractions', extractionColumns));
  assert.deepEqual(
    rows.map(({ answer, em, f1 }) => [answer, em, f1]),
    [
      ['', null, null],
      ['', null, null],
    ],
  );
  assert.deepEqual([manifest.counts.without_answer, manifest.counts.at_last_loop], [1, null]);
});

test('replies that were cut off, and answers that are empty, are counted', async () => {
  const run = await runOf([velm], [found]);
  // A model whose reasoning took all the tokens: nothing is left for the answer.
  const model = scriptedModel(({ messages }) => (messages[1]?.content.includes('T1') ? { text: '', finish: 'length' } : 'Velm'));
  const { counts } = await extracted(run, model);
  assert.deepEqual([counts.loops, counts.calls, counts.empty_answers, counts.cut_replies], [4, 2, 2, 1]);
});

test('the agent’s own answers are scored for questions without a loop too, and their number stands with them', async () => {
  const early = { ...velm, question_id: 'r', row: 1 };
  const answers = ['q', 'r'].map((question_id, row) => ({ question_id, row, answer: row === 0 ? 'no' : 'Velm', transcript: '…' }));
  const manifest = await extracted(
    await runOf([velm, early], [found], answers),
    scriptedModel(() => 'Velm'),
  );
  assert.equal(manifest.counts.questions, 1);
  assert.deepEqual(manifest.counts.native, { questions: 2, em: 0.5, f1: 0.5 });
});

test('the agent’s own answers stand beside the extractor’s; an agent without an answer is wrong', async () => {
  const second = { ...velm, question_id: 'r', row: 1 };
  const answers = [
    { question_id: 'q', row: 0, answer: 'velm.', transcript: '…' },
    { question_id: 'r', row: 1, answer: null, transcript: '…' },
  ];
  const run = await runOf([velm, second], [found, trajectoryOf([[[0, 0]]], 'r', 1)], answers);
  const manifest = await extracted(
    run,
    scriptedModel(() => 'Orr'),
  );
  assert.deepEqual(manifest.counts.native, { questions: 2, em: 0.5, f1: 0.5 });
  assert.deepEqual(manifest.counts.at_last_loop, { questions: 2, em: 0, f1: 0 });
});

test('only evidence is cut, by the model’s own count where it has one', async () => {
  const long = trajectoryOf([Array.from({ length: 200 }, (_, at) => [0, at] as const)]);
  const run = await runOf([velm], [long]);
  const model = { ...scriptedModel(() => 'Velm'), countTokens: async (text: string) => text.match(/\S+/g)?.length ?? 0 };
  const manifest = await extracted(run, model, { maxInputTokens: 150 });
  assert.equal(manifest.counts.cut_prompts, 1);
  const [prompt] = lastLines(model) as [string];
  assert.match(prompt, /^Evidence:\nT0: text 0\.0 text 0\.1 .*\n\nQuestion: Where was she born\?\nAnswer:$/);
  // 32 are kept for the template.
  const [system] = model.requests[0]?.messages ?? [];
  assert.equal((await model.countTokens(prompt)) + (await model.countTokens(system?.content ?? '')), 150 - 32);
});

test('a question that fails harms no other, and resume asks for it alone; the bytes are those of an undisturbed run', async () => {
  const ids = ['q', 'r', 's'];
  const records = ids.map((question_id, row) => ({ ...velm, question_id, row, question: `Where was ${question_id} born?` }));
  const run = await runOf(
    records,
    ids.map((id, row) => trajectoryOf([[[0, row]], [[1, row]]], id, row)),
  );
  let down = true;
  const model = scriptedModel(({ messages }) =>
    down && messages[1]?.content.includes('was r') ? new LanguageModelError('no reply') : `Velm ${messages[1]?.content.length}`,
  );
  await assert.rejects(extracted(run, model, { concurrency: 2 }), FailedQuestionsError);
  const before = model.requests.length;
  down = false;
  const resumed = await extracted(run, model, { concurrency: 2, resume: true });
  assert.equal(model.requests.length - before, 2);
  const undisturbed = await runOf(
    records,
    ids.map((id, row) => trajectoryOf([[[0, row]], [[1, row]]], id, row)),
  );
  assert.deepEqual(await extracted(undisturbed, model), resumed);
  assert.deepEqual(
    await readFile(join(runFolder.extractions(undisturbed, 'small'), 'extractions.arrow')),
    await readFile(join(runFolder.extractions(run, 'small'), 'extractions.arrow')),
  );
});

test('a run without records has no questions to extract for, and extractions are among what is made from a run', async () => {
  const run = await runOf([], [found]);
  await assert.rejects(
    extracted(
      run,
      scriptedModel(() => 'x'),
    ),
    {
      message: `${run}: has no records, which hold the questions and their answers`,
    },
  );
  const other = await runOf([velm], [found]);
  await extracted(
    other,
    scriptedModel(() => 'x'),
  );
  assert.deepEqual(await derivedFolders(other), [{ folder: runFolder.extractions(other, 'small'), kind: 'extractions' }]);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openOutputFolder } from '../../src/core/output-folder.js';
import {
  TRAINING_QUESTIONS,
  countLearnt,
  learntFrom,
  readTrainingQuestions,
  trainingQuestionLines,
} from '../../src/core/training-questions.js';
import { temporaryFolder } from '../support/files.js';

// printf %s 'who wrote it' | sha256sum
const WHO = '57ca7dcfc4a7dce3ae89a9e6b67de271754192e9236753bd9feaf2b16456b070';
// printf %s 'where is it' | sha256sum
const WHERE = 'cee257fd7d7339d56a957733813d0248dbb3d179037cd4f322e18dac6d905a31';

test('questions are known again in any case and punctuation, and one on both sides was trained on', () => {
  const lines = trainingQuestionLines(['Who wrote it?', 'Who wrote it?'], ['who  wrote it', 'Where is it?']);
  assert.deepEqual(
    lines,
    [
      { sha256: WHERE, use: 'epoch' },
      { sha256: WHO, use: 'training' },
    ].toSorted((a, b) => (a.sha256 < b.sha256 ? -1 : 1)),
  );
  const learnt = learntFrom(lines);
  assert.deepEqual(['WHO WROTE IT', 'where is it!', 'who wrote this'].map(learnt), ['training', 'epoch', null]);
  assert.deepEqual(countLearnt(['training', null, 'epoch', undefined, 'training']), { training: 2, epoch: 1 });
});

test('a line that is no digest is refused by its place', async () => {
  const dir = await temporaryFolder();
  const out = await openOutputFolder({ dir, kind: 'drafter', command: 'drafter train', options: {}, seed: 13, inputs: [] });
  await out.jsonl(TRAINING_QUESTIONS, [
    { sha256: WHO, use: 'training' },
    { sha256: WHERE, use: 'seen' },
  ]);
  await assert.rejects(readTrainingQuestions(dir, await out.finish({ counts: {} })), {
    name: 'InputError',
    message: `${dir}/${TRAINING_QUESTIONS}, line 2, field use: Invalid option: expected one of "training"|"epoch"`,
  });
});

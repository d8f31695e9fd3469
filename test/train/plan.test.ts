import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { readFile, readdir, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { test } from 'node:test';
import { LABELS } from '../../src/core/labels.js';
import { checkedFile, readManifest } from '../../src/core/manifest.js';
import { readPairRows } from '../../src/core/pair-rows.js';
import { type JobRow, readJobRows, readVerifierPlan } from '../../src/core/verifier-job.js';
import { openChatEncoder, openVerifierTokens, promptSha256 } from '../../src/prompts/index.js';
import { planVerifier, preflight } from '../../train/index.js';
import { temporaryFolder } from '../support/files.js';
import { labelFolder, twoWikiFile } from '../support/label-folder.js';
import { repositoryRoot } from '../support/root.js';
import { smallTokenizer } from '../support/small-tokenizer.js';
import { verifierJob } from '../support/verifier-job.js';

async function rowsOf(dir: string, name: 'train' | 'dev' | 'golden'): Promise<JobRow[]> {
  const rows: JobRow[] = [];
  for await (const { row } of readJobRows(dir, name)) rows.push(row);
  return rows;
}

test('P40: every row learns exactly its label, behind a prompt that ends in the start of the answer', async () => {
  const { dir, chat, plan } = await verifierJob();
  for (const name of ['train', 'dev', 'golden'] as const) {
    const rows = await rowsOf(dir, name);
    assert.equal(rows.length, plan.counts[name]);
    for (const { ids, loss, label, row } of rows) {
      assert.equal(chat.tokenizer.decode(ids.slice(...loss)), label, row);
      assert.equal(loss[1], ids.length, row);
      assert.ok(chat.tokenizer.decode(ids.slice(0, loss[0])).endsWith('<|im_end|>\n<|im_start|>assistant\n'), row);
    }
  }
  assert.deepEqual(await preflight(dir), []);
});

test('P44, P45: the training rows are what the runtime renders from the same label rows, with the verifier’s own system message', async () => {
  const { dir, labels, plan } = await verifierJob({ settings: { base: 'Qwen/Qwen2.5-0.5B-Instruct', max_length: 512 } });
  const runtime = await openVerifierTokens(join(dir, 'tokenizer'), { maxLength: plan.settings.max_length });
  const { training } = await readPairRows([labels]);
  const rows = await rowsOf(dir, 'train');
  assert.equal(rows.length, training.length);
  for (const [at, row] of training.entries()) {
    const { ids } = runtime.prompt({
      question: row.question,
      answer_candidate: row.answer_candidate,
      expected_claim: row.expected_claim,
      expected_page: row.expected_page,
      expected_target: row.expected_target,
      expected_target_role: row.expected_target_role,
      evidence_page: row.evidence_page,
      evidence_sentence: row.evidence_sentence,
    });
    assert.deepEqual(rows[at]?.ids, [...ids, ...runtime.labelIds[row.label]]);
  }
  assert.deepEqual([plan.template_sha256, plan.prompt_sha256], [runtime.chat.templateSha256, promptSha256()]);
  // The published template of Qwen2.5 has a system message of its own for chats that have none.
  assert.ok(!runtime.chat.tokenizer.decode(rows[0]?.ids ?? []).includes('You are Qwen'));
});

test('golden rows are dev rows with the fields they were rendered from, balanced over the labels', async () => {
  const { dir, plan } = await verifierJob({ questions: 40 });
  const golden = await rowsOf(dir, 'golden');
  const dev = new Map((await rowsOf(dir, 'dev')).map((row) => [row.row, row]));
  const runtime = await openVerifierTokens(join(dir, 'tokenizer'), { maxLength: plan.settings.max_length });
  assert.equal(golden.length, 32);
  // 32 = 11 + 11 + 10, in the order in which dev's rows bring the labels.
  assert.deepEqual(
    LABELS.map((label) => golden.filter((row) => row.label === label).length).toSorted((a, b) => a - b),
    [10, 11, 11],
  );
  for (const { fields, ...row } of golden) {
    assert.deepEqual(row, dev.get(row.row));
    assert.ok(fields !== undefined);
    assert.deepEqual(runtime.prompt(fields).ids, row.ids.slice(0, row.loss[0]));
  }
});

test('the folder holds all that a run needs, each file as the manifest lists it', async () => {
  const { dir } = await verifierJob();
  const manifest = await readManifest(dir, 'verifier-job');
  for (const { name } of manifest.outputs) await checkedFile(dir, manifest, name);
  const names = manifest.outputs.map(({ name }) => name);
  const trainer = (await readdir(join(repositoryRoot, 'train', 'trainer')))
    .filter((name) => name.endsWith('.py'))
    .map((name) => `trainer/${name}`);
  const others = ['README.md', 'dev.jsonl', 'golden.jsonl', 'job.slurm', 'plan.json', 'requirements.txt', 'run.sh', 'train.jsonl'];
  assert.deepEqual(names, [...others, 'tokenizer/tokenizer.json', 'tokenizer/tokenizer_config.json', ...trainer].toSorted());
  assert.equal(
    await readFile(join(dir, 'requirements.txt'), 'utf8'),
    await readFile(join(repositoryRoot, 'train/trainer/requirements.txt'), 'utf8'),
  );
  assert.deepEqual(await readVerifierPlan(dir), manifest.details.plan);
});

test('the same rows and seed give the same bytes, another seed other golden rows', async () => {
  const { folder } = await labelFolder(await twoWikiFile(30));
  const tokenizer = await smallTokenizer();
  const plan = async (seed: number): Promise<string> => {
    const out = join(await temporaryFolder(), 'job');
    await planVerifier(await readPairRows([folder]), { out, tokenizer, settings: { base: 'a/b', seed, max_length: 4096 } });
    return out;
  };
  const [first, second, other] = [await plan(13), await plan(13), await plan(14)];
  for (const { name } of (await readManifest(first)).outputs)
    assert.ok((await readFile(join(first, name))).equals(await readFile(join(second, name))), name);
  assert.equal(await readFile(join(first, 'manifest.json'), 'utf8'), await readFile(join(second, 'manifest.json'), 'utf8'));
  const names = async (dir: string): Promise<string[]> => (await rowsOf(dir, 'golden')).map(({ row }) => row);
  assert.notDeepEqual(await names(first), await names(other));
});

test('a finished job is left as it is with --resume, and refused without', async () => {
  const tokenizer = await smallTokenizer();
  const { dir, labels, plan } = await verifierJob({ tokenizer });
  const settings = plan.settings;
  const again = await planVerifier(await readPairRows([labels]), { out: dir, tokenizer, settings, resume: true });
  assert.deepEqual(again.plan, plan);
  await assert.rejects(planVerifier(await readPairRows([labels]), { out: dir, tokenizer, settings }), {
    message: `${dir}: already holds a finished run; choose another --out, or --force to replace it`,
  });
  await assert.rejects(
    planVerifier(await readPairRows([labels]), { out: dir, tokenizer, settings: { ...settings, lora_rank: 8 }, resume: true }),
    { message: `${dir}: holds a finished run with other settings (--lora-rank: it had 16, now 8); choose another --out, or --force` },
  );
});

test('P41: too many rows with their evidence cut are refused; a share that is allowed is counted, and no label is touched', async () => {
  const { dir, chat, plan } = await verifierJob();
  assert.equal(plan.counts.truncated, 0);
  const rows = [...(await rowsOf(dir, 'train')), ...(await rowsOf(dir, 'dev'))];
  const lengths = rows.map(({ ids }) => ids.length).toSorted((a, b) => b - a);
  // Shorter than a twelfth of the rows, with every label's length the longest's in the room that is kept for it.
  const maxLength = lengths[Math.floor(lengths.length / 12)] as number;
  const tight = { settings: { max_length: maxLength } };
  const out = join(await temporaryFolder(), 'job');
  await assert.rejects(verifierJob({ ...tight, out }), (error: Error) => {
    assert.equal(error.name, 'CheckFailedError');
    assert.match(
      error.message,
      new RegExp(
        `^\\d+ of ${rows.length} rows \\(\\d+\\.\\d%\\) are longer than --max-length ${maxLength}, so the end of their evidence would be cut; at most 5% may be ` +
          `\\(--max-truncated\\), the longest prompt that was kept has ${maxLength} tokens$`,
      ),
    );
    return true;
  });
  assert.equal(existsSync(out), false);
  const allowed = await verifierJob({ ...tight, maxTruncated: 0.5 });
  const cut = [...(await rowsOf(allowed.dir, 'train')), ...(await rowsOf(allowed.dir, 'dev'))];
  const shorter = cut.filter(({ ids }, at) => ids.length < (rows[at] as JobRow).ids.length);
  assert.ok(shorter.length > 0);
  assert.equal(allowed.plan.counts.truncated, shorter.length);
  for (const row of cut) {
    assert.ok(row.ids.length <= maxLength);
    assert.equal(chat.tokenizer.decode(row.ids.slice(...row.loss)), row.label);
  }
});

test('P46: a tokenizer that pads with its end token is planned with another, and the plan says so', async () => {
  const { plan, manifest, dir } = await verifierJob();
  assert.notEqual(plan.pad_id, plan.eos_id);
  assert.ok(manifest.warnings.includes('the tokenizer pads with "<|im_end|>", the token that ends a turn; "<|endoftext|>" pads instead'));
  // The end of a turn is out of the loss, by the choice of method.md §4.
  for (const { ids, loss } of await rowsOf(dir, 'train')) assert.ok(!ids.slice(...loss).includes(plan.eos_id));
});

test('a base that is a folder here by a relative path is warned of, since the trainer runs from the job', async () => {
  const base = relative(process.cwd(), await temporaryFolder());
  await writeFile(join(base, 'config.json'), '{}');
  const { manifest } = await verifierJob({ settings: { base }, tokenizer: await smallTokenizer() });
  const warning = `the base ${JSON.stringify(base)} is a folder here, and the trainer looks for it from the job's folder: name it by an absolute path, or put it there`;
  assert.ok(manifest.warnings.includes(warning), manifest.warnings.join('\n'));
});

test('P50: a plan above --max-minutes is refused, with what it would take, and nothing is written', async () => {
  const out = join(await temporaryFolder(), 'job');
  const settings = { base: 'Qwen/Qwen2.5-3B-Instruct', max_length: 512, max_steps: 1000 };
  const { plan } = await verifierJob({ settings });
  const { gpu_minutes: minutes, tokens } = plan.estimate;
  await assert.rejects(verifierJob({ settings, out, maxMinutes: 1 }), {
    name: 'CheckFailedError',
    message: `about ${minutes} GPU minutes (1000 steps, ${tokens} tokens), above --max-minutes 1; fewer --max-steps or a smaller --base, and nothing is written`,
  });
  assert.equal(existsSync(out), false);
  // A finished job is measured too: --resume is no way round the limit.
  await verifierJob({ settings, out });
  const before = await readFile(join(out, 'manifest.json'), 'utf8');
  await assert.rejects(verifierJob({ settings, out, resume: true, maxMinutes: 0.001 }), {
    name: 'CheckFailedError',
    message: `about ${minutes} GPU minutes (1000 steps, ${tokens} tokens), above --max-minutes 0.001; fewer --max-steps or a smaller --base, and nothing is written`,
  });
  await verifierJob({ settings, out, resume: true, maxMinutes: minutes as number });
  assert.equal(await readFile(join(out, 'manifest.json'), 'utf8'), before);
});

test('P50: --max-minutes is refused where the base’s size is not known: no number is made up', async () => {
  const { plan } = await verifierJob();
  assert.deepEqual([plan.estimate.gpu_minutes, plan.estimate.memory_gib], [null, null]);
  await assert.rejects(verifierJob({ maxMinutes: 10 }), {
    name: 'CheckFailedError',
    message:
      "--max-minutes 10: the size of a/small-model is unknown, so its time cannot be estimated; give a --tokenizer folder that holds the base's config.json, or leave --max-minutes out",
  });
});

test('P66: a tokenizer that reads a label as one with the end of the prompt cannot be planned with', async () => {
  // GPT-2's pattern takes two line breaks together at the end of a text, and apart before a word.
  const template = "{% for m in messages %}<|im_start|>{{ m.content }}<|im_end|>{% endfor %}{{ '<|im_start|>\\n\\n' }}";
  await assert.rejects(verifierJob({ tokenizer: await smallTokenizer({ template }) }), {
    name: 'InputError',
    message:
      'label "match": its beginning is read as one token with the end of the prompt "\\n\\n", so its probability could not be told from that of ' +
      'the prompt (boundary merge)',
  });
});

test('P67: the plan keeps the ids of the labels without a leading space', async () => {
  const { plan, chat } = await verifierJob({ settings: { base: 'Qwen/Qwen2.5-0.5B-Instruct', max_length: 512 } });
  assert.deepEqual(plan.label_ids, { match: [6347], partial: [37420], null: [2921] });
  assert.notDeepEqual(chat.tokenizer.encode(' match'), plan.label_ids.match);
});

test('rows without a dev split, and a row that stands twice, are refused', async () => {
  const { folder } = await labelFolder(await twoWikiFile(12));
  const rows = await readPairRows([folder]);
  const options = {
    out: join(await temporaryFolder(), 'job'),
    tokenizer: await smallTokenizer(),
    settings: { base: 'a/b', seed: 13, max_length: 4096 },
  };
  await assert.rejects(planVerifier({ ...rows, heldOut: [] }, options), {
    name: 'InputError',
    message: `${folder}: the label rows have no dev split, which the parity gate needs (labels build --dev-share 0.2)`,
  });
  const [first] = rows.training;
  await assert.rejects(
    planVerifier({ ...rows, training: [...rows.training, first as (typeof rows.training)[number]] }, options),
    (error: Error) => {
      assert.match(error.message, /^row 2wiki\/\d+\/[^/]+\/\d+\/sentence\/\d+\/\d+: stands twice, in one folder of labels or in two$/);
      return true;
    },
  );
  assert.equal(existsSync(options.out), false);
});

test('a row that is too long without its evidence is named', async () => {
  await assert.rejects(verifierJob({ settings: { max_length: 64 } }), (error: Error) => {
    assert.match(
      error.message,
      /^2wiki\/\d+\/[^/]+\/\d+\/sentence\/\d+\/\d+: the prompt takes \d+ tokens without its evidence, expected at most 58 \(a longer --max-length\)$/,
    );
    return true;
  });
});

test('settings out of range are refused by their flag', async () => {
  const refused: [settings: { [name: string]: unknown }, message: RegExp][] = [
    [{ lora_rank: 0 }, /^--lora-rank: got 0, /],
    [{ variants: ['int4'] }, /^--variants: got \["int4"\], expected fp32, and each of fp32, fp16, int8, int4 at most once$/],
    [{ warmup_ratio: 1 }, /^--warmup-ratio: got 1, /],
    [{ lora_targets: [] }, /^--lora-targets: got \[\], /],
  ];
  for (const [settings, message] of refused) {
    await assert.rejects(verifierJob({ settings }), (error: Error) => {
      assert.equal(error.name, 'InputError');
      assert.match(error.message, message);
      return true;
    });
  }
});

test('the tokenizer in the job is the one that was given, byte for byte', async () => {
  const tokenizer = await smallTokenizer({ family: 'headers' });
  const { dir, plan } = await verifierJob({ tokenizer });
  for (const name of ['tokenizer.json', 'tokenizer_config.json'])
    assert.ok((await readFile(join(dir, 'tokenizer', name))).equals(await readFile(join(tokenizer, name))), name);
  assert.equal((await openChatEncoder(join(dir, 'tokenizer'))).tokenizer.sha256, plan.tokenizer_sha256);
});

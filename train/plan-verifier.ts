import { existsSync } from 'node:fs';
import { dirname, isAbsolute, join } from 'node:path';
import { fieldsOf } from '../src/core/verifier-fields.js';
import { CheckFailedError, InputError } from '../src/core/errors.js';
import { LABELS } from '../src/core/labels.js';
import type { Manifest } from '../src/core/manifest.js';
import { openOutputFolder } from '../src/core/output-folder.js';
import type { PairRows } from '../src/core/pair-rows.js';
import { HEAD_LABELS, type JobRow, type Task, type VerifierPlan, type VerifierSettings } from '../src/core/verifier-job.js';
import {
  type ChatEncoder,
  type HeadTask,
  type VerifierTokens,
  headPromptSha256,
  openChatEncoder,
  promptSha256,
  tokenizerFolder,
  verifierTokens,
} from '../src/prompts/index.js';
import { baseShape } from './base-shape.js';
import { type GpuAssumptions, estimateRun } from './estimate.js';
import { goldenRows } from './golden-rows.js';
import { readHeadRows } from './head-rows.js';
import { type PlannedRow, type PlannedRows, labelRowName, plannedRow } from './job-rows.js';
import { jobScripts } from './job-scripts.js';
import { type Fault, planFaults, refuseFaults, rowChecker } from './preflight.js';
import { type GivenSettings, settingsOf } from './settings.js';

export interface PlanOptions {
  /** The job folder. */
  out: string;
  settings: GivenSettings;
  /** Folder with tokenizer.json and tokenizer_config.json; default: the base's own where it is here. */
  tokenizer?: string | undefined;
  /** Where base models may lie by name. */
  modelDir?: string | undefined;
  /** Rows of the parity gate. Default 32. */
  golden?: number | undefined;
  /** Largest share of rows whose evidence may be cut. Default 0.05. */
  maxTruncated?: number | undefined;
  /** GPU minutes above which nothing is written, and a finished job is refused; undefined: no limit. */
  maxMinutes?: number | undefined;
  gpu?: GpuAssumptions | undefined;
  resume?: boolean | undefined;
  force?: boolean | undefined;
  signal?: AbortSignal | undefined;
  onProgress?: ((done: number, total: number | null) => void) | undefined;
  /** Folder of the trainer's files; default: this package's own. */
  trainer?: string | undefined;
}

export interface Planned {
  manifest: Manifest;
  plan: VerifierPlan;
  chat: ChatEncoder;
}

/**
 * Plans the training of a verifier on label rows and writes a folder of kind `verifier-job` that holds all of it. Every row is rendered,
 * encoded and checked here. Throws InputError for a row or a tokenizer that cannot be trained on, CheckFailedError where more than
 * `maxTruncated` of the rows had to be cut or the estimate is above `maxMinutes`.
 */
export async function planVerifier(rows: PairRows, options: PlanOptions): Promise<Planned> {
  const settings = settingsOf(options.settings, { task: 'labels', trainingRows: rows.training.length });
  if (rows.heldOut.length === 0)
    throw new InputError('the label rows have no dev split, which the parity gate needs (labels build --dev-share 0.2)', {
      file: rows.inputs.map((file) => dirname(file)).join(', '),
    });
  const folder = await tokenizerFolder(settings.base, options);
  const chat = await openChatEncoder(folder);
  const forms = [...new Set(rows.training.map(({ form }) => form))];
  const job = await openJob({ task: 'labels', settings, inputs: rows.inputs, folder, chat }, { ...options, forms });
  if (job.finished !== undefined) return job.finished;
  return job.finish(async () => {
    const tokens = verifierTokens(chat, { maxLength: settings.max_length });
    const fields = new Map(rows.heldOut.map((row) => [labelRowName(row), fieldsOf(row)]));
    return {
      rows: await encodedRows(rows, tokens, options),
      labels: [...LABELS],
      label_ids: Object.fromEntries(LABELS.map((label) => [label, [...tokens.labelIds[label]]])),
      golden: (row) => ({ ...row, fields: fields.get(row.row) }),
      warnings: onlyForm(rows),
    };
  });
}

async function encodedRows(rows: PairRows, tokens: VerifierTokens, options: PlanOptions): Promise<PlannedRows> {
  const total = rows.training.length + rows.heldOut.length;
  const named = new Set<string>();
  const planned: PlannedRows = { train: [], dev: [] };
  for (const [split, of] of [
    ['train', rows.training],
    ['dev', rows.heldOut],
  ] as const) {
    for (const row of of) {
      const name = labelRowName(row);
      if (named.has(name)) throw new InputError(`row ${name}: stands twice, in one folder of labels or in two`);
      named.add(name);
      planned[split].push(plannedRow(row, tokens));
      if (named.size % 256 === 0) {
        options.signal?.throwIfAborted();
        options.onProgress?.(named.size, total);
        // Lets the progress bar and Ctrl-C in: encoding itself never waits.
        await new Promise(setImmediate);
      }
    }
  }
  return planned;
}

/** As `planVerifier`, for a two-way head (method.md §8): rows are JSON lines, see FORMATS.md. */
export async function planHead(task: HeadTask, file: string, options: PlanOptions & { devShare?: number | undefined }): Promise<Planned> {
  const { devShare = 0.1 } = options;
  const draft = settingsOf(options.settings, { task, trainingRows: 1 });
  const folder = await tokenizerFolder(draft.base, options);
  const chat = await openChatEncoder(folder);
  const planned = await readHeadRows(file, task, chat, { maxLength: draft.max_length, devShare, seed: draft.seed });
  const settings = settingsOf(options.settings, { task, trainingRows: planned.train.length });
  const job = await openJob({ task, settings, inputs: [file], folder, chat }, { ...options, devShare });
  if (job.finished !== undefined) return job.finished;
  return job.finish(() =>
    Promise.resolve({ rows: planned, labels: [...HEAD_LABELS[task]], label_ids: {}, golden: (row) => row, warnings: [] }),
  );
}

interface Contents {
  rows: PlannedRows;
  labels: string[];
  label_ids: VerifierPlan['label_ids'];
  golden: (row: JobRow) => JobRow;
  warnings: string[];
}

interface Wanted {
  task: Task;
  settings: VerifierSettings;
  /** Files that the rows are from. */
  inputs: readonly string[];
  /** Of the tokenizer. */
  folder: string;
  chat: ChatEncoder;
}

async function openJob(
  { task, settings, inputs, folder, chat }: Wanted,
  options: PlanOptions & { forms?: string[]; devShare?: number },
): Promise<{ finished: Planned | undefined; finish: (make: () => Promise<Contents>) => Promise<Planned> }> {
  const { golden = 32, maxTruncated = 0.05, maxMinutes, gpu } = options;
  const shape = await baseShape(settings.base, [settings.base, folder]);
  const { seed, ...others } = settings;
  const out = await openOutputFolder({
    dir: options.out,
    kind: 'verifier-job',
    command: 'verifier plan',
    options: {
      ...Object.fromEntries(Object.entries(others).map(([name, value]) => [name.replaceAll('_', '-'), value])),
      task,
      forms: options.forms ?? null,
      'dev-share': options.devShare ?? null,
      tokenizer: chat.tokenizer.sha256,
      template: chat.templateSha256,
      golden,
      'max-truncated': maxTruncated,
      'gpu-tflops': gpu?.teraflops ?? null,
    },
    seed,
    inputs,
    resume: options.resume,
    force: options.force,
  });
  const finish = async (make: () => Promise<Contents>): Promise<Planned> => {
    try {
      const contents = await make();
      const { rows } = contents;
      const plan = planOf(contents);
      const all = [...rows.train, ...rows.dev];
      refuseFaults(faultsOf(plan, rows, chat), options.out);
      const share = plan.counts.truncated / all.length;
      if (share > maxTruncated)
        throw new CheckFailedError(
          `${plan.counts.truncated} of ${all.length} rows (${(100 * share).toFixed(1)}%) are longer than --max-length ${settings.max_length}, so the end of ` +
            `their evidence would be cut; at most ${100 * maxTruncated}% may be (--max-truncated), the longest prompt that was kept has ${plan.counts.longest} tokens`,
        );
      refuseMinutes(plan, maxMinutes);
      await out.jsonl('train.jsonl', rows.train.map(line));
      await out.jsonl('dev.jsonl', rows.dev.map(line));
      await out.jsonl(
        'golden.jsonl',
        goldenRows(rows.dev, { count: golden, seed }).map((row) => contents.golden(line(row))),
      );
      await out.file('plan.json', `${JSON.stringify(plan, null, 2)}\n`);
      for (const [name, content] of Object.entries(chat.tokenizer.files)) await out.file(`tokenizer/${name}`, content);
      for (const [name, content] of Object.entries(await jobScripts(plan, options.trainer))) await out.file(name, content);
      const warnings = [...contents.warnings, ...(chat.padNote === undefined ? [] : [chat.padNote]), ...relativeBase(settings.base)];
      const manifest = await out.finish({
        counts: plan.counts,
        warnings,
        details: { plan: JSON.parse(JSON.stringify(plan)) as VerifierPlan },
      });
      return { manifest, plan, chat };
    } catch (error) {
      await out.discard();
      throw error;
    }
  };
  const planOf = ({ rows, labels, label_ids }: Contents): VerifierPlan => {
    const all = [...rows.train, ...rows.dev];
    const tokens = all.reduce((sum, { ids }) => sum + ids.length, 0);
    const meanTokens = tokens / Math.max(1, all.length);
    const longest = all.reduce((most, { ids }) => Math.max(most, ids.length), 0);
    const counts = {
      train: rows.train.length,
      dev: rows.dev.length,
      golden: Math.min(golden, rows.dev.length),
      truncated: all.filter(({ cut }) => cut > 0).length,
      longest,
      mean_tokens: Number(meanTokens.toFixed(1)),
    };
    if (rows.train.length === 0) throw new InputError('no row to train on');
    return {
      format: 1,
      base: settings.base,
      task,
      settings,
      template_sha256: chat.templateSha256,
      prompt_sha256: task === 'labels' ? promptSha256() : headPromptSha256(task),
      tokenizer_sha256: chat.tokenizer.sha256,
      labels,
      label_ids,
      pad_id: chat.padId,
      eos_id: chat.eosId,
      vocab_size: chat.tokenizer.vocabSize,
      counts,
      estimate: estimateRun({ train: rows.train.length, dev: rows.dev.length, meanTokens, longest }, settings, shape, gpu),
    };
  };
  if (out.finished !== undefined) refuseMinutes(out.finished.details.plan as unknown as VerifierPlan, maxMinutes);
  const finished =
    out.finished === undefined ? undefined : { manifest: out.finished, plan: out.finished.details.plan as unknown as VerifierPlan, chat };
  return { finished, finish };
}

function line({ cut: _cut, ...row }: PlannedRow): JobRow {
  return row;
}

function faultsOf(plan: VerifierPlan, rows: PlannedRows, chat: ChatEncoder): Fault[] {
  for (const [name, message] of planFaults(plan, chat))
    return [{ name, file: 'plan.json', line: undefined, row: undefined, message, rows: 1 }];
  const check = rowChecker(plan, chat);
  for (const [file, of] of Object.entries(rows) as [string, PlannedRow[]][]) {
    for (const row of of)
      for (const [name, message] of check(row)) return [{ name, file: `${file}.jsonl`, line: undefined, row: row.row, message, rows: 1 }];
  }
  return [];
}

function refuseMinutes({ estimate, base }: VerifierPlan, most: number | undefined): void {
  if (most === undefined) return;
  if (estimate.gpu_minutes === null)
    throw new CheckFailedError(
      `--max-minutes ${most}: the size of ${base} is unknown, so its time cannot be estimated; give a --tokenizer folder that holds the base's config.json, or leave --max-minutes out`,
    );
  if (estimate.gpu_minutes > most)
    throw new CheckFailedError(
      `about ${estimate.gpu_minutes} GPU minutes (${estimate.steps} steps, ${estimate.tokens} tokens), above --max-minutes ${most}; fewer --max-steps or a smaller --base, and nothing is written`,
    );
}

function onlyForm({ training }: PairRows): string[] {
  const forms = new Set(training.map(({ form }) => form));
  return forms.size > 1
    ? []
    : [
        `only the form ${[...forms].join(', ')} is trained on: on claims worded otherwise, as generated ones are, the verifier will do worse (labels build --forms)`,
      ];
}

/** The trainer runs elsewhere, in another folder: what is here need not be there. */
function relativeBase(base: string): string[] {
  if (isAbsolute(base) || !existsSync(join(base, 'config.json'))) return [];
  return [
    `the base ${JSON.stringify(base)} is a folder here, and the trainer looks for it from the job's folder: name it by an absolute path, or put it there`,
  ];
}

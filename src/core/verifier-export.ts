import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { parsed } from './parse.js';
import { InputError, shown } from './errors.js';
import { readJsonLines } from './jsonl.js';
import { fileName } from './pinned-files.js';
import { verifierFields } from './verifier-fields.js';

/** Number formats of an exported graph's weights, the widest first. Inputs and outputs are 32-bit floats in each. */
export const VARIANTS = ['fp32', 'fp16', 'int8', 'int4'] as const;
export type Variant = (typeof VARIANTS)[number];

const sha = z.string().regex(/^[0-9a-f]{64}$/, 'expected 64 hex digits');
const tokenId = z.int().nonnegative();
const tokenIds = z.array(tokenId).min(1, 'expected at least one token');
const count = z.int().nonnegative();
/** Mean log-probability a token of each label; never above zero, but for the rounding of a sum. */
const scores = z.array(z.number().max(1e-6, 'expected a log-probability, at most 0'));

/** Training settings under the names of a plan; the trainer echoes every one that it ran with. */
export const trainingSettings = z.record(z.string(), z.json());
export type TrainingSettings = z.infer<typeof trainingSettings>;

export const verifierArchitecture = z.strictObject({
  layers: z.int().positive(),
  kv_heads: z.int().positive(),
  head_dim: z.int().positive(),
  hidden: z.int().positive(),
});
export type VerifierArchitecture = z.infer<typeof verifierArchitecture>;

/** A graph of the export: its file, and the files beside it that hold its tensors. */
export const variantFiles = z.strictObject({ path: fileName, external: z.array(fileName) });
export type VariantFiles = z.infer<typeof variantFiles>;

/** What the trainer measured on the dev rows, with the merged model. */
export const devMetrics = z.strictObject({
  rows: count,
  accuracy: z.nullable(z.number()),
  macro_f1: z.nullable(z.number()),
  /** `confusion[gold][said]`, in the order of `labels`. */
  confusion: z.array(z.array(count)),
  /** F1 by label; null where it has neither a row nor a prediction. */
  per_class: z.record(z.string(), z.json()),
});

/** `export.json` of a trainer's export folder, written last there. */
export const verifierExport = z.strictObject({
  kind: z.literal('verifier-export'),
  format: z.literal(1),
  base: z.string(),
  /** Of the base's weights. */
  base_sha256: sha,
  /** Of the job that it was trained with: its plan and its training rows (`trainingSha256`). */
  training_sha256: sha,
  settings: trainingSettings,
  labels: z.array(z.string()).min(2),
  label_ids: z.record(z.string(), tokenIds),
  pad_id: tokenId,
  eos_id: tokenId,
  vocab_size: z.int().positive(),
  template_sha256: sha,
  prompt_sha256: sha,
  tokenizer_sha256: sha,
  merge_dtype: z.string(),
  merged_into_quantised: z.boolean(),
  tied_embeddings: z.boolean(),
  architecture: verifierArchitecture,
  variants: z.partialRecord(z.enum(VARIANTS), variantFiles),
  /** Planned variants that were left out, with why: their number format cannot hold what the graph computes. */
  failed_variants: z.partialRecord(z.enum(VARIANTS), z.string().min(1)),
  metrics: z.strictObject({ dev: devMetrics, steps: count, train_rows: count }),
  files: z.array(z.strictObject({ path: fileName, bytes: count, sha256: sha })),
  versions: z.record(z.string(), z.string()),
});
export type VerifierExport = z.infer<typeof verifierExport>;

/** A row of the parity gate: what each stage of the way gave for its prompt, in the order of `labels`. */
export const goldenScores = z.strictObject({
  row: z.string(),
  label: z.string(),
  form: z.string(),
  /** Of the prompt's eight lines. */
  fields: verifierFields,
  prompt_ids: tokenIds,
  /** The base with its adapter, as it was trained. */
  adapter: scores,
  merged: scores,
  /** The graphs, run in Python. */
  onnx: z.partialRecord(z.enum(VARIANTS), scores),
});
export type GoldenScores = z.infer<typeof goldenScores>;

/** A dev row as the merged model scored it. */
export const devScores = z.strictObject({ row: z.string(), label: z.string(), form: z.string(), prompt_ids: tokenIds, scores });
export type DevScores = z.infer<typeof devScores>;

/** Reads `export.json`. Throws InputError that names the folder, or the file and the field. */
export async function readVerifierExport(folder: string): Promise<VerifierExport> {
  const file = join(folder, 'export.json');
  const value = await readJson(file, 'no export.json: not a finished export of the trainer');
  return parsed(verifierExport, value, { file });
}

/** Reads the settings that the trainer echoed beside the export. */
export async function readEffectiveSettings(folder: string): Promise<TrainingSettings> {
  const file = join(folder, 'effective.json');
  return parsed(trainingSettings, await readJson(file, 'no such file'), { file });
}

/** Reads the golden rows with as many scores as there are labels. */
export function readGoldenScores(folder: string, labels: readonly string[]): Promise<GoldenScores[]> {
  return readRows(join(folder, 'golden.jsonl'), goldenScores, (row) => [
    ['adapter', row.adapter, labels],
    ['merged', row.merged, labels],
    ...Object.entries(row.onnx).map(([name, values]) => [`onnx.${name}`, values, labels] as const),
    ['label', row.label, labels],
  ]);
}

/** Reads the dev rows with the trainer's scores. */
export function readDevScores(folder: string, labels: readonly string[]): Promise<DevScores[]> {
  return readRows(join(folder, 'dev-scores.jsonl'), devScores, (row) => [
    ['scores', row.scores, labels],
    ['label', row.label, labels],
  ]);
}

type Check = readonly [field: string, value: readonly number[] | string, labels: readonly string[]];

async function readRows<T>(file: string, schema: z.ZodType<T>, checks: (row: T) => readonly Check[]): Promise<T[]> {
  const rows: T[] = [];
  for await (const { line, value: row } of readJsonLines(file, schema)) {
    for (const [field, got, labels] of checks(row)) {
      if (typeof got === 'string') {
        if (!labels.includes(got)) throw new InputError(`got ${shown(got)}, expected one of ${labels.join(', ')}`, { file, line, field });
      } else if (got.length !== labels.length) {
        throw new InputError(`got ${got.length} numbers, expected ${labels.length}, one a label`, { file, line, field });
      }
    }
    rows.push(row);
  }
  return rows;
}

async function readJson(file: string, missing: string): Promise<unknown> {
  let content: string;
  try {
    content = await readFile(file, 'utf8');
  } catch {
    throw new InputError(missing, { file });
  }
  try {
    return JSON.parse(content);
  } catch (error) {
    throw new InputError(`not JSON (${(error as Error).message})`, { file });
  }
}

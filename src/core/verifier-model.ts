import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { type Manifest, checkedFile } from './manifest.js';
import { VARIANTS, type VariantFiles, devMetrics, trainingSettings, variantFiles, verifierArchitecture } from './verifier-export.js';

const sha = z.string().regex(/^[0-9a-f]{64}$/);

/** One step of the way from the trained adapter to the imported graph, compared on the golden rows. */
export const parityStage = z.strictObject({
  /** `adapter to merged`, `merged to onnx`, `onnx to node`, or `merged to node`, the whole way that a served score has gone. */
  stage: z.enum(['adapter to merged', 'merged to onnx', 'onnx to node', 'merged to node']),
  /** Null for the step before the graphs. */
  variant: z.nullable(z.enum(VARIANTS)),
  rows: z.int().nonnegative(),
  /** Largest difference of a mean log-probability, over rows and labels. */
  max_difference: z.number().nonnegative(),
  /** Rows whose label changes; the margin is the one before the step: best minus second-best score. */
  flips: z.array(z.strictObject({ row: z.string(), from: z.string(), to: z.string(), margin: z.number().nonnegative() })),
  /** What it had to keep; null where only flips decide. */
  tolerance: z.strictObject({
    difference: z.nullable(z.number()),
    /** A flip is only let through where the margin before was at most this. */
    flip_margin: z.number(),
    /** Largest share of rows that may flip at all. */
    flip_share: z.number(),
  }),
  passed: z.boolean(),
});
export type ParityStage = z.infer<typeof parityStage>;

/** Dev rows scored anew through the imported graph, beside the trainer's scores of the same rows. */
export const parityDev = z.strictObject({
  variant: z.enum(VARIANTS),
  rows: z.int().nonnegative(),
  /** Null without rows. */
  trainer_macro_f1: z.nullable(z.number()),
  node_macro_f1: z.nullable(z.number()),
  tolerance: z.number(),
  flips: z.int().nonnegative(),
  passed: z.boolean(),
});
export type ParityDev = z.infer<typeof parityDev>;

/** `parity.json`: what the gate measured, for every variant that was asked for. */
export const parityReport = z.strictObject({
  stages: z.array(parityStage),
  dev: z.array(parityDev),
  /** Variants that did not pass, each with why; they are not in the model's folder. */
  refused: z.partialRecord(z.enum(VARIANTS), z.string()),
});
export type ParityReport = z.infer<typeof parityReport>;

/** What an imported verifier's manifest says of it in `details`: everything its scores belong to, and how good they are. */
export const verifierModelDetails = z.strictObject({
  base: z.string(),
  base_sha256: sha,
  settings: trainingSettings,
  /** Whether the settings were compared with those of the plan. */
  settings_compared: z.boolean(),
  labels: z.array(z.string()),
  label_ids: z.record(z.string(), z.array(z.int().nonnegative())),
  pad_id: z.int().nonnegative(),
  eos_id: z.int().nonnegative(),
  vocab_size: z.int().positive(),
  template_sha256: sha,
  prompt_sha256: sha,
  tokenizer_sha256: sha,
  architecture: verifierArchitecture,
  tied_embeddings: z.boolean(),
  variants: z.partialRecord(z.enum(VARIANTS), variantFiles),
  /** The variant that is opened where none is named: the widest that is here. */
  default_variant: z.enum(VARIANTS),
  metrics: z.strictObject({ dev: devMetrics, steps: z.int(), train_rows: z.int() }),
  parity: parityReport,
});
export type VerifierModelDetails = z.infer<typeof verifierModelDetails>;

/** Subfolder of the model folder that holds the imported verifiers, one folder each. */
export const VERIFIERS = 'verifiers';

/** Names of the verifiers in a model folder, in order. A folder that begins with a dot is an import at work, or what one left when it was killed. */
export async function verifierNames(modelDir: string): Promise<string[]> {
  const entries = await readdir(join(modelDir, VERIFIERS), { withFileTypes: true }).catch(() => []);
  return entries.flatMap((one) => (one.isDirectory() && !one.name.startsWith('.') ? [one.name] : [])).toSorted();
}

/**
 * Hashes an imported verifier's files again; with `own`, of the graphs only that variant's. Throws InputError for the first one that is not
 * what the manifest says.
 */
export async function checkVerifierFiles(folder: string, manifest: Manifest, own?: VariantFiles): Promise<void> {
  // Those of the variant also where the manifest does not list them: then it is no import's.
  const names = new Set([...manifest.outputs.map((one) => one.name), ...(own === undefined ? [] : [own.path, ...own.external])]);
  for (const name of names) {
    // The other variants' graphs, gigabytes each, are not what is opened.
    if (own !== undefined && name.startsWith('onnx/') && name !== own.path && !own.external.includes(name)) continue;
    await checkedFile(folder, manifest, name);
  }
}

import { InputError, shown } from '../src/core/errors.js';
import { type Task, type VerifierSettings, verifierSettings } from '../src/core/verifier-job.js';

/** The papers' settings (method.md §4), with `auto` where they need a GPU: on one it is NF4, bf16 and paged 8-bit AdamW, as in the papers. */
export const VERIFIER_DEFAULTS: Omit<VerifierSettings, 'base' | 'seed'> = {
  revision: null,
  lora_rank: 16,
  lora_alpha: 32,
  lora_dropout: 0.05,
  lora_targets: ['q_proj', 'k_proj', 'v_proj', 'o_proj', 'gate_proj', 'up_proj', 'down_proj'],
  max_steps: 1000,
  batch_size: 1,
  accumulation: 8,
  learning_rate: 2e-4,
  schedule: 'linear',
  warmup_ratio: 0.03,
  max_length: 512,
  optimizer: 'auto',
  quantisation: 'auto',
  double_quant: true,
  compute_dtype: 'auto',
  checkpoint_every: 100,
  eval_batch: 8,
  variants: ['fp32'],
  gradient_checkpointing: false,
};

/** What differs for the two-way heads (method.md §8); their steps follow from two epochs. */
const HEAD_DEFAULTS = { learning_rate: 1e-4, max_length: 2048, gradient_checkpointing: true } as const;
export const HEAD_EPOCHS = 2;

/** A run's settings as they are asked for: all but the base may be left to their defaults. */
export type GivenSettings = { [K in keyof VerifierSettings]?: VerifierSettings[K] | undefined } & { base: string; seed: number };

/**
 * Settings with their defaults. Without `max_steps`, a head takes two epochs of its training rows. Throws InputError that names the flag of
 * the first setting that is out of range.
 */
export function settingsOf(given: GivenSettings, { task, trainingRows }: { task: Task; trainingRows: number }): VerifierSettings {
  const own = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as Partial<VerifierSettings> &
    Pick<VerifierSettings, 'base' | 'seed'>;
  const merged: VerifierSettings = { ...VERIFIER_DEFAULTS, ...(task === 'labels' ? {} : HEAD_DEFAULTS), ...own };
  if (task !== 'labels' && own.max_steps === undefined) {
    const rowsPerStep = merged.batch_size * merged.accumulation;
    merged.max_steps = Math.max(1, Math.ceil((HEAD_EPOCHS * trainingRows) / rowsPerStep));
  }
  const parsed = verifierSettings.safeParse(merged);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  const name = String(issue?.path[0]);
  throw new InputError(
    `--${name.replaceAll('_', '-')}: got ${shown((merged as { [name: string]: unknown })[name])}, ${issue?.message ?? 'invalid'}`,
  );
}

import type { JobEstimate, VerifierSettings } from '../src/core/verifier-job.js';
import type { BaseShape } from './base-shape.js';

/** What the estimates take for granted; both can be given, since both belong to the GPU. */
export interface GpuAssumptions {
  /** Floating-point operations a second that training sustains, in 10^12. Default 40: an A100's class at short rows, an eighth of its peak. */
  teraflops?: number | undefined;
  /** Milliseconds that one layer takes at least in a forward and backward pass, however short the row. Default 4. */
  layerMs?: number | undefined;
}

const GIB = 1024 ** 3;

/**
 * What a run will take, from the rows' lengths and the base's shape alone.
 *
 * Tokens: mean length × rows that the steps read. Operations a token: 4 a parameter (2 forward, 2 for the gradients of what is behind;
 * the frozen weights get none), 6 where activations are computed anew, and 2 for a dev token. Time: operations over the rate, but no less
 * than the layers' own time a pass. Memory: the larger of training (weights, adapter with its gradients and optimiser, activations of the
 * longest row, 1 GiB of the runtime) and of the merge, which holds the whole base in 32 bits. Without a shape, time and memory are null.
 */
export function estimateRun(
  rows: { train: number; dev: number; meanTokens: number; longest: number },
  settings: VerifierSettings,
  shape: BaseShape | undefined,
  { teraflops = 40, layerMs = 4 }: GpuAssumptions = {},
): JobEstimate {
  const passes = settings.max_steps * settings.accumulation;
  const read = passes * settings.batch_size;
  const known = { tokens: Math.round(read * rows.meanTokens), steps: settings.max_steps, epochs: rounded(read / rows.train) };
  if (shape === undefined)
    return {
      ...known,
      gpu_minutes: null,
      memory_gib: null,
      assumptions: ["the base's shape is unknown: neither time nor memory is estimated"],
    };
  const parameters = shape.layerParameters + shape.tableParameters;
  const perToken = settings.gradient_checkpointing ? 6 : 4;
  const floor = (layerMs / 1000) * shape.layers;
  const training = Math.max((known.tokens * perToken * parameters) / (teraflops * 1e12), passes * floor);
  const devPasses = Math.ceil(rows.dev / settings.eval_batch);
  // A forward pass alone takes about a third of the layers' time.
  const dev = Math.max((rows.dev * rows.meanTokens * 2 * parameters) / (teraflops * 1e12), (devPasses * floor) / 3);
  return {
    ...known,
    gpu_minutes: rounded((training + dev) / 60),
    memory_gib: rounded(Math.max(trainingBytes(rows.longest, settings, shape), 4 * parameters + GIB) / GIB),
    assumptions: [
      `shape: ${shape.source}, ${(parameters / 1e9).toFixed(2)} billion parameters`,
      `time: one GPU at ${teraflops} TFLOPS sustained, at least ${layerMs} ms a layer and pass; assumed, not measured`,
      'memory: the larger of training and of the merge in 32-bit floats',
    ],
  };
}

function trainingBytes(longest: number, settings: VerifierSettings, shape: BaseShape): number {
  const nf4 = settings.quantisation !== 'none';
  const narrow = settings.compute_dtype !== 'fp32';
  // NF4: half a byte, and a scale a block of 64: 32 bits, or 8 and a second scale with double quantisation (0.127 bits a weight).
  const layerByte = nf4 ? 0.5 + (settings.double_quant ? 0.127 : 0.5) / 8 : narrow ? 2 : 4;
  const weights = shape.layerParameters * layerByte + shape.tableParameters * (narrow && !nf4 ? 2 : 4);
  const adapter = settings.lora_rank * shape.layers * settings.lora_targets.reduce((sum, name) => sum + (shape.widths[name] ?? 0), 0);
  const optimiser = settings.optimizer === 'adamw' ? 8 : 2;
  // Kept of each token and layer for the backward pass: the inputs of the projections and of their adapters.
  const kept = 16 * shape.hidden + 6 * shape.intermediate;
  const layersKept = settings.gradient_checkpointing ? 1 : shape.layers;
  const tokens = settings.batch_size * longest;
  const activations = tokens * (narrow ? 2 : 4) * (layersKept * kept + (settings.gradient_checkpointing ? shape.layers * shape.hidden : 0));
  return weights + adapter * (8 + optimiser) + activations + GIB;
}

function rounded(value: number): number {
  return Number(value.toPrecision(3));
}

import { classReport, labelSaid } from '../src/core/class-report.js';
import { VARIANTS, type DevScores, type GoldenScores, type Variant } from '../src/core/verifier-export.js';
import type { ParityDev, ParityReport, ParityStage } from '../src/core/verifier-model.js';

/** What one step may change. */
export type Tolerance = ParityStage['tolerance'];

/** Tolerances of the steps. */
export interface ParityTolerances {
  /** From the adapter beside the base to the merged weights, both in 32-bit floats whatever the base was trained in. */
  merge: Tolerance;
  /** From the merged weights to a graph. */
  variants: { readonly [variant in Variant]: Tolerance };
  /** From a graph in Python to the same graph in Node. */
  sameGraph: { readonly [variant in Variant]: Tolerance };
  /** Largest difference of the dev rows' macro-F1 between the trainer and Node. */
  macroF1: number;
}

const EXACT: Tolerance = { difference: 1e-4, flip_margin: 0, flip_share: 0 };

/**
 * Why these. In 32-bit floats two orders of the same sums differ by about 1e-6 a layer, so 1e-4 is far above rounding and far below any
 * change of weights; no label may flip. A narrower format changes the scores themselves, and a bound on them would say nothing of decisions:
 * the label may only flip where the two best labels had nearly the same score (e^0.02 to e^0.25 times as probable), seldom, and macro-F1
 * has to hold. fp16 keeps 11 bits, so a logit of about 20 moves by 0.01; int8 keeps 256 steps a weight, int4 16. From Python to Node the weights stay what they are and only the kernels' rounding may differ.
 */
export const DEFAULT_TOLERANCES: ParityTolerances = {
  merge: EXACT,
  variants: {
    fp32: EXACT,
    fp16: { difference: 0.05, flip_margin: 0.02, flip_share: 1 / 16 },
    int8: { difference: null, flip_margin: 0.1, flip_share: 1 / 16 },
    int4: { difference: null, flip_margin: 0.25, flip_share: 1 / 8 },
  },
  sameGraph: {
    fp32: EXACT,
    fp16: { difference: 0.02, flip_margin: 0.02, flip_share: 1 / 16 },
    int8: { difference: 0.05, flip_margin: 0.05, flip_share: 1 / 16 },
    int4: { difference: 0.05, flip_margin: 0.05, flip_share: 1 / 16 },
  },
  macroF1: 0.005,
};

/** A graph in Node, opened for the gate. */
export interface GateScorer {
  /** The mean log-probability of each label behind each prompt, in the order of the labels. */
  score(
    prompts: readonly (readonly number[])[],
    options: { onProgress: (done: number) => void; signal?: AbortSignal | undefined },
  ): Promise<number[][]>;
  close(): Promise<void>;
}

export interface ParityOptions {
  labels: readonly string[];
  variants: readonly Variant[];
  tolerances: ParityTolerances;
  /** Opens one of the variants; the gate closes it. */
  open: (variant: Variant) => Promise<GateScorer>;
  /** `total` rows of all variants. */
  onProgress?: ((done: number, total: number) => void) | undefined;
  signal?: AbortSignal | undefined;
}

/**
 * The parity gate (known-faults part E): how far the scores move from the trained adapter to the merged weights, to each graph in Python and
 * to the same graph in Node, on the golden rows, and whether macro-F1 on the dev rows holds. A variant that fails is named in `refused`; where
 * the merge fails, all are.
 */
export async function parityGate(
  golden: readonly GoldenScores[],
  dev: readonly DevScores[],
  options: ParityOptions,
): Promise<ParityReport> {
  const { labels, variants, tolerances } = options;
  const report: ParityReport = { stages: [], dev: [], refused: {} };
  const compare = (stage: ParityStage['stage'], variant: Variant | null, sides: Sides, tolerance: Tolerance): void => {
    report.stages.push(compareScores({ stage, variant, tolerance }, golden, sides, labels));
  };
  compare('adapter to merged', null, [(row) => row.adapter, (row) => row.merged], tolerances.merge);
  const total = variants.length * (golden.length + dev.length);
  for (const [at, variant] of variants.entries()) {
    options.signal?.throwIfAborted();
    const scorer = await options.open(variant);
    const before = at * (golden.length + dev.length);
    try {
      const scored = await scorer.score(
        golden.map((row) => row.prompt_ids),
        { onProgress: (done) => options.onProgress?.(before + done, total), signal: options.signal },
      );
      const tolerance = tolerances.variants[variant];
      const inPython = (row: GoldenScores): readonly number[] => row.onnx[variant] as number[];
      const inNode = (_: GoldenScores, index: number): readonly number[] => scored[index] as number[];
      compare('merged to onnx', variant, [(row) => row.merged, inPython], tolerance);
      compare('onnx to node', variant, [inPython, inNode], tolerances.sameGraph[variant]);
      compare('merged to node', variant, [(row) => row.merged, inNode], tolerance);
      const rescored = await scorer.score(
        dev.map((row) => row.prompt_ids),
        { onProgress: (done) => options.onProgress?.(before + golden.length + done, total), signal: options.signal },
      );
      report.dev.push(compareDev(variant, dev, rescored, { labels, tolerance: tolerances.macroF1 }));
    } finally {
      await scorer.close();
    }
  }
  return { ...report, refused: refusedVariants(report, variants) };
}

/** One way's scores of a golden row. */
type Side = (row: GoldenScores, at: number) => readonly number[];
type Sides = readonly [before: Side, after: Side];

function compareScores(
  { stage, variant, tolerance }: Pick<ParityStage, 'stage' | 'variant' | 'tolerance'>,
  golden: readonly GoldenScores[],
  [before, after]: Sides,
  labels: readonly string[],
): ParityStage {
  let largest = 0;
  const flips: ParityStage['flips'] = [];
  for (const [at, row] of golden.entries()) {
    const [from, to] = [before(row, at), after(row, at)];
    for (const [label, score] of from.entries()) {
      const difference = Math.abs(score - (to[label] as number));
      // A score that is no number is as far away as can be; JSON has no infinity.
      largest = Math.max(largest, Number.isFinite(difference) ? difference : Number.MAX_VALUE);
    }
    const [said, then] = [labelSaid(from), labelSaid(to)];
    if (said !== then) flips.push({ row: row.row, from: labels[said] as string, to: labels[then] as string, margin: marginOf(from) });
  }
  const passed =
    (tolerance.difference === null ? largest < Number.MAX_VALUE : largest <= tolerance.difference) &&
    flips.length <= tolerance.flip_share * golden.length &&
    flips.every((one) => one.margin <= tolerance.flip_margin);
  return { stage, variant, rows: golden.length, max_difference: largest, flips, tolerance, passed };
}

/** Best score minus second best. */
function marginOf(scores: readonly number[]): number {
  const [first = 0, second = 0] = scores.toSorted((a, b) => b - a);
  return first - second;
}

function compareDev(
  variant: Variant,
  dev: readonly DevScores[],
  rescored: readonly (readonly number[])[],
  { labels, tolerance }: { labels: readonly string[]; tolerance: number },
): ParityDev {
  const macroF1 = (scores: (at: number) => readonly number[]): number | null =>
    classReport(dev.map((row, at) => ({ gold: labels.indexOf(row.label), probabilities: scores(at) }))).macro_f1;
  const trainer = macroF1((at) => (dev[at] as DevScores).scores);
  const node = macroF1((at) => rescored[at] as readonly number[]);
  const flips = dev.filter((row, at) => labelSaid(row.scores) !== labelSaid(rescored[at] as readonly number[])).length;
  // A hair more than the tolerance: 0.93 − 0.925 is 0.0050000000000000044 in 64-bit floats.
  const passed = trainer === null || node === null || Math.abs(trainer - node) <= tolerance + 1e-9;
  return { variant, rows: dev.length, trainer_macro_f1: trainer, node_macro_f1: node, tolerance, flips, passed };
}

function refusedVariants({ stages, dev }: ParityReport, variants: readonly Variant[]): ParityReport['refused'] {
  const refused: ParityReport['refused'] = {};
  for (const variant of VARIANTS.filter((one) => variants.includes(one))) {
    const reasons = [
      ...stages.filter((one) => !one.passed && (one.variant === variant || one.variant === null)).map(failedStage),
      ...dev.filter((one) => !one.passed && one.variant === variant).map(failedDev),
    ];
    if (reasons.length > 0) refused[variant] = reasons.join('; ');
  }
  return refused;
}

function failedStage({ stage, rows, max_difference: largest, flips, tolerance }: ParityStage): string {
  const wide = Math.max(0, ...flips.map((one) => one.margin));
  const allowed =
    tolerance.flip_share === 0 ? 'none' : `at most ${Math.floor(tolerance.flip_share * rows)}, at margins up to ${tolerance.flip_margin}`;
  const parts = [
    ...(tolerance.difference !== null && largest > tolerance.difference
      ? [`scores move by up to ${figure(largest)}, expected at most ${tolerance.difference}`]
      : largest === Number.MAX_VALUE
        ? ['a score is no number']
        : []),
    ...(flips.length > tolerance.flip_share * rows || wide > tolerance.flip_margin
      ? [`${flips.length} of ${rows} labels flip (margin before up to ${figure(wide)}), expected ${allowed}`]
      : []),
  ];
  return `${stage}: ${parts.join(', ')}`;
}

function failedDev({ rows, trainer_macro_f1: trainer, node_macro_f1: node, tolerance, flips }: ParityDev): string {
  return (
    `macro-F1 on ${rows} dev rows is ${figure(node ?? NaN)} in Node and ${figure(trainer ?? NaN)} in the trainer, expected within ${tolerance} ` +
    `(labels that flip: ${flips})`
  );
}

function figure(value: number): string {
  return value === Number.MAX_VALUE ? 'infinity' : value !== 0 && Math.abs(value) < 0.001 ? value.toExponential(1) : value.toFixed(4);
}

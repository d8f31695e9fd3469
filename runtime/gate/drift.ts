// Stands beside the gate, not among the statistics: a live gate falls back on its alarm, and runtime imports no statistics.
import { random } from '../../src/core/random.js';
import type { Profile } from './profile.js';

/**
 * How many margins lie in each bin: `counts[i]` of those in [(firstBin + i) · width, (firstBin + i + 1) · width). The bins are fixed beforehand,
 * not fitted to the margins: else the test below would not be exact.
 */
export interface MarginHistogram {
  width: number;
  firstBin: number;
  counts: readonly number[];
}

export interface DriftOptions {
  /** Probability of ever raising an alarm on an endless stream without drift. In (0, 1); default 0.01. */
  alpha?: number | undefined;
  /** Of the uniform numbers that break ties inside a bin. Default 13. */
  seed?: number | undefined;
}

/** Where the test stands; plain data of fixed size, never changed in place. */
export interface DriftState {
  readonly alpha: number;
  readonly seed: number;
  readonly width: number;
  /** Of the calibration and everything observed since, by bin. */
  readonly counts: readonly number[];
  readonly calibration: number;
  /** Margins observed: one a question. */
  readonly questions: number;
  /** ln of the betting capital, which starts at 1; the alarm is at 1 / alpha. */
  readonly logCapital: number;
  /** Question at which the capital first reached 1 / alpha; null while it has not. */
  readonly alarmAt: number | null;
  readonly gamblers: readonly Gambler[];
}

/** One way of betting against the p-values: an adaptive histogram of them, or one that jumps between fixed shapes. */
type Gambler =
  | { readonly kind: 'histogram'; readonly logCapital: number; readonly seen: readonly number[] }
  | { readonly kind: 'jumper'; readonly logCapital: number; readonly rate: number; readonly weights: readonly number[] };

export const DRIFT_ALPHA = 0.01;
/** Width of the bins in which a profile keeps its margins: the step of the grid for τ. */
export const MARGIN_BIN = 0.005;

/**
 * Watches whether live questions are still like those that τ was chosen on, by one number a question: the margin after its first loop, which is there
 * whatever the gate does later. The margins of the loops of one question depend on each other, and how many there are depends on the decider.
 *
 * A conformal test martingale (Vovk, Gammerman, Shafer, "Algorithmic Learning in a Random World", 2nd ed., part III): each margin gets a
 * smoothed p-value, its rank among the calibration's margins **and all live ones before it**, ties inside a bin broken by seeded uniform
 * numbers. If the live margins are exchangeable with the calibration's these p-values are independent and uniform, exactly, with as few
 * calibration questions as there are and whatever the bins: that the calibration is a finite sample costs nothing. Against them bets a
 * capital that starts at 1 and is a martingale then, so that by Ville's inequality it ever reaches 1 / alpha with probability at most alpha,
 * however long the stream and however often one looks.
 *
 * The bets (**choice**): equal parts of adaptive histograms with 4 and 8 bins, which find any lasting shape, and of jumpers (Vovk and
 * others 2021, "Retrain or not retrain") of three rates over two shapes and their mirror images, which find a drift that sets in late.
 *
 * @throws RangeError for an empty calibration or an alpha outside (0, 1)
 */
export function createDrift(reference: MarginHistogram, { alpha = DRIFT_ALPHA, seed = 13 }: DriftOptions = {}): DriftState {
  if (!(alpha > 0 && alpha < 1)) throw new RangeError(`alpha: got ${alpha}, expected a number between 0 and 1, both excluded`);
  const { width, firstBin, counts } = reference;
  const all = Array.from({ length: binOf(2, width) + 1 }, () => 0);
  for (const [at, count] of counts.entries()) all[firstBin + at] = count;
  const calibration = counts.reduce((sum, count) => sum + count, 0);
  if (calibration === 0) throw new RangeError('reference: got no margin, expected at least one');
  return {
    alpha,
    seed,
    width,
    counts: all,
    calibration,
    questions: 0,
    logCapital: 0,
    alarmAt: null,
    gamblers: [
      ...HISTOGRAM_BINS.map((bins): Gambler => ({ kind: 'histogram', logCapital: 0, seen: Array.from({ length: bins }, () => 1) })),
      ...JUMP_RATES.map((rate): Gambler => ({ kind: 'jumper', logCapital: 0, rate, weights: SHAPES.map(() => 1 / SHAPES.length) })),
    ],
  };
}

/** The state after one more question's first margin, in [0, 2]. Throws RangeError for another number. Cost: the number of bins. */
export function observeDrift(state: DriftState, margin: number): DriftState {
  if (!(margin >= 0 && margin <= 2)) throw new RangeError(`margin: got ${margin}, expected a number in [0, 2]`);
  const bin = binOf(margin, state.width);
  const counts = [...state.counts];
  counts[bin] = (counts[bin] as number) + 1;
  let below = 0;
  for (let at = 0; at < bin; at++) below += counts[at] as number;
  const questions = state.questions + 1;
  // Low for a margin below the calibration's, high for one above.
  const p = (below + random(state.seed, 'drift', questions).float() * counts[bin]) / (state.calibration + questions);
  const gamblers = state.gamblers.map((one) => bet(one, p));
  const logCapital = logMean(gamblers.map((one) => one.logCapital));
  // The last digits of sums of logarithms are no reason for an alarm, or against one: capital exactly at the line counts.
  const alarm = logCapital >= -Math.log(state.alpha);
  return { ...state, counts, questions, gamblers, logCapital, alarmAt: state.alarmAt ?? (alarm ? questions : null) };
}

/**
 * The calibration's margins that a live gate is compared with: those of the datasets that τ was chosen on, together, or of one named dataset.
 * Null where the profile keeps none (the field came later than the first profiles): of its quantiles alone no exact test can be made.
 */
export function driftReference(profile: Pick<Profile, 'first_margins' | 'trained_on'>, dataset?: string): MarginHistogram | null {
  const kept = profile.first_margins;
  if (kept === undefined) return null;
  const parts = kept.datasets.filter((one) => (dataset === undefined ? profile.trained_on.includes(one.dataset) : one.dataset === dataset));
  if (parts.length === 0) return null;
  const firstBin = Math.min(...parts.map((one) => one.first_bin));
  const end = Math.max(...parts.map((one) => one.first_bin + one.counts.length));
  const counts = Array.from({ length: end - firstBin }, () => 0);
  for (const { first_bin, counts: own } of parts)
    for (const [at, count] of own.entries()) counts[first_bin - firstBin + at] = (counts[first_bin - firstBin + at] as number) + count;
  return { width: kept.width, firstBin, counts };
}

/** Margins counted in bins of a fixed width. Throws RangeError for one outside [0, 2]. */
export function marginHistogram(margins: Iterable<number>, width: number = MARGIN_BIN): MarginHistogram {
  const counts = new Map<number, number>();
  for (const margin of margins) {
    if (!(margin >= 0 && margin <= 2)) throw new RangeError(`margin: got ${margin}, expected a number in [0, 2]`);
    const bin = binOf(margin, width);
    counts.set(bin, (counts.get(bin) ?? 0) + 1);
  }
  if (counts.size === 0) return { width, firstBin: 0, counts: [] };
  const firstBin = Math.min(...counts.keys());
  const bins = Math.max(...counts.keys()) - firstBin + 1;
  return { width, firstBin, counts: Array.from({ length: bins }, (_, at) => counts.get(firstBin + at) ?? 0) };
}

const HISTOGRAM_BINS = [4, 8] as const;
const JUMP_RATES = [1e-4, 1e-3, 1e-2] as const;

/** Densities on [0, 1] with mean 1: nothing, margins too high or too low, too far out or too much in the middle. */
const SHAPES: readonly ((p: number) => number)[] = [
  () => 1,
  (p) => 1 + 1.6 * (p - 0.5),
  (p) => 1 - 1.6 * (p - 0.5),
  (p) => 1 + 1.2 * ((2 * p - 1) ** 2 - 1 / 3),
  (p) => 1 - 1.2 * ((2 * p - 1) ** 2 - 1 / 3),
];

/** The part of 1e-9 keeps a margin of a whole number of widths in its bin; margins are rounded to 1e-6. */
function binOf(margin: number, width: number): number {
  return Math.floor(margin / width + 1e-9);
}

function bet(gambler: Gambler, p: number): Gambler {
  if (gambler.kind === 'histogram') {
    const seen = [...gambler.seen];
    const bin = Math.min(seen.length - 1, Math.floor(p * seen.length));
    const total = seen.reduce((sum, count) => sum + count, 0);
    const factor = ((seen[bin] as number) / total) * seen.length;
    seen[bin] = (seen[bin] as number) + 1;
    return { ...gambler, seen, logCapital: gambler.logCapital + Math.log(factor) };
  }
  const won = gambler.weights.map((weight, at) => weight * (SHAPES[at] as (p: number) => number)(p));
  const factor = won.reduce((sum, weight) => sum + weight, 0);
  const weights = won.map((weight) => ((1 - gambler.rate) * weight) / factor + gambler.rate / won.length);
  return { ...gambler, weights, logCapital: gambler.logCapital + Math.log(factor) };
}

/** ln of the mean of e^x, without overflow. */
function logMean(logs: readonly number[]): number {
  const largest = Math.max(...logs);
  return largest + Math.log(logs.reduce((sum, one) => sum + Math.exp(one - largest), 0) / logs.length);
}

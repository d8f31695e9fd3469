import type { Bootstrap } from './bootstrap-interval.js';
import { pairedBootstrap } from './paired-bootstrap.js';
import { pairedDifferences, type PairedColumns } from './paired-effect.js';

/** One dataset's questions under two systems. */
export interface PairedSet extends PairedColumns {
  /** Dataset. */
  name: string;
  /** One id a question where ids repeat: rows of one id are drawn together. */
  clusters?: ArrayLike<string | number>;
}

export interface PooledDifferenceOptions {
  sets: readonly PairedSet[];
  /** Leave out sets whose differences do not vary: the rule for equivalence. Default false, the rule for non-inferiority. */
  leaveOutDegenerate?: boolean;
  /** Default 10,000. */
  resamples?: number;
  /** Default 13. */
  seed?: number;
  /** Two-sided confidence level. Default 0.95. */
  level?: number;
}

export interface PooledDifference {
  /** Mean over all questions pooled; null where every set was left out. */
  difference: Bootstrap | null;
  /** Questions pooled. */
  n: number;
  pooled: string[];
  /** Sets without variance, by name; empty where they are kept. */
  leftOut: string[];
}

/**
 * One difference over several datasets: use it where each alone is too small to speak, as support and not as the verdict.
 * Variant: stratified paired bootstrap; each set is redrawn at its own size and the questions' differences are pooled, so a set counts by its
 * questions. Sets whose differences do not vary tighten the interval: they stay in for non-inferiority and are left out, by rule and named, for
 * equivalence.
 * Source: CoVeR, appendix B (non-inferiority over all three sets, TOST over those not degenerate). Cost: that of `pairedBootstrap`.
 *
 * @throws RangeError as `pairedBootstrap`, for no set, and for a name that stands twice
 */
export function pooledDifference({ sets, leaveOutDegenerate = false, ...options }: PooledDifferenceOptions): PooledDifference {
  if (sets.length === 0) throw new RangeError('sets: got none, expected at least one');
  const names = sets.map((set) => set.name);
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (twice !== undefined) throw new RangeError(`sets: got ${JSON.stringify(twice)} twice, expected each name once`);
  const differences = sets.map(pairedDifferences);
  const kept = differences.map((values) => !leaveOutDegenerate || values.some((value) => value !== values[0]));
  const [pooled, leftOut] = [true, false].map((wanted) => names.filter((_, i) => kept[i] === wanted)) as [string[], string[]];
  const difference = differences.flatMap((values, i) => (kept[i] ? values : []));
  if (pooled.length === 0) return { difference: null, n: 0, pooled, leftOut };
  const each = <Value>(value: (set: PairedSet, question: number) => Value): Value[] =>
    sets.flatMap((set, i) => (kept[i] ? (differences[i] as number[]).map((_, question) => value(set, question)) : []));
  const boot = pairedBootstrap({
    ...options,
    columns: { difference },
    strata: each((set) => set.name),
    // Questions without an id are clusters of their own; the plan tells the strata apart.
    clusters: each((set, question) => set.clusters?.[question] ?? question),
    statistic: (total, { units }) => total.difference / units,
  });
  return { difference: boot, n: difference.length, pooled, leftOut };
}

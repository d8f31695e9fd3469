import { checkCount } from './argument-checks.js';
import { summariseBootstrap, type Bootstrap } from './bootstrap-interval.js';
import { forEachResample, planResamples, type ResampleDesign, type ResamplePlan } from './resample.js';

/** Sums of every column over the units drawn (a unit drawn twice counts twice). */
export type Totals<Column extends string> = Readonly<Record<Column, number>>;

export interface Drawn<Column extends string> {
  /** Units drawn; differs between resamples only where clusters have different sizes. */
  units: number;
  /** The same for every stratum, in the order in which the strata first appear: for figures that weigh datasets equally. */
  strata: readonly { name: string; units: number; totals: Totals<Column> }[];
}

/** A figure made of sums: a difference of means, `(a − b) / units`, or a ratio, `1 − gated / always`. Not finite means undefined. */
export type Statistic<Column extends string> = (totals: Totals<Column>, drawn: Drawn<Column>) => number;

export interface BootstrapData<Column extends string> extends Omit<ResampleDesign, 'units'> {
  /** One array a quantity, each with one finite number a unit, in the same order: row i of every array is the same question. */
  columns: Readonly<Record<Column, ArrayLike<number>>>;
}

export interface BootstrapOptions<Column extends string> extends BootstrapData<Column> {
  /** Number of resamples. Default 10,000; a 95% interval needs at least 39. */
  resamples?: number;
  /** Default 13. */
  seed?: number;
  /** Two-sided confidence level. Default 0.95. */
  level?: number;
}

export interface PairedBootstrapOptions<Column extends string> extends BootstrapOptions<Column> {
  statistic: Statistic<Column>;
}

export interface PairedBootstrapsOptions<Column extends string, Name extends string> extends BootstrapOptions<Column> {
  statistics: Readonly<Record<Name, Statistic<Column>>>;
}

/**
 * The percentile interval of a figure that two (or more) systems give on the same questions: use it for every difference and ratio in a
 * table. Drawing whole questions keeps what the systems have in common out of the interval.
 * Variant: non-parametric bootstrap of units with replacement, by cluster and within strata where given; the interval and the treatment
 * of undefined resamples are those of `percentileInterval`. Equal to the bit for the same data, seed and number of resamples, on any
 * machine.
 * Throws RangeError for no units, columns of unequal length, or a value that is not finite.
 * Source: Efron and Tibshirani 1993; evaluation of HALT and CoVeR. Cost: resamples × clusters (10,000 × 1,000 with two columns: about 0.3
 * s).
 */
export function pairedBootstrap<Column extends string>({ statistic, ...options }: PairedBootstrapOptions<Column>): Bootstrap {
  return pairedBootstraps({ ...options, statistics: { value: statistic } }).value;
}

/** Several figures of the same data on the same resamples, at little more than the cost of one. */
export function pairedBootstraps<Column extends string, Name extends string>({
  statistics,
  resamples = 10_000,
  seed = 13,
  level = 0.95,
  ...data
}: PairedBootstrapsOptions<Column, Name>): Record<Name, Bootstrap> {
  checkCount('resamples', resamples, 1);
  const distributions = resampleStatistics({ ...data, statistics, seed, from: 0, to: resamples });
  const estimates = observedStatistics({ ...data, statistics });
  const results = {} as Record<Name, Bootstrap>;
  for (const name of Object.keys(statistics) as Name[]) {
    results[name] = summariseBootstrap(estimates[name], distributions[name], level);
  }
  return results;
}

export interface StatisticsOf<Column extends string, Name extends string> extends BootstrapData<Column> {
  statistics: Readonly<Record<Name, Statistic<Column>>>;
}

/** The figures on the data as they are. */
export function observedStatistics<Column extends string, Name extends string>({
  statistics,
  ...data
}: StatisticsOf<Column, Name>): Record<Name, number> {
  const sums = sumByCluster(data);
  const drawn = totalsOf(sums, new Int32Array(sums.plan.clusters).fill(1));
  const values = {} as Record<Name, number>;
  for (const name of Object.keys(statistics) as Name[]) values[name] = statistics[name](drawn.totals, drawn);
  return values;
}

export interface StatisticsPart<Column extends string, Name extends string> extends StatisticsOf<Column, Name> {
  seed: number;
  /** First resample, included. */
  from: number;
  /** Last resample, excluded. */
  to: number;
}

/**
 * The figures in resamples `from` … `to` − 1, NaN where undefined: for dividing the work. The parts, joined in order and given to
 * `summariseBootstrap`, are what `pairedBootstraps` makes of the whole, to the bit.
 */
export function resampleStatistics<Column extends string, Name extends string>({
  statistics,
  seed,
  from,
  to,
  ...data
}: StatisticsPart<Column, Name>): Record<Name, Float64Array> {
  const sums = sumByCluster(data);
  const names = Object.keys(statistics) as Name[];
  const distributions = {} as Record<Name, Float64Array>;
  for (const name of names) distributions[name] = new Float64Array(Math.max(0, to - from));
  forEachResample(sums.plan, { seed, from, to }, (counts, resample) => {
    const drawn = totalsOf(sums, counts);
    for (const name of names) {
      const value = statistics[name](drawn.totals, drawn);
      distributions[name][resample - from] = Number.isFinite(value) ? value : Number.NaN;
    }
  });
  return distributions;
}

interface ClusterSums<Column extends string> {
  plan: ResamplePlan;
  names: Column[];
  /** For every column, in the order of `names`, the sum in each cluster. */
  columns: Float64Array[];
  /** Units in each cluster. */
  sizes: Float64Array;
}

function sumByCluster<Column extends string>({ columns, ...design }: BootstrapData<Column>): ClusterSums<Column> {
  const names = Object.keys(columns) as Column[];
  const first = names[0];
  if (first === undefined) throw new RangeError('columns: got none, expected at least one');
  const plan = planResamples({ ...design, units: columns[first].length });
  const sizes = new Float64Array(plan.clusters);
  for (const cluster of plan.clusterOf) sizes[cluster] = (sizes[cluster] as number) + 1;
  return { plan, names, columns: names.map((name) => sumColumn(name, columns[name], plan)), sizes };
}

function sumColumn(name: string, values: ArrayLike<number>, { clusterOf, clusters }: ResamplePlan): Float64Array {
  if (values.length !== clusterOf.length) {
    throw new RangeError(`columns.${name}: got ${values.length} values, expected one for each of ${clusterOf.length} units`);
  }
  const sums = new Float64Array(clusters);
  for (const [unit, cluster] of clusterOf.entries()) {
    const value = values[unit] as number;
    if (!Number.isFinite(value)) throw new RangeError(`columns.${name}[${unit}]: got ${value}, expected a finite number`);
    sums[cluster] = (sums[cluster] as number) + value;
  }
  return sums;
}

/** Sums in cluster order, not in the order drawn, so that equal draws give equal totals to the bit. */
function totalsOf<Column extends string>(sums: ClusterSums<Column>, counts: Int32Array): Drawn<Column> & { totals: Totals<Column> } {
  const strata = sums.plan.strata.map(({ name, start, end }) => {
    const totals = {} as Record<Column, number>;
    for (const [c, column] of sums.names.entries()) totals[column] = weightedSum(sums.columns[c] as Float64Array, counts, start, end);
    return { name, units: weightedSum(sums.sizes, counts, start, end), totals };
  });
  const [only] = strata;
  if (strata.length === 1 && only !== undefined) return { units: only.units, totals: only.totals, strata };
  const totals = {} as Record<Column, number>;
  for (const column of sums.names) totals[column] = strata.reduce<number>((sum, stratum) => sum + stratum.totals[column], 0);
  return { units: strata.reduce<number>((sum, stratum) => sum + stratum.units, 0), totals, strata };
}

function weightedSum(values: Float64Array, counts: Int32Array, start: number, end: number): number {
  let sum = 0;
  for (let i = start; i < end; i++) sum += (values[i] as number) * (counts[i] as number);
  return sum;
}

import { type BootstrapData, type Statistic, observedStatistics, pairedBootstraps } from '../stats/index.js';

/** A figure and its 95% paired-bootstrap interval; null where undefined, or where no interval was asked for. */
export interface Measured {
  value: number | null;
  low: number | null;
  high: number | null;
}

/**
 * Figures with their intervals; a figure that is not finite is undefined. With 0 resamples no interval is drawn. Defaults: 10,000 resamples,
 * seed 13.
 */
export function measured<Column extends string, Figure extends string>(
  data: BootstrapData<Column> & { statistics: Readonly<Record<Figure, Statistic<Column>>> },
  { resamples = 10_000, seed = 13 }: { resamples?: number | undefined; seed?: number | undefined },
): { [name in Figure]: Measured } {
  const figures = {} as { [name in Figure]: Measured };
  const names = Object.keys(data.statistics) as Figure[];
  if (resamples === 0) {
    const observed = observedStatistics(data);
    for (const name of names) figures[name] = { value: finite(observed[name]), low: null, high: null };
    return figures;
  }
  const drawn = pairedBootstraps({ ...data, resamples, seed });
  for (const name of names) {
    const { estimate, low, high } = drawn[name];
    const value = finite(estimate);
    figures[name] = value === null ? { value, low: null, high: null } : { value, low: finite(low), high: finite(high) };
  }
  return figures;
}

export function finite(value: number): number | null {
  return Number.isFinite(value) ? value : null;
}

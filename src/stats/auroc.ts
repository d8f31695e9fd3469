import { checkCount } from './argument-checks.js';
import { summariseBootstrap, type Bootstrap } from './bootstrap-interval.js';
import { forEachResample, planResamples, type ResampleDesign } from './resample.js';

export interface ScoredCases extends Omit<ResampleDesign, 'units'> {
  /** One finite score a case; a higher one should mean positive. */
  scores: ArrayLike<number>;
  /** One label a case: true or 1 for positive, false or 0 for negative. */
  positive: ArrayLike<boolean | number>;
}

/**
 * How well a score ranks positives above negatives: the probability that a positive drawn at random scores higher than a negative, a tie
 * counting half. 0.5 is chance. Use it where a threshold is not yet chosen.
 * Variant: exact, by the Mann–Whitney statistic. NaN where one of the classes is empty. Cost: one sort.
 */
export function auroc(cases: Pick<ScoredCases, 'scores' | 'positive'>): number {
  const ranked = rank(cases);
  return weightedAuroc(ranked, () => 1);
}

export interface AurocBootstrapOptions extends ScoredCases {
  /** Default 2,000. */
  resamples?: number;
  /** Default 13. */
  seed?: number;
  /** Two-sided confidence level. Default 0.95. */
  level?: number;
}

/**
 * `auroc` with its percentile interval, cases drawn by cluster (the hops of one question are not independent: give their question's id).
 * Resamples that hold one class only are undefined and treated as `percentileInterval` says. Cost: one sort, then resamples × cases (2,000
 * × 5,000: about 0.2 s).
 */
export function bootstrapAuroc({ resamples = 2_000, seed = 13, level = 0.95, ...cases }: AurocBootstrapOptions): Bootstrap {
  checkCount('resamples', resamples, 1);
  const ranked = rank(cases);
  const plan = planResamples({ units: cases.scores.length, clusters: cases.clusters, strata: cases.strata });
  const distribution = new Float64Array(resamples);
  forEachResample(plan, { seed, from: 0, to: resamples }, (counts, resample) => {
    distribution[resample] = weightedAuroc(ranked, (index) => counts[plan.clusterOf[index] as number] as number);
  });
  return summariseBootstrap(
    weightedAuroc(ranked, () => 1),
    distribution,
    level,
  );
}

interface Ranked {
  /** Cases by ascending score. */
  order: Int32Array;
  positive: Uint8Array;
  /** For each place in `order`: whether the next one has another score. */
  endsTie: Uint8Array;
}

function rank({ scores, positive }: Pick<ScoredCases, 'scores' | 'positive'>): Ranked {
  if (positive.length !== scores.length) {
    throw new RangeError(`positive: got ${positive.length} values, expected one for each of ${scores.length} scores`);
  }
  for (let i = 0; i < scores.length; i++) {
    if (!Number.isFinite(scores[i])) throw new RangeError(`scores[${i}]: got ${scores[i]}, expected a finite number`);
    if (![true, false, 1, 0].includes(positive[i] as boolean | number)) {
      throw new RangeError(`positive[${i}]: got ${positive[i]}, expected true, false, 1 or 0`);
    }
  }
  const order = Int32Array.from({ length: scores.length }, (_, i) => i).sort(
    (a, b) => (scores[a] as number) - (scores[b] as number) || a - b,
  );
  return {
    order,
    positive: Uint8Array.from(order, (i) => Number(positive[i])),
    endsTie: Uint8Array.from(order, (i, place) => (place + 1 === order.length || scores[order[place + 1] as number] !== scores[i] ? 1 : 0)),
  };
}

/**
 * Walks up the scores: a positive gains the negatives below it, and half of those with its own score. Twice the sum is an integer for whole
 * weights, so exact.
 */
function weightedAuroc({ order, positive, endsTie }: Ranked, weight: (index: number) => number): number {
  let doubled = 0;
  let below = 0;
  let positives = 0;
  let tiedPositive = 0;
  let tiedNegative = 0;
  for (let place = 0; place < order.length; place++) {
    const w = weight(order[place] as number);
    if (positive[place] === 1) tiedPositive += w;
    else tiedNegative += w;
    if (endsTie[place] === 1) {
      doubled += tiedPositive * (2 * below + tiedNegative);
      below += tiedNegative;
      positives += tiedPositive;
      tiedPositive = 0;
      tiedNegative = 0;
    }
  }
  return doubled / (2 * positives * below);
}

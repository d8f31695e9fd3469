import { type Cosine, type Margin, NO_EVIDENCE_MARGIN, roundMargin } from '../../src/core/units.js';

/** How the cosines of one claim with all evidence sentences become one number (method.md §5); part of a threshold's identity. */
export const AGGREGATIONS = ['max', 'top2', 'softmax3'] as const;
export type Aggregation = (typeof AGGREGATIONS)[number];

export interface MarginSettings {
  /** One unit-length vector a claim, or a drafted slot. */
  targets: readonly Float32Array[];
  /** Default `max`, the only one under which a margin never rises as evidence grows. */
  aggregation?: Aggregation | undefined;
  /** Over the claims: `all` has to be covered (the largest margin counts), or `any` (the smallest). Default `all`. */
  over?: 'all' | 'any' | undefined;
  /** Of `softmax3`. Default 0.05. */
  temperature?: number | undefined;
}

export interface MarginState {
  /** m(ℓ), rounded to 1e-6; null when there is no claim: then the gate cannot speak. */
  margin: Margin | null;
  /** m_j(ℓ) of each claim, rounded to 1e-6, in the order of the targets. */
  perClaim: readonly Margin[];
}

/** The margin of one question's evidence as it grows. It owns its state; one a trajectory. */
export interface MarginTracker {
  /** The state before, or after, everything observed so far. */
  readonly state: MarginState;
  /** Dot products made so far: targets × sentences, each once. */
  readonly products: number;
  /** Adds the sentences that one loop newly brought; the work is proportional to these alone. */
  observe(newSentences: readonly Float32Array[]): MarginState;
}

const SOFTMAX_TEMPERATURE = 0.05;

/**
 * m_j(ℓ) = 1 − aggregated cosine of target j with the sentences so far, m(ℓ) their maximum over j (CoVeR; method.md §5). Products are summed in
 * 64 bits. Without evidence every margin is 2.
 */
export function createMargin(settings: MarginSettings): MarginTracker {
  const { targets, aggregation = 'max', over = 'all', temperature = SOFTMAX_TEMPERATURE } = settings;
  if (!(temperature > 0 && temperature < Infinity)) throw new RangeError(`temperature: got ${temperature}, expected a positive number`);
  const kept = { max: 1, top2: 2, softmax3: 3 }[aggregation];
  // The best cosines of each target, falling.
  const best: Cosine[][] = targets.map(() => []);
  let products = 0;
  let state = stateOf(best, aggregation, over, temperature);
  return {
    get state() {
      return state;
    },
    get products() {
      return products;
    },
    observe: (newSentences) => {
      for (const [at, target] of targets.entries()) {
        for (const sentence of newSentences) keep(best[at] as Cosine[], cosine(target, sentence), kept);
      }
      products += targets.length * newSentences.length;
      state = stateOf(best, aggregation, over, temperature);
      return state;
    },
  };
}

/** Dot product of two unit vectors, in 64 bits, kept inside [−1, 1] against rounding. Throws RangeError on other lengths or a NaN. */
export function cosine(a: Float32Array, b: Float32Array): Cosine {
  if (a.length !== b.length) throw new RangeError(`cosine: got vectors of ${a.length} and ${b.length} numbers, expected the same length`);
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += (a[i] as number) * (b[i] as number);
  if (!Number.isFinite(sum)) throw new RangeError(`cosine: got ${sum}, expected a finite number`);
  return Math.min(1, Math.max(-1, sum));
}

function keep(best: Cosine[], value: Cosine, kept: number): void {
  let at = best.length;
  while (at > 0 && (best[at - 1] as number) < value) at--;
  if (at >= kept) return;
  best.splice(at, 0, value);
  if (best.length > kept) best.pop();
}

function stateOf(best: readonly Cosine[][], aggregation: Aggregation, over: 'all' | 'any', temperature: number): MarginState {
  const perClaim = best.map((values) =>
    values.length === 0 ? NO_EVIDENCE_MARGIN : roundMargin(1 - aggregated(values, aggregation, temperature)),
  );
  if (perClaim.length === 0) return { margin: null, perClaim };
  return { margin: over === 'all' ? Math.max(...perClaim) : Math.min(...perClaim), perClaim };
}

function aggregated(values: readonly Cosine[], aggregation: Aggregation, temperature: number): Cosine {
  const top = values[0] as number;
  switch (aggregation) {
    case 'max':
      return top;
    case 'top2':
      return values.reduce((sum, value) => sum + value, 0) / values.length;
    case 'softmax3': {
      // Shifted by the largest, so that no exponential overflows.
      const weights = values.map((value) => Math.exp((value - top) / temperature));
      const total = weights.reduce((sum, weight) => sum + weight, 0);
      return values.reduce((sum, value, at) => sum + (value * (weights[at] as number)) / total, 0);
    }
  }
}

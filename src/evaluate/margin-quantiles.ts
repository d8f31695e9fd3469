import { MARGIN_BIN, type Profile, marginHistogram } from '../../runtime/index.js';
import type { DatasetRun } from './question-run.js';

export const QUANTILE_PROBABILITIES = [0, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 1] as const;

export interface MarginQuantiles {
  dataset: string;
  loops: number;
  margins: number[];
  cosines: number[];
}

/**
 * Where a dataset's margins and cosines lie, at `QUANTILE_PROBABILITIES`: encoders squeeze their cosines into different ranges (E5's into
 * 0.7 … 1), so a τ has no meaning without them (known faults P28, P36).
 */
export function marginQuantiles({ dataset, questions }: DatasetRun): MarginQuantiles {
  const margins = concatenated(questions.map((one) => one.margins));
  const cosines = concatenated(questions.flatMap((one) => one.claimMargins ?? [one.margins])).map((margin) => 1 - margin);
  return { dataset, loops: margins.length, margins: quantiles(margins), cosines: quantiles(cosines) };
}

/**
 * The margins after the first loop, for the test of drift (`createDrift`). One a question id: rows of one id are no independent draws, the first
 * stands for them.
 */
export function firstMargins(runs: readonly DatasetRun[]): NonNullable<Profile['first_margins']> {
  const datasets = runs.map(({ dataset, questions }) => {
    const margins = new Map<string, number>();
    for (const { id, margins: own } of questions) if (!margins.has(id)) margins.set(id, own[0] as number);
    const { firstBin, counts } = marginHistogram(margins.values());
    return { dataset, questions: margins.size, first_bin: firstBin, counts: [...counts] };
  });
  return { width: MARGIN_BIN, datasets };
}

/** Linear interpolation between order statistics (type 7), rounded as margins are. */
export function quantiles(values: Float64Array, probabilities: readonly number[] = QUANTILE_PROBABILITIES): number[] {
  const sorted = values.slice().sort();
  return probabilities.map((probability) => {
    const at = probability * (sorted.length - 1);
    const below = sorted[Math.floor(at)] as number;
    const above = sorted[Math.ceil(at)] as number;
    return Math.round((below + (above - below) * (at - Math.floor(at))) * 1e6) / 1e6;
  });
}

function concatenated(parts: readonly Float64Array[]): Float64Array {
  const all = new Float64Array(parts.reduce((sum, one) => sum + one.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

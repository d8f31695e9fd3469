import type { Profile } from './profile.js';

/** Above this share of margins outside the calibration's range a warning is due (**choice**; 2% are expected by construction). */
export const OUTSIDE_ALARM = 0.05;

export interface MarginRange {
  /** The smallest 1% and the largest 99% quantile of the profile's datasets. */
  low: number;
  high: number;
  /** Share of the given margins outside [low, high]; 0 for none. */
  outside: number;
  alarm: boolean;
}

/** Whether margins still lie where they lay when τ was chosen (known fault P36): a τ says nothing about another distribution. */
export function marginRange(profile: Pick<Profile, 'quantiles'>, margins: Iterable<number>): MarginRange {
  const { probabilities, datasets } = profile.quantiles;
  const ends = (probability: number): number[] => datasets.map((one) => one.margins[nearest(probabilities, probability)] as number);
  const [low, high] = [Math.min(...ends(0.01)), Math.max(...ends(0.99))];
  let [count, outside] = [0, 0];
  for (const margin of margins) {
    count++;
    if (margin < low || margin > high) outside++;
  }
  const share = count === 0 ? 0 : outside / count;
  return { low, high, outside: share, alarm: share > OUTSIDE_ALARM };
}

function nearest(probabilities: readonly number[], wanted: number): number {
  let best = 0;
  for (const [at, one] of probabilities.entries()) {
    if (Math.abs(one - wanted) < Math.abs((probabilities[best] as number) - wanted)) best = at;
  }
  return best;
}

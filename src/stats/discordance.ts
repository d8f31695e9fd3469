import { checkCount } from './argument-checks.js';
import type { DiscordantCounts } from './mcnemar.js';
import type { PairedCounts } from './newcombe.js';
import { pairedDifferences, type PairedColumns } from './paired-effect.js';

/** Below so many discordant questions the bootstrap's and the score interval's levels are not to be relied on (`bench/null-rates`). */
export const FEWEST_DISCORDANT = 20;

/**
 * Counts two columns of right (1) and wrong (0) answers to the same questions for `newcombePaired` and `mcnemarExact`; A is the system, B the
 * reference. Cost: linear.
 *
 * @throws RangeError for columns that do not fit, or a value other than 0 and 1
 */
export function countPairs({ system, reference }: PairedColumns): PairedCounts {
  const counts = { n: pairedDifferences({ system, reference }).length, bothRight: 0, onlyA: 0, onlyB: 0 };
  for (let i = 0; i < counts.n; i++) {
    const [a, b] = [system[i] as number, reference[i] as number];
    for (const value of [a, b]) if (value !== 0 && value !== 1) throw new RangeError(`question ${i}: got ${value}, expected 0 or 1`);
    if (a === 1 && b === 1) counts.bothRight++;
    else if (a === 1) counts.onlyA++;
    else if (b === 1) counts.onlyB++;
  }
  return counts;
}

/**
 * What a table has to say beside a paired comparison of few discordant questions, null where there are at least 20: the discordant questions alone
 * carry the comparison, however many questions there are. Measured at a true loss of 2 points, a margin of 2 points, 50 questions and a nominal
 * 0.025: the percentile bootstrap says "non-inferior" in 0.13 of the data sets where 6% of the questions are discordant, and in 0.36 where all
 * discordance is one-sided, which is whenever no question of the sample was lost; Newcombe's interval errs as often.
 * Source: `bench/null-rates`. Cost: constant.
 */
export function discordanceWarning({ onlyA, onlyB }: DiscordantCounts): string | null {
  checkCount('onlyA', onlyA);
  checkCount('onlyB', onlyB);
  const discordant = onlyA + onlyB;
  if (discordant >= FEWEST_DISCORDANT) return null;
  return (
    `only ${discordant} discordant question${discordant === 1 ? '' : 's'} (${onlyA} for the system, ${onlyB} for the reference), fewer than ` +
    `${FEWEST_DISCORDANT}: intervals and tests may err more often than they say; read the exact McNemar test and the counts`
  );
}

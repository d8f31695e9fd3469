import { random } from '../core/random.js';
import type { QuestionRun } from './question-run.js';
import { contentHash } from './row-order.js';

/** A trigger's flags on natively stopped trajectories: whom it would have go on. */
export interface Flagged {
  flagged: number;
  /** Of the flagged, the share with a gold claim uncovered at the native stop, and of those uncovered the share that is flagged; null for 0 / 0. */
  precision: number | null;
  recall: number | null;
}

export interface ContinueTrigger {
  tau: number;
  /** Trajectories that the agent ended itself, and how many of them have gold labels; only the latter are counted below. */
  native: number;
  withGold: number;
  /** Of those, stopped with a gold claim uncovered. */
  uncovered: number;
  margin: Flagged;
  /** Equally many flagged at random: the mean over the seeds. */
  random: Flagged & { seeds: number };
}

/** Ends of a trajectory that are the agent's own, no bound's and no failure's. */
const NATIVE: ReadonlySet<string> = new Set(['no_follow_up', 'answered', 'finished']);

/**
 * The continue-side trigger (CoVeR, appendix D): a trajectory that stopped natively with a margin above τ is flagged, to be resumed. Beside it
 * random flags of the same number. What resuming brings needs trajectories with forced continuation; this says whom each would resume.
 */
export function continueTrigger(
  questions: readonly QuestionRun[],
  { tau, seeds = 20, seed = 13 }: { tau: number; seeds?: number; seed?: number },
): ContinueTrigger {
  const native = questions.filter((one) => one.stopReason != null && NATIVE.has(one.stopReason));
  const known = native.filter((one) => one.goldLoop !== null);
  const uncovered = known.map((one) => (one.goldLoop as number) > one.margins.length);
  const flags = known.map((one) => (one.margins.at(-1) as number) > tau);
  const count = flags.filter(Boolean).length;
  const keys = known.map(contentHash);
  const drawn = Array.from({ length: seeds }, (_, s) => {
    const rank = keys.map((key) => random(seed, 'continue-trigger', s, key).float());
    const last = rank.toSorted((a, b) => a - b)[count - 1] ?? -1;
    return judge(rank.map((one) => one <= last), uncovered); // prettier-ignore
  });
  const mean = (name: 'precision' | 'recall'): number | null =>
    drawn.some((one) => one[name] === null) ? null : drawn.reduce((sum, one) => sum + (one[name] as number) / seeds, 0);
  return {
    tau,
    native: native.length,
    withGold: known.length,
    uncovered: uncovered.filter(Boolean).length,
    margin: judge(flags, uncovered),
    random: { seeds, flagged: count, precision: mean('precision'), recall: mean('recall') },
  };
}

function judge(flags: readonly boolean[], uncovered: readonly boolean[]): Flagged {
  const flagged = flags.filter(Boolean).length;
  const hits = flags.filter((flag, at) => flag && uncovered[at]).length;
  const all = uncovered.filter(Boolean).length;
  return { flagged, precision: flagged === 0 ? null : hits / flagged, recall: all === 0 ? null : hits / all };
}

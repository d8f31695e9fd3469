import type { AnswerScore } from './answer-scores.js';
import type { CheapSignals } from './cheap-signals.js';
import type { QuestionUse } from '../core/training-questions.js';
import type { StopReason } from '../core/trajectories.js';

/**
 * Everything that a stopping policy may look at in one question's full trajectory, computed once, so that all policies see identical loops
 * (evaluation.md). Arrays are indexed by loop − 1.
 */
export interface QuestionRun {
  id: string;
  /** Position in the dataset's file, zero-based; where a dataset is given as several runs, the rows of the earlier ones are added. */
  row: number;
  /** State margin after each loop, rounded (`roundMargin`). Its length is the number of loops, at least 1. */
  margins: Float64Array;
  /** The decider's verdict after each loop of the full trajectory. Never assumed monotone: a decider may take "covered" back. */
  fires: readonly boolean[];
  /** First loop by which every gold claim is covered; Infinity where that is never; null without gold labels. */
  goldLoop: number | null;
  /** K, the number of claims that the margin is made of; at least 1. */
  claims: number;
  /** Claims that the decider rules on in each call; null for deciders that read none. They may be others than the margin's. */
  deciderClaims: number | null;
  /** Margin of each claim after each loop: [claims][loops]. Only for the quantiles that a profile stores. */
  claimMargins?: readonly Float64Array[] | undefined;
  /** What the question did for the drafter in the margin: trained on, or chose its epoch. Left out or null where neither. */
  learnt?: QuestionUse | null | undefined;
  /** Claim–sentence pairs that the decider scores at each loop; null for deciders that score none. */
  pairs?: Int32Array | null | undefined;
  /** What each extractor answers, by its name. Left out where none was asked for. */
  answers?: ReadonlyMap<string, LoopAnswers> | undefined;
  /** How right the agent's own answer is; left out where the run has none, or the record no gold answer. */
  native?: AnswerScore | undefined;
  /** The loop by which the decider matches each of its claims, Infinity where it never does. Null or left out where it reads none. */
  matchedAt?: readonly number[] | null | undefined;
  /** Pairs that become scorable with each loop, for each of the decider's claims: [claims][loops]; their sum is `pairs`. */
  claimPairs?: readonly Int32Array[] | null | undefined;
  /** The verdicts at each match margin of `MATCH_MARGINS`, in its order, where every pair was scored by three labels. */
  sweep?: readonly { readonly fires: readonly boolean[]; readonly pairs: Int32Array }[] | undefined;
  /** What the cheap routers read. Left out where it was not asked for. */
  signals?: CheapSignals | undefined;
  /** Why the trajectory ended, as its agent said. */
  stopReason?: StopReason | null | undefined;
  /** The verdicts under each of the two policies over claims, where the decider rules claim by claim. */
  firesBy?: { readonly all_match: readonly boolean[]; readonly any_match: readonly boolean[] } | undefined;
}

/** The match margins of HALT's threshold sweep: a pair is a match when lp(match) − max(lp(partial), lp(null)) is above it. */
export const MATCH_MARGINS = [-2, -1, -0.5, 0, 0.5, 1, 2] as const;

/** One extractor's answers to one question. Arrays are indexed by loop − 1. */
export interface LoopAnswers {
  texts: readonly string[];
  /** Null where the record has no gold answer. */
  scores: readonly AnswerScore[] | null;
}

/** Questions that no policy can be asked about, by reason. They are in no numerator and no denominator (known fault P8). */
export interface Exclusions {
  no_claims: number;
  no_loop: number;
  undecided: number;
  /** Later rows of a repeated id under `--repeats first`. */
  repeated: number;
}

/** One dataset's questions in file order. */
export interface DatasetRun {
  dataset: string;
  questions: readonly QuestionRun[];
  excluded: Exclusions;
  /** Rows of the file(s), the excluded ones counted. */
  rows: number;
}

/** Three counts that are never mixed up (known fault P7). */
export interface QuestionCounts {
  rows: number;
  unique: number;
  valid: number;
}

export function noExclusions(): Exclusions {
  return { no_claims: 0, no_loop: 0, undecided: 0, repeated: 0 };
}

import type { Claim } from '../../src/core/claims.js';
import type { Json } from '../../src/core/manifest.js';
import type { HopRecord } from '../../src/core/records.js';
import type { Trajectory } from '../../src/core/trajectories.js';
import type { DecidedQuestion, Verdict } from '../../src/core/verdicts.js';
import type { Usage } from '../../src/llm/index.js';
import type { Scan } from './verdict.js';

/** What a decider may read of one question. */
export interface DeciderInput {
  trajectory: Trajectory;
  /** The record with its gold labels; only the `gold` decider, a diagnostic, looks at those. Null where the run has no records. */
  record: HopRecord | null;
  /** The question's claims in order; null unless the decider reads claims. */
  claims: readonly Claim[] | null;
  signal?: AbortSignal | undefined;
}

/** One question's scores, in the order in which they were made. */
export interface Decision {
  /** Number of claims that have to be covered, null where the decider rules on the whole state. */
  claims: number | null;
  /** Why `claims` is 0, as a word that is counted. */
  noClaims?: string | undefined;
  verdicts: VerdictScore[];
  /** What deciding took, by name (tokens read, passes); summed over the run into its counts. */
  counts?: { [name: string]: number } | undefined;
  /** What its language model's calls took. */
  usage?: Usage | undefined;
}

/** The question is left out of the verdicts, under a reason that is counted. */
export interface Excluded {
  excluded: string;
}

/** A verdict row without the columns that the caller knows. */
export type VerdictScore = Omit<Verdict, 'question_id' | 'row' | 'decider'>;

/** The verdict of a decider that rules on the whole state after a loop, without claims. */
export function loopVerdict(loop: number, p: number): VerdictScore {
  return { loop, claim: null, page: null, sentence: null, lp_match: null, lp_partial: null, lp_null: null, p };
}

export interface Decider {
  /** The decider's kind, one of the names fixed in architecture.md §5. */
  readonly name: string;
  /** Everything that moves its verdicts: model, prompt, options. Stored in the manifest and compared by profiles. */
  readonly identity: Json;
  /** Whether it needs the run's claims; its verdicts then belong to one claim source. */
  readonly readsClaims: boolean;
  /** Its own threshold, and whether the scan of a claim goes on after a match. */
  readonly scan: Scan;
  /**
   * Called once with every question before the first is decided, so that what will be missing later is named before any work is done.
   * Returns counts and warnings for the manifest.
   */
  prepare?(questions: AsyncIterable<Omit<DecidedQuestion, 'claims'>>, options?: { signal?: AbortSignal | undefined }): Promise<Preparation>;
  /** What a person has to be told of the sums of its decisions' `counts`; for the manifest. */
  warnings?(counts: { readonly [name: string]: number }): string[];
  decide(input: DeciderInput): Promise<Decision | Excluded>;
}

export interface Preparation {
  counts: { [name: string]: number };
  warnings: string[];
}

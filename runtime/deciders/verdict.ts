import { InputError } from '../../src/core/errors.js';
import type { DecidedQuestion, Verdict } from '../../src/core/verdicts.js';

export const POLICIES = ['all_match', 'any_match'] as const;
/** Whether every claim has to be matched or one is enough (method.md §4). */
export type Policy = (typeof POLICIES)[number];

/** Above which score a pair counts as a match, or a loop as covered. */
export interface Threshold {
  /** For rows with `p`: matched or covered when p ≥ this; in (0, 1]. Default 0.5. */
  pAtLeast: number;
  /** For rows with log-probabilities: matched when lp_match − max(lp_partial, lp_null) > this; a tie is no match. Default 0. */
  marginAbove: number;
}

export const DEFAULT_THRESHOLD: Threshold = { pAtLeast: 0.5, marginAbove: 0 };

/** How stored rows were made. */
export interface Scan {
  /** The decider's own threshold; the scan of a claim ended at its first match under it, unless every pair was scored. */
  threshold: Threshold;
  allPairs: boolean;
}

export const DEFAULT_SCAN: Scan = { threshold: DEFAULT_THRESHOLD, allPairs: false };

export interface VerdictRule {
  /** Default `all_match`. Has no meaning for deciders that read no claims. */
  policy?: Policy | undefined;
  /** Default: the decider's own. */
  threshold?: Threshold | undefined;
}

/** What a decider's rows say of one question, loop by loop. */
export interface QuestionVerdict {
  /** Whether the decider rules "covered" after each loop; index 0 is loop 1. */
  firesByLoop: boolean[];
  /** The first loop at which it does (one-based), null when it never does. */
  firstFire: number | null;
  /** With claims: the loop by which each claim is matched, Infinity where it never is. Null for deciders that read no claims. */
  matchedAt: number[] | null;
  /** Pairs that become scorable with each loop: claims not matched before it against the sentences it brought. Zero without claims. */
  pairsByLoop: number[];
}

/** One call of a decider in a run that calls it only at some loops. */
export interface DeciderCall {
  loop: number;
  covered: boolean;
  /** Claim–sentence pairs that this call scores, those of the loops skipped before it included (method.md §4, "Loop"). */
  pairs: number;
  /** Claims that it rules on. */
  claimVerdicts: number;
}

/**
 * Derives a question's verdict after every loop from its stored rows: the labels of a claim are a running maximum over the loops, and a
 * question without claims is never covered (method.md §4). Rows may come from a scan that stopped at first matches or from all pairs; both
 * give the same result.
 *
 * @param scan how the rows were made, from the verdicts' manifest
 * @throws InputError, naming the question and the loop, for a row outside the question, a row without a score, a pair scored twice, or a
 *   loop without a row where the decider reads no claims: a missing verdict is never taken as "not covered". Also for a threshold stricter
 *   than the one at which scans ended, since it would need sentences that were never scored.
 */
export function questionVerdict(
  question: DecidedQuestion,
  rows: readonly Verdict[],
  scan: Scan = DEFAULT_SCAN,
  rule: VerdictRule = {},
): QuestionVerdict {
  const threshold = rule.threshold ?? scan.threshold;
  if (question.claims !== null && !scan.allPairs) checkThreshold(threshold, scan.threshold);
  for (const row of rows) checkRow(question, row);
  return question.claims === null
    ? withoutClaims(question, rows, threshold)
    : withClaims(question, question.claims, rows, { threshold, policy: rule.policy ?? 'all_match' });
}

/**
 * What the decider does when it is called at these loops only (ascending, one-based). A call scores every unmatched claim against all
 * sentences since the last call, so its verdict is the one that always-verify has at the same loop, and its pairs are those that
 * always-verify would have scored since the last call.
 */
export function callsAt(verdict: QuestionVerdict, loops: readonly number[]): DeciderCall[] {
  let scored = 0;
  return loops.map((loop, at) => {
    if (!(loop >= 1 && loop <= verdict.firesByLoop.length) || (at > 0 && loop <= (loops[at - 1] as number))) {
      throw new RangeError(`called loops: got ${loops.join(', ')}, expected ascending numbers in 1..${verdict.firesByLoop.length}`);
    }
    let pairs = 0;
    for (; scored < loop; scored++) pairs += verdict.pairsByLoop[scored] as number;
    return { loop, covered: verdict.firesByLoop[loop - 1] as boolean, pairs, claimVerdicts: verdict.matchedAt?.length ?? 0 };
  });
}

/** Whether a row says "match", or "covered" where it has no claim. */
export function isMatch(
  row: Pick<Verdict, 'lp_match' | 'lp_partial' | 'lp_null' | 'p'>,
  threshold: Threshold = DEFAULT_THRESHOLD,
): boolean {
  if (row.p !== null) return row.p >= threshold.pAtLeast;
  if (row.lp_match === null || row.lp_partial === null || row.lp_null === null) return false;
  return row.lp_match - Math.max(row.lp_partial, row.lp_null) > threshold.marginAbove;
}

function withoutClaims(question: DecidedQuestion, rows: readonly Verdict[], threshold: Threshold): QuestionVerdict {
  const byLoop = new Map<number, Verdict>();
  for (const row of rows) {
    if (byLoop.has(row.loop)) throw new InputError(`two verdicts for loop ${row.loop}, expected one`, placeOf(question));
    byLoop.set(row.loop, row);
  }
  const firesByLoop = loopNumbers(question).map((loop) => {
    const row = byLoop.get(loop);
    if (!row) throw new InputError(`no verdict for loop ${loop} of ${question.loops}`, placeOf(question));
    return isMatch(row, threshold);
  });
  return { firesByLoop, firstFire: firstOf(firesByLoop), matchedAt: null, pairsByLoop: firesByLoop.map(() => 0) };
}

function withClaims(
  question: DecidedQuestion,
  claims: number,
  rows: readonly Verdict[],
  { threshold, policy }: { threshold: Threshold; policy: Policy },
): QuestionVerdict {
  const matchedAt = Array.from({ length: claims }, () => Infinity);
  const pairsByLoop = loopNumbers(question).map(() => 0);
  const seen = new Set<string>();
  // Stable: rows of one loop stay in the order in which they were scanned.
  for (const row of rows.toSorted((a, b) => a.loop - b.loop)) {
    const claim = row.claim as number;
    const pair = `${claim}/${row.page}/${row.sentence}`;
    if (seen.has(pair))
      throw new InputError(
        `claim ${claim} was scored twice against sentence ${row.sentence} of page ${row.page}, again at loop ${row.loop}`,
        placeOf(question),
      );
    seen.add(pair);
    // Rows after a claim's first match exist only where every pair was scored; a live call would not have scored them.
    if (matchedAt[claim] !== Infinity) continue;
    (pairsByLoop[row.loop - 1] as number)++;
    if (isMatch(row, threshold)) matchedAt[claim] = row.loop;
  }
  const coveredAt = claims === 0 ? Infinity : policy === 'all_match' ? Math.max(...matchedAt) : Math.min(...matchedAt);
  const firesByLoop = loopNumbers(question).map((loop) => loop >= coveredAt);
  return { firesByLoop, firstFire: firstOf(firesByLoop), matchedAt, pairsByLoop };
}

function checkThreshold(threshold: Threshold, scannedWith: Threshold): void {
  for (const name of ['pAtLeast', 'marginAbove'] as const) {
    if (threshold[name] > scannedWith[name]) {
      throw new InputError(
        `threshold ${threshold[name]} is stricter than the ${scannedWith[name]} at which the scan of a claim ended, so later sentences were not scored; decide again with --all-pairs`,
      );
    }
  }
}

function checkRow(question: DecidedQuestion, row: Verdict): void {
  const place = placeOf(question);
  if (!(row.loop >= 1 && row.loop <= question.loops))
    throw new InputError(`verdict at loop ${row.loop}, expected a loop in 1..${question.loops}`, place);
  if (question.claims === null ? row.claim !== null : !(row.claim !== null && row.claim >= 0 && row.claim < question.claims)) {
    const expected =
      question.claims === null
        ? 'no claim: this decider reads none'
        : question.claims === 0
          ? 'no row: the question has no claims'
          : `a claim in 0..${question.claims - 1}`;
    throw new InputError(`verdict at loop ${row.loop} for claim ${row.claim}, expected ${expected}`, place);
  }
  const labels = [row.lp_match, row.lp_partial, row.lp_null].filter((one) => one !== null).length;
  if (!(row.p === null ? labels === 3 : labels === 0))
    throw new InputError(`verdict at loop ${row.loop}: expected either p or all of lp_match, lp_partial, lp_null`, place);
}

function placeOf(question: DecidedQuestion): { row: number; questionId: string } {
  return { row: question.row, questionId: question.question_id };
}

function loopNumbers(question: DecidedQuestion): number[] {
  return Array.from({ length: question.loops }, (_, at) => at + 1);
}

function firstOf(fires: readonly boolean[]): number | null {
  const at = fires.indexOf(true);
  return at === -1 ? null : at + 1;
}

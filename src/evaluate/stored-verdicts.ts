import { DEFAULT_THRESHOLD, type Scan, questionVerdict } from '../../runtime/index.js';
import type { DecidedQuestion, Verdict } from '../core/verdicts.js';
import { MATCH_MARGINS } from './question-run.js';

/** Pairs that become scorable with each loop, claim by claim; null for deciders that read no claims. */
export function claimPairs(question: DecidedQuestion, rows: readonly Verdict[], scan: Scan): Int32Array[] | null {
  if (question.claims === null) return null;
  return Array.from({ length: question.claims }, (_, claim) => {
    // As if the question had this claim alone: where the scan of a claim ends does not hang on the others.
    const own = rows.filter((row) => row.claim === claim).map((row) => ({ ...row, claim: 0 }));
    return Int32Array.from(questionVerdict({ ...question, claims: 1 }, own, scan).pairsByLoop);
  });
}

/**
 * The verdicts at each of MATCH_MARGINS (HALT's threshold sweep). Undefined where the scan of a claim ended at its first match, since the
 * stricter thresholds need the sentences after it, and for scores that are not the three labels'.
 */
export function matchMarginSweep(
  question: DecidedQuestion,
  rows: readonly Verdict[],
  { scan, policy }: { scan: Scan; policy: 'all_match' | 'any_match' },
): { fires: boolean[]; pairs: Int32Array }[] | undefined {
  if (!scan.allPairs || question.claims === null || rows.some((row) => row.lp_match === null)) return undefined;
  return MATCH_MARGINS.map((marginAbove) => {
    const { firesByLoop, pairsByLoop } = questionVerdict(question, rows, scan, {
      policy,
      threshold: { ...DEFAULT_THRESHOLD, marginAbove },
    });
    return { fires: firesByLoop, pairs: Int32Array.from(pairsByLoop) };
  });
}

import type { Outcome, Policy } from './policies.js';
import type { QuestionRun } from './question-run.js';

/** Which claim a call rules on first (method.md §5, tier 2): the least covered by the margin, as numbered, or all of them whatever comes out. */
export const CLAIM_ORDERS = ['margin', 'index', 'every'] as const;
export type ClaimOrder = (typeof CLAIM_ORDERS)[number];

export interface ClaimWork {
  order: ClaimOrder;
  calls: number;
  /** Claims ruled on, summed over the calls; a claim that an earlier call matched counts where the order comes to it, and costs no pair. */
  claimVerdicts: number;
  pairs: number;
}

/**
 * What a policy's calls read in each order. In an order a call ends at the first claim that is not covered; a claim that it did not reach is read
 * later against all sentences since it was last read (method.md §4), so the verdicts and the stops are those of any order. For `all_match`.
 * Throws RangeError for a question whose decider does not rule on the margin's claims one by one.
 */
export function claimOrderWork(questions: readonly QuestionRun[], policy: Policy): ClaimWork[] {
  return CLAIM_ORDERS.map((order) => {
    const sum: ClaimWork = { order, calls: 0, claimVerdicts: 0, pairs: 0 };
    for (const question of questions) {
      const loops = calledLoops(question, policy);
      const work = readClaims(question, loops, order);
      sum.calls += loops.length;
      sum.claimVerdicts += work.claimVerdicts;
      sum.pairs += work.pairs;
    }
    return sum;
  });
}

/** The loops at which a policy calls: with the verdicts after a loop withheld, its calls are those up to that loop. */
function calledLoops(question: QuestionRun, policy: Policy): number[] {
  const { stop }: Outcome = policy(question);
  const callsUpTo = (loop: number): number =>
    policy({ ...question, margins: question.margins.slice(0, loop), fires: question.fires.slice(0, loop) }).calls;
  return Array.from({ length: stop }, (_, at) => at + 1).filter((loop) => callsUpTo(loop) > (loop === 1 ? 0 : callsUpTo(loop - 1)));
}

function readClaims(question: QuestionRun, loops: readonly number[], order: ClaimOrder): { claimVerdicts: number; pairs: number } {
  const { id, matchedAt, claimPairs, claimMargins } = question;
  if (!matchedAt || !claimPairs || claimMargins?.length !== matchedAt.length)
    throw new RangeError(`question ${id}: an order of claims needs a decider that rules on the margin's claims one by one`);
  const read = matchedAt.map(() => 0);
  let [claimVerdicts, pairs] = [0, 0];
  for (const loop of loops) {
    const claims = [...matchedAt.keys()];
    // Equal margins keep the claims' own order.
    if (order === 'margin')
      claims.sort((a, b) => (claimMargins[b]?.[loop - 1] as number) - (claimMargins[a]?.[loop - 1] as number) || a - b);
    for (const claim of claims) {
      claimVerdicts++;
      for (let at = read[claim] as number; at < loop; at++) pairs += claimPairs[claim]?.[at] as number;
      read[claim] = loop;
      if (order !== 'every' && (matchedAt[claim] as number) > loop) break;
    }
  }
  return { claimVerdicts, pairs };
}

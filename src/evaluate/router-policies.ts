import { type Outcome, type Policy, alwaysVerify } from './policies.js';
import type { QuestionRun } from './question-run.js';

/** Asks the decider from loop k + 1 on; k = 0 is always-verify (CoVeR, appendix F). */
export function skipFirst(k: number): Policy {
  return (question) => asking(question, (loop) => loop > k);
}

/** Asks the decider after loops 1, 3, 5, … */
export function everyOther(question: QuestionRun): Outcome {
  return asking(question, (loop) => loop % 2 === 1);
}

/** Always-verify, but a fire whose margin is above τ is passed over: the decider is asked again after the next loop (CoVeR, §6). */
export function veto(tau: number): Policy {
  return (question) =>
    alwaysVerify({ ...question, fires: question.fires.map((fires, at) => fires && (question.margins[at] as number) <= tau) });
}

/**
 * The decider gates itself: after a call that does not fire and leaves at least `least` claims unmatched, the next `next` calls are skipped
 * (CoVeR, appendix G). The first loop is always called. For deciders that rule claim by claim.
 */
export function selfGating({ next, least }: { next: number; least: number }): Policy {
  return (question) => {
    let resume = 1;
    return asking(question, (loop) => {
      if (loop < resume) return false;
      resume = unmatchedAt(question, loop) >= least ? loop + next + 1 : loop + 1;
      return true;
    });
  };
}

/**
 * After a call that does not fire, skips until the number of unmatched claims next changes. It takes the very calls that it skips to know
 * that, so it is a bound and no system: its stops are always-verify's.
 */
export function oracleSelfGating(question: QuestionRun): Outcome {
  let seen = Number.NaN;
  return asking(question, (loop) => {
    const unmatched = unmatchedAt(question, loop);
    if (unmatched === seen) return false;
    seen = unmatched;
    return true;
  });
}

/** Most claims that any question's decider rules on: above it, `least` of self-gating skips nothing. */
export function mostClaims(questions: readonly QuestionRun[]): number {
  return questions.reduce((most, one) => Math.max(most, one.matchedAt?.length ?? 0), 0);
}

/** Follows the decider at the loops at which it is asked; `asks` is called once a loop, in order, up to the stop. */
function asking({ margins, fires }: QuestionRun, asks: (loop: number) => boolean): Outcome {
  let calls = 0;
  let lastCall = 0;
  for (let loop = 1; loop <= margins.length; loop++) {
    if (!asks(loop)) continue;
    calls++;
    lastCall = loop;
    if (fires[loop - 1]) return { stop: loop, calls, lastCall, stoppedBy: 'decider' };
  }
  return { stop: margins.length, calls, lastCall, stoppedBy: 'end' };
}

function unmatchedAt({ id, matchedAt }: QuestionRun, loop: number): number {
  if (!matchedAt) throw new RangeError(`question ${id}: self-gating needs a decider that rules claim by claim`);
  return matchedAt.filter((matched) => matched > loop).length;
}

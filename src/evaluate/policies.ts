import type { QuestionRun } from './question-run.js';

/** Margins lie in [0, 2], so this τ calls at every loop. */
export const ALWAYS_CALL = 2;
/** Below every margin: this τ never calls. */
export const NEVER_CALL = -1;

/** Who ended the run: the decider, the margin without a decider (ablations), a fixed number of loops, or the trajectory's own end. */
export type StoppedBy = 'decider' | 'margin' | 'fixed' | 'end';

export interface Outcome {
  /** One-based loop after which the run stops. */
  stop: number;
  /** Decider calls made. */
  calls: number;
  /** Loop of the last call, which has read all sentences up to it; 0 without a call. */
  lastCall: number;
  stoppedBy: StoppedBy;
  /** Pairs read, where they are not those of the run's own verdicts up to `lastCall`. */
  pairs?: number | undefined;
}

/** A stopping policy: a pure function of what the full trajectory holds (method.md §6). */
export type Policy = (question: QuestionRun) => Outcome;

/** The whole trajectory, no decider. */
export function full(question: QuestionRun): Outcome {
  return atEnd(question, 0, 0);
}

/** The decider after every loop; the stop is the first loop at which it fires, else the last one. */
export function alwaysVerify(question: QuestionRun): Outcome {
  const loops = question.margins.length;
  for (let loop = 1; loop <= loops; loop++) {
    if (question.fires[loop - 1]) return { stop: loop, calls: loop, lastCall: loop, stoppedBy: 'decider' };
  }
  return atEnd(question, loops, loops);
}

/** Stops after k loops (k ≥ 1) or at the trajectory's end, no decider. */
export function fixedK(k: number): Policy {
  return (question) => (k < question.margins.length ? { stop: k, calls: 0, lastCall: 0, stoppedBy: 'fixed' } : atEnd(question, 0, 0));
}

/** The gate: margin > τ skips the decider, margin ≤ τ calls it and follows it; every stop is the decider's or the trajectory's end. */
export function gate(tau: number): Policy {
  return (question) => gated(question, tau);
}

function gated({ margins, fires }: QuestionRun, tau: number): Outcome {
  let calls = 0;
  let lastCall = 0;
  for (let loop = 1; loop <= margins.length; loop++) {
    if ((margins[loop - 1] as number) > tau) continue;
    calls++;
    lastCall = loop;
    if (fires[loop - 1]) return { stop: loop, calls, lastCall, stoppedBy: 'decider' };
  }
  return { stop: margins.length, calls, lastCall, stoppedBy: 'end' };
}

/**
 * The two-threshold ablation: margin < `lower` stops without a call, otherwise as the gate. It breaks the gate's one-sided guarantee: a
 * stop with `stoppedBy: 'margin'` is an unverified one (method.md §5).
 */
export function twoThreshold({ lower, tau }: { lower: number; tau: number }): Policy {
  return ({ margins, fires }) => {
    let calls = 0;
    let lastCall = 0;
    for (let loop = 1; loop <= margins.length; loop++) {
      const margin = margins[loop - 1] as number;
      if (margin < lower) return { stop: loop, calls, lastCall, stoppedBy: 'margin' };
      if (margin > tau) continue;
      calls++;
      lastCall = loop;
      if (fires[loop - 1]) return { stop: loop, calls, lastCall, stoppedBy: 'decider' };
    }
    return { stop: margins.length, calls, lastCall, stoppedBy: 'end' };
  };
}

/** Margin-only stopping, the papers' negative: stop at the first loop with margin ≤ τ, no decider. */
export function marginOnly(tau: number): Policy {
  return (question) => {
    const at = question.margins.findIndex((margin) => margin <= tau);
    return at < 0 ? atEnd(question, 0, 0) : { stop: at + 1, calls: 0, lastCall: 0, stoppedBy: 'margin' };
  };
}

/** Always-verify with the verdicts of another policy over claims: every claim matched, or any one. Deciders without claims have one. */
export function matchPolicy(policy: 'all_match' | 'any_match'): Policy {
  return (question) => alwaysVerify({ ...question, fires: firesUnder(policy)(question) });
}

/** The verdicts under a policy over claims; deciders without claims have one kind. */
export function firesUnder(policy: 'all_match' | 'any_match'): (question: QuestionRun) => readonly boolean[] {
  return (question) => question.firesBy?.[policy] ?? question.fires;
}

function atEnd({ margins }: QuestionRun, calls: number, lastCall: number): Outcome {
  return { stop: margins.length, calls, lastCall, stoppedBy: 'end' };
}

/** A stop before the trajectory's last loop, whoever made it: only such stops can be unsafe. */
export function isEarly(question: QuestionRun, outcome: Outcome): boolean {
  return outcome.stop < question.margins.length;
}

/** Every gold claim is covered at the stop; null without gold labels. */
export function isCovered(question: QuestionRun, outcome: Outcome): boolean | null {
  return question.goldLoop === null ? null : question.goldLoop <= outcome.stop;
}

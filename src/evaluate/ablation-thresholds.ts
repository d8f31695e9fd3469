import { safety } from './frontier.js';
import { NEVER_CALL, type Policy, alwaysVerify, gate } from './policies.js';
import type { QuestionRun } from './question-run.js';
import { mostClaims, selfGating } from './router-policies.js';
import { thresholdCurve } from './threshold-curve.js';

/**
 * The τ of margin-only stopping, matched to the decider's coverage safety on the same questions (method.md §8; the papers' negative): the
 * largest τ, hence the fewest loops, whose stops before the last loop are at least as often safe as always-verify's. Where none is, never stop.
 * Chosen on the questions it is shown on, so it flatters margin-only stopping. Null without gold labels. Cost: N log N.
 */
export function matchedMarginOnly(questions: readonly QuestionRun[]): number | null {
  const known = questions.filter((one) => one.goldLoop !== null);
  if (known.length === 0) return null;
  const least = safety(thresholdCurve(known).always) ?? 1;
  const events = known.flatMap(stopEvents).sort((a, b) => a.tau - b.tau);
  let [early, safe, best] = [0, 0, NEVER_CALL];
  for (const [at, event] of events.entries()) {
    early += event.early;
    safe += event.safe;
    if (events[at + 1]?.tau === event.tau) continue;
    if (early === 0 || safe / early >= least) best = event.tau;
  }
  return best;
}

/** As τ rises a question's stop moves to the front, from each loop whose margin is a new minimum to the one before. */
function stopEvents({ margins, goldLoop }: QuestionRun): { tau: number; early: number; safe: number }[] {
  const events: { tau: number; early: number; safe: number }[] = [];
  const stops: { loop: number; margin: number }[] = [];
  for (const [at, margin] of margins.entries()) {
    if (margin < (stops.at(-1)?.margin ?? Infinity)) stops.push({ loop: at + 1, margin });
  }
  let before = { early: 0, safe: 0 };
  for (const { loop, margin } of stops.reverse()) {
    const early = loop < margins.length ? 1 : 0;
    const now = { early, safe: early === 1 && (goldLoop as number) <= loop ? 1 : 0 };
    events.push({ tau: margin, early: now.early - before.early, safe: now.safe - before.safe });
    before = now;
  }
  return events;
}

/**
 * The τ_lo of the two-threshold ablation: the largest one, at most τ, that keeps agreement with always-verify at the bar on these same
 * questions. A question agrees while no loop before its stop has a margin below τ_lo, so this is a quantile of one number a question.
 * 0 (inert) where the gate alone is below the bar.
 */
export function largestLower(questions: readonly QuestionRun[], { tau, bar }: { tau: number; bar: number }): number {
  const bounds: number[] = [];
  for (const question of questions) {
    const { stop } = gate(tau)(question);
    if (stop === alwaysVerify(question).stop) bounds.push(Math.min(tau, ...question.margins.subarray(0, stop - 1)));
  }
  bounds.sort((a, b) => b - a);
  const needed = Math.max(1, Math.ceil(bar * questions.length - 1e-9));
  return Math.max(0, bounds[needed - 1] ?? 0);
}

/** The count of unmatched claims that skips most while the agreement stays at or above the bar; of equal cuts the larger, which skips less. */
export function bestSelfGating(
  questions: readonly QuestionRun[],
  { next, bar }: { next: number; bar: number },
): { least: number; policy: Policy } {
  const most = mostClaims(questions) + 1;
  let best = { least: most, policy: selfGating({ next, least: most }), calls: Infinity };
  for (let least = most; least >= 1; least--) {
    const policy = selfGating({ next, least });
    const outcomes = questions.map(policy);
    const calls = outcomes.reduce((sum, one) => sum + one.calls, 0);
    const agreeing = outcomes.filter(({ stop }, at) => stop === alwaysVerify(questions[at] as QuestionRun).stop).length;
    if (agreeing / questions.length >= bar && calls < best.calls) best = { least, policy, calls };
  }
  return { least: best.least, policy: best.policy };
}

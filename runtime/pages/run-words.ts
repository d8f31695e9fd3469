import type { Bound, GateLoop, GateSettings, LoggedSession, StoppedBy } from '../../src/core/gate-log.js';
import type { GateDecision } from '../gate/gate.js';

interface Known {
  line: GateLoop;
  says: GateDecision | null;
  verdict: boolean | null;
}

const STOPS: { readonly [reason in StoppedBy]: string } = {
  covered: 'the decider said that the evidence covers the question',
  budget: 'a bound on calls, tokens or time was reached, which is no sign of coverage',
  maxSteps: 'the bound on steps was reached, which is no sign of coverage',
  noProgress: 'searches brought no new sentence, which is no sign of coverage',
  error: 'something failed',
  hostFinished: 'the agent ended by itself',
};

const BOUND_UNITS: { readonly [bound in Exclude<Bound, 'noProgress'>]: string } = {
  maxSteps: 'step',
  maxCalls: 'decider call',
  maxTokens: 'token',
  maxMillis: 'millisecond',
};

/** How the run ended, by what, and by which bound. */
export function stopWords({ open, loops, end }: LoggedSession): string {
  if (!end) return `Not ended, as far as the log goes: ${plural(loops.length, 'loop')} so far.`;
  const after = `Stopped by ${end.stopped_by} after ${plural(loops.length, 'loop')}: ${STOPS[end.stopped_by]}.`;
  if (end.bound === null) return end.stopped_by === 'covered' ? after : `${after} ${coverageWords(loops)}`;
  const value = open.bounds[end.bound];
  return `${after} The bound was ${end.bound}${value === null ? '' : `: ${end.bound === 'noProgress' ? `${value} in a row` : plural(value, BOUND_UNITS[end.bound])}`}.`;
}

function coverageWords(loops: readonly GateLoop[]): string {
  const fire = loops.find((one) => one.covered === true);
  return fire ? `The decider had said covered at loop ${fire.loop}.` : 'The decider had not said covered.';
}

/** Why the decider was asked after this loop, or was not. */
export function whyWords(
  { line, says }: Known,
  { settings, tau, otherTau }: { settings: GateSettings; tau: number | null; otherTau: boolean },
): string {
  const at = asMargin(line.margin, line.decision, settings.tau);
  const other = otherTau ? ` ${saysWords(says, line.margin, tau)}` : '';
  return `${ownWhy(line, at)}${other}`;
}

function ownWhy({ asked, because, decision, error }: GateLoop, at: string): string {
  if (!asked && because === 'no_claims') return 'Not called: there are no claims, so nothing could be covered.';
  if (!asked && because === 'stopped') return 'Not called: a bound was reached before.';
  if (!asked && because !== 'gate') return `Not called: ${error ?? 'the run ended first'}.`;
  switch (because) {
    case 'gate':
      return asked ? `Called, since ${at}.` : `Skipped, since ${at}: the evidence is still too far from what has to be found.`;
    case 'shadow':
      return `Called, since this question runs in shadow, where the decider is asked at every loop. ${shadowWords(decision, at)}`;
    case 'audit':
      return `Called as an audit: the gate said skip, since ${at}, and this skip was drawn by chance to be checked.`;
    case 'drift':
      return `Called, since drift was noticed and the gate has called at every loop from then on; by itself it would have skipped, since ${at}.`;
    case 'no_margin':
      return 'Called, since there was no margin to go by.';
    default:
      return 'Called, since there are no claims for the gate to measure.';
  }
}

function shadowWords(decision: GateDecision | null, at: string): string {
  if (decision === 'skip') return `The gate would have skipped, since ${at}.`;
  if (decision === 'call') return `The gate would have called too, since ${at}.`;
  return decision === 'abstain' ? 'The gate could not speak, and would have called too.' : 'The gate had no threshold.';
}

function saysWords(says: GateDecision | null, margin: number | null, tau: number | null): string {
  if (says === null) return 'Without a threshold the page says nothing of skips.';
  if (says === 'abstain') return `Against τ ${tau} it would have called: there is no margin.`;
  return `Against τ ${tau} it would have ${says === 'skip' ? 'skipped' : 'called'}: ${asMargin(margin, says, tau)}.`;
}

function asMargin(margin: number | null, decision: GateDecision | null, tau: number | null): string {
  if (margin === null) return 'there is no margin';
  if (tau === null || decision === null) return `the gate had no threshold to hold its margin ${margin} against`;
  return `margin ${margin} is ${decision === 'skip' ? 'above' : 'at or below'} τ ${tau}`;
}

/** What asking after every loop would have done, as far as it was observed. */
export function alwaysWords(
  loops: number,
  { fire, unseen, maxCalls }: { fire: number | null; unseen: readonly number[]; maxCalls: number | null },
): string {
  if (loops === 0) return 'Always-verify: no loop was run, so there is nothing to say.';
  const bound = maxCalls === null ? '' : ` Under the same bound it could have made ${plural(maxCalls, 'call')} at most.`;
  const why = `was not observed, since the decider was not asked there or gave no verdict`;
  if (fire !== null)
    return unseen.length === 0
      ? `Always-verify would have called after each loop and stopped at loop ${fire}, the first at which the decider said covered: ${plural(fire, 'call')}.${bound}`
      : `Always-verify would have called after each loop and stopped at loop ${fire} at the latest. Whether it would have stopped earlier, at ${listed(unseen)}, ${why}.${bound}`;
  return unseen.length === 0
    ? `Always-verify would have called after each of the ${plural(loops, 'loop')}; the decider never said covered, so it would have gone on as this run did.${bound}`
    : `Always-verify would have called after each of the ${plural(loops, 'loop')}. Whether it would have stopped at ${listed(unseen)} ${why}.${bound}`;
}

/** What the gate did (`enforced`), or would have done, with this question. */
export function gateWords(
  known: readonly Known[],
  { tau, fire, enforced, ended }: { tau: number | null; fire: number | null; enforced: boolean; ended: boolean },
): string {
  if (known.length === 0) return 'The gate: no loop was run.';
  if (enforced) {
    const skipped = known.filter(({ line }) => !line.asked && line.because === 'gate').map(({ line }) => line.loop);
    const called = known.filter(({ line }) => line.asked).map(({ line }) => line.loop);
    const audits = known.filter(({ line }) => line.because === 'audit').map(({ line }) => line.loop);
    const audited = audits.length === 0 ? '' : `, at ${listed(audits)} only to check a skip`;
    return `The gate skipped ${listedOrNone(skipped)} and called at ${listedOrNone(called)}${audited}.`;
  }
  if (tau === null) return 'The gate: it had no threshold, so nothing can be said of skips. Calibrate on this log first.';
  const gateStop = known.find(({ says, verdict }) => says !== 'skip' && verdict === true)?.line.loop ?? null;
  const upTo = gateStop ?? Infinity;
  const skipped = known.filter(({ line, says }) => says === 'skip' && line.loop <= upTo).map(({ line }) => line.loop);
  const unknown = known.filter(({ line, says, verdict }) => says !== 'skip' && verdict === null && line.loop < upTo);
  const lead = `The gate at τ ${tau} would have skipped ${listedOrNone(skipped)}`;
  const unseen =
    unknown.length === 0
      ? ''
      : ` What the decider would have said at ${listed(unknown.map(({ line }) => line.loop))}, where it would have been called, was not observed.`;
  if (gateStop !== null) {
    const later = fire === null ? 0 : gateStop - fire;
    return later === 0
      ? `${lead} and stopped at loop ${gateStop}, where the decider first said covered.${unseen}`
      : `${lead}, among them loop ${fire}, at which the decider said covered, and stopped ${plural(later, 'loop')} later, at loop ${gateStop}.${unseen}`;
  }
  if (fire !== null)
    return `${lead}, among them loop ${fire}, at which the decider said covered. ${known.length > fire ? 'It would have gone on, and stopped at no loop that was observed.' : 'It would have gone on; where it would have stopped was not observed, since this run ended there.'}${unseen}`;
  return `${lead}; the decider said covered at no loop${ended ? ', so the run would have ended as it did' : ' so far'}.${unseen}`;
}

/** `loop 3`, `loops 1, 2 and 4`. */
export function listed(loops: readonly number[]): string {
  if (loops.length > 12) return `${loops.length} loops from ${loops[0]} to ${loops.at(-1)}`;
  return loops.length === 1 ? `loop ${loops[0]}` : `loops ${loops.slice(0, -1).join(', ')} and ${loops.at(-1)}`;
}

function listedOrNone(loops: readonly number[]): string {
  return loops.length === 0 ? 'no loop' : listed(loops);
}

export function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

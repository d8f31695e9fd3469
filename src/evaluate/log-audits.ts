import { type AuditEstimate, auditEstimate } from '../stats/index.js';
import type { GateTraffic } from './log-traffic.js';
import { headerOf } from './log-traffic.js';

/** The audited skips of one log's enforced questions. */
export interface LogAudits {
  name: string;
  /** Probability with which each skip was audited. */
  share: number;
  /** Enforced questions. */
  questions: number;
  /** Skips that could be drawn for an audit, those that were among them. */
  skips: number;
  audited: number;
  fired: number;
  /** Audits without a verdict: the decider failed, or time or tokens were spent before it could answer. */
  unanswered: number;
  /** Enforced questions of which lines are lost; not among `questions`. */
  gaps: number;
  /**
   * As if none, and as if all, of the unanswered audits had fired; the same where all were answered. To leave them out would make the estimate
   * too low, since their skips stay. Null where no skip is audited by design (a share of 0): then nothing is known.
   */
  estimate: { noneFired: AuditEstimate; allFired: AuditEstimate } | null;
}

/** One entry for each log name and share, where any question was enforced. */
export function logAudits(traffic: readonly GateTraffic[]): LogAudits[] {
  const groups = new Map<string, LogAudits>();
  for (const { log, name } of traffic) {
    for (const session of log.sessions) {
      if (session.open.mode !== 'enforce') continue;
      const { audit } = headerOf(log, session).settings;
      const { maxCalls } = session.open.bounds;
      const key = JSON.stringify([name, audit.skips]);
      const group = groups.get(key) ?? {
        name,
        share: audit.skips,
        questions: 0,
        skips: 0,
        audited: 0,
        fired: 0,
        unanswered: 0,
        gaps: 0,
        estimate: null,
      };
      groups.set(key, group);
      if (session.gap) {
        group.gaps++;
        continue;
      }
      group.questions++;
      let calls = 0;
      let drifted = false;
      for (const { decision, because, asked, covered } of session.loops) {
        // A question that may not call any more is not audited either, so its later skips are none that could have been drawn.
        if (maxCalls !== null && calls >= maxCalls) break;
        if (asked) calls++;
        if (because === 'drift') drifted = true;
        if (decision !== 'skip' || drifted) continue;
        group.skips++;
        // One that says anything else had been drawn: who is not drawn asks for nothing that time, tokens or claims could be short of.
        if (because === 'gate') continue;
        group.audited++;
        if (covered === null) group.unanswered++;
        else if (covered) group.fired++;
      }
    }
  }
  return [...groups.values()].map((one) => ({ ...one, estimate: one.share === 0 ? null : bracket(one) }));
}

function bracket({ skips, audited, fired, unanswered, share }: LogAudits): LogAudits['estimate'] {
  return {
    noneFired: auditEstimate({ skips, audited, fired, share }),
    allFired: auditEstimate({ skips, audited, fired: fired + unanswered, share }),
  };
}

/** From none of the unanswered audits having fired to all: estimates, and the interval that holds both of theirs. */
export function auditRange({ noneFired, allFired }: NonNullable<LogAudits['estimate']>, of: keyof AuditEstimate): [string, string] {
  const [one, other] = of === 'wouldFire' ? [noneFired[of], allFired[of]] : [allFired[of], noneFired[of]];
  const values = [one.value.toFixed(1), other.value.toFixed(1)];
  return [[...new Set(values)].join(' to '), `${Math.round(one.low)} to ${Math.round(other.high)}`];
}

/** What the audits say, in words. */
export function auditWords({ name, share, questions, skips, audited, fired, unanswered, gaps, estimate }: LogAudits): string {
  const lost = gaps === 0 ? '' : ` ${gaps} enforced questions of which lines are lost are left out.`;
  const first = `${name}: ${skips} skips in ${questions} enforced questions, each audited with probability ${share}`;
  if (estimate === null) return `${first}: nothing is known of what they missed.${lost}`;
  const [wouldFire, saved] = [auditRange(estimate, 'wouldFire'), auditRange(estimate, 'saved')];
  const open =
    unanswered === 0
      ? ''
      : ` ${unanswered} audits got no verdict: the figures run from none of them having fired to all, and the intervals hold both ends.`;
  return (
    `${first}: ${audited} were, and the decider fired at ${fired} of them.${open} Estimated skips that would have fired: ${wouldFire[0]} (95% interval ${wouldFire[1]}). ` +
    `Calls saved without missing anything, against asking at every loop that was run: ${saved[0]} (95% interval ${saved[1]}).${lost}`
  );
}

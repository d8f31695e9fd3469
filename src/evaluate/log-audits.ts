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
  skips: number;
  audited: number;
  fired: number;
  /** Audits that the decider failed to answer: neither skips nor audits here. */
  unanswered: number;
  /** Null where no skip is audited by design (a share of 0): then nothing is known. */
  estimate: AuditEstimate | null;
}

/** One entry for each log name and share, where any question was enforced. */
export function logAudits(traffic: readonly GateTraffic[]): LogAudits[] {
  const groups = new Map<string, LogAudits>();
  for (const { log, name } of traffic) {
    for (const session of log.sessions) {
      if (session.open.mode !== 'enforce') continue;
      const { audit, bounds } = headerOf(log, session).settings;
      const key = JSON.stringify([name, audit.skips]);
      const group = groups.get(key) ?? {
        name,
        share: audit.skips,
        questions: 0,
        skips: 0,
        audited: 0,
        fired: 0,
        unanswered: 0,
        estimate: null,
      };
      groups.set(key, group);
      group.questions++;
      let calls = 0;
      for (const { decision, because, asked, covered } of session.loops) {
        // A question that may not call any more is not audited either, so its later skips are none that could have been drawn.
        if (bounds.maxCalls !== null && calls >= bounds.maxCalls) break;
        if (asked) calls++;
        if (decision !== 'skip' || (because !== 'gate' && because !== 'audit')) continue;
        if (because === 'audit' && covered === null) {
          group.unanswered++;
          continue;
        }
        group.skips++;
        if (because === 'audit') group.audited++;
        if (because === 'audit' && covered === true) group.fired++;
      }
    }
  }
  return [...groups.values()].map((one) => ({ ...one, estimate: one.share === 0 ? null : auditEstimate(one) }));
}

/** What the audits say, in words. */
export function auditWords({ name, share, questions, skips, audited, fired, unanswered, estimate }: LogAudits): string {
  const first = `${name}: ${skips} skips in ${questions} enforced questions, each audited with probability ${share}`;
  if (estimate === null) return `${first}: nothing is known of what they missed.`;
  const range = (low: number, high: number): string => `95% interval ${Math.round(low)} to ${Math.round(high)}`;
  const { wouldFire, saved } = estimate;
  return (
    `${first}: ${audited} were, and the decider fired at ${fired} of them. Estimated skips that would have fired: ${wouldFire.value.toFixed(1)} (${range(wouldFire.low, wouldFire.high)}). ` +
    `Calls saved without missing anything, against asking at every loop that was run: ${saved.value.toFixed(1)} (${range(saved.low, saved.high)}).` +
    (unanswered > 0 ? ` ${unanswered} audits got no verdict and are left out.` : '')
  );
}

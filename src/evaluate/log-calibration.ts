import type { Profile } from '../../runtime/index.js';
import { InputError } from '../core/errors.js';
import { sha256 } from '../core/hash.js';
import { DATASET_SENTENCES } from '../core/sentences.js';
import type { JoinedRuns } from './join-runs.js';
import { type ShadowRun, completion, joinShadowRuns, shadowRun } from './log-runs.js';
import { isOpen } from './log-shadow.js';
import type { GateTraffic } from './log-traffic.js';
import { logWarnings } from './log-warnings.js';
import { alwaysVerify, gate } from './policies.js';
import type { DatasetRun } from './question-run.js';

/** Gate logs as runs that `calibrate` takes. */
export interface LoggedRuns {
  runs: ShadowRun[];
  /**
   * The pessimistic completions (**choice**): a τ chosen by them saves at least what it promises; chosen by the optimistic ones, a τ far below
   * the firing loops' margins would look better than it is.
   */
  joined: JoinedRuns;
  /** The loops that were observed, for quantiles and first margins. */
  observed: DatasetRun[];
  /** Some question stands in several sessions: intervals are clustered, and a guarantee counts questions. */
  repeated: boolean;
  warnings: string[];
}

/** Logs of one name are one dataset. Throws InputError where none of its questions ran in shadow to its end. No gold labels stand in a log, so there is no coverage safety; agent and corpus are the host's own affair. */
export function loggedRuns(traffic: readonly GateTraffic[]): LoggedRuns {
  const runs = joinShadowRuns(traffic.map(({ log, name }) => shadowRun(log, name)));
  for (const run of runs) refuseEmpty(run);
  const { settings } = traffic[0] as GateTraffic;
  const joined: JoinedRuns = {
    datasets: runs.map((run) => {
      const own = traffic.filter((one) => one.name === run.name);
      return {
        ...completion(run, 'pessimistic'),
        sha256: own.length === 1 ? (own[0] as GateTraffic).sha256 : sha256(own.map((one) => one.sha256).join('\n')),
        files: own.map((one) => ({ name: one.file.replace(/^.*[\\/]/, ''), sha256: one.sha256, bytes: one.bytes })),
      };
    }),
    identity: {
      encoder: settings.encoder,
      aggregation: settings.aggregation,
      policy: settings.policy,
      claimSource: settings.claim_source,
      claimText: settings.claim_text,
      drafterSha256: settings.drafter_sha256,
      evidenceText: settings.evidence_text,
      decider: {
        name: settings.decider.name,
        identity: settings.decider.identity,
        claims: settings.decider.reads_claims ? settings.claim_source : null,
      },
    },
    agents: [{ agent: 'host' }],
    corpora: [{ corpus: 'host' }],
    splitter: [...new Set([DATASET_SENTENCES, settings.splitter])].toSorted(),
  };
  return {
    runs,
    joined,
    observed: runs.map((run) => completion(run, 'observed')),
    repeated: runs.some((run) => new Set(run.questions.map((one) => one.observed.id)).size < run.questions.length),
    warnings: logWarnings(traffic, runs),
  };
}

/** What a profile says of the logs: which sessions were left out, and between what the call cut at its τ lies. */
export function fromLog(runs: readonly ShadowRun[], tau: number): NonNullable<Profile['from_log']> {
  return {
    logs: runs.map(({ name, sessions, questions, excluded }) => ({
      name,
      sessions,
      questions: questions.length,
      unseen: questions.filter((one) => isOpen(one, tau)).length,
      excluded: { ...excluded },
    })),
    unseen: runs.reduce((sum, run) => sum + run.questions.filter((one) => isOpen(one, tau)).length, 0),
    call_cut: { pessimistic: cutOf(runs, tau, 'pessimistic'), optimistic: cutOf(runs, tau, 'optimistic') },
  };
}

function refuseEmpty({ name, questions, sessions, excluded }: ShadowRun): void {
  if (questions.length > 0) return;
  const reasons = Object.entries(excluded).flatMap(([reason, count]) => (count > 0 ? [`${count} ${reason}`] : []));
  throw new InputError(
    `${name}: none of its ${sessions} questions ran in shadow to its end${reasons.length > 0 ? ` (${reasons.join(', ')})` : ''}, so nothing says which τ agrees`,
  );
}

/** 1 − gated calls / always-verify's, summed over all questions. */
function cutOf(runs: readonly ShadowRun[], tau: number, which: 'optimistic' | 'pessimistic'): number {
  const policy = gate(tau);
  let [calls, always] = [0, 0];
  for (const question of runs.flatMap((run) => run.questions)) {
    calls += policy(question[which]).calls;
    always += alwaysVerify(question.observed).calls;
  }
  return 1 - calls / always;
}

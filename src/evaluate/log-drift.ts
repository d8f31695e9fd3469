import { type DriftState, type Profile, createDrift, driftReference, observeDrift } from '../../runtime/index.js';
import type { GateTraffic } from './log-traffic.js';

/** The test of drift over a log, replayed. */
export interface LogDrift {
  name: string;
  /** What the margins were compared with: a dataset of the profile, or null for all that τ was chosen on together. */
  dataset: string | null;
  alpha: number;
  questions: number;
  alarmAt: number | null;
  /** log10 of the capital after each question, to three digits. */
  path: number[];
}

/**
 * Every question's margin after its first loop, in the order of opening, against the profile's: enforced or not, the first loop is the same. Null
 * where the profile keeps no first margins. With several datasets in the profile, each is compared alone as well.
 */
export function logDrift(
  traffic: readonly GateTraffic[],
  profile: Profile,
  options: { alpha?: number | undefined; seed?: number | undefined } = {},
): LogDrift[] | null {
  if (profile.first_margins === undefined) return null;
  const names = profile.first_margins.datasets.map((one) => one.dataset);
  const references = [null, ...(names.length > 1 ? names : [])];
  return [...new Set(traffic.map((one) => one.name))].flatMap((name) => {
    const margins = firstMarginsOf(traffic.filter((one) => one.name === name));
    return references.flatMap((dataset) => {
      const reference = driftReference(profile, dataset ?? undefined);
      if (reference === null || !reference.counts.some((count) => count > 0)) return [];
      let state: DriftState = createDrift(reference, options);
      const path = margins.map((margin) => {
        state = observeDrift(state, margin);
        return Math.round((state.logCapital / Math.LN10) * 1000) / 1000;
      });
      return [{ name, dataset, alpha: state.alpha, questions: margins.length, alarmAt: state.alarmAt, path }];
    });
  });
}

/** One a question: of sessions that ask the same, the first. */
function firstMarginsOf(traffic: readonly GateTraffic[]): number[] {
  const margins = new Map<string, number>();
  for (const { log } of traffic) {
    for (const { open, loops } of log.sessions) {
      const id = open.question_id ?? open.question ?? open.session;
      // The first line that is left of a session with a gap may be of a later loop.
      const margin = loops.find((one) => one.loop === 1)?.margin ?? null;
      if (margin !== null && !margins.has(id)) margins.set(id, margin);
    }
  }
  return [...margins.values()];
}

export function driftWords({ name, dataset, alpha, questions, alarmAt }: LogDrift): string {
  const against = dataset === null ? 'the questions that τ was chosen on' : `${dataset} alone`;
  return alarmAt === null
    ? `${name}: no alarm in ${questions} questions against ${against}; without drift one would ever come with probability at most ${alpha}.`
    : `${name}: DRIFT, the alarm came at question ${alarmAt} of ${questions} against ${against}; without drift one would ever come with probability at most ${alpha}. τ says little about such questions: calibrate on their own log.`;
}

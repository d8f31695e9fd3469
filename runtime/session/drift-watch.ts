import { InputError } from '../../src/core/errors.js';
import type { GateEvent } from '../../src/core/gate-log.js';
import { type DriftState, createDrift, driftReference, observeDrift } from '../gate/drift.js';
import type { GateOptions } from './gate-options.js';
import { toldSafely } from './listeners.js';

interface Watch {
  observe(margin: number | null): void;
  callsAlways(): boolean;
  state(): DriftState;
}

/** The gate's test of drift over all its questions; undefined where it is off, or where there is nothing to compare with. */
export function driftWatch(
  { profile, drift }: Pick<GateOptions, 'profile' | 'drift'>,
  { gate, log, clock, seed }: { gate: string; log: (event: GateEvent) => void; clock: () => number; seed: number },
): Watch | undefined {
  if (drift === false) return undefined;
  const { alpha, dataset, fallBack = false, onAlarm } = drift ?? {};
  const reference = profile ? driftReference(profile, dataset) : null;
  if (reference === null) {
    if (drift === undefined) return undefined;
    throw new InputError(
      profile?.first_margins
        ? `drift.dataset: got ${JSON.stringify(dataset)}, expected one of ${profile.first_margins.datasets.map((one) => one.dataset).join(', ')}`
        : 'drift: expected a profile that keeps its first margins; calibrate again',
    );
  }
  let state = createDrift(reference, { alpha, seed });
  return {
    state: () => state,
    callsAlways: () => fallBack && state.alarmAt !== null,
    observe: (margin) => {
      if (margin === null || state.alarmAt !== null) return;
      state = observeDrift(state, margin);
      if (state.alarmAt === null) return;
      const alarm = { questions: state.questions, capital: Math.exp(state.logCapital) };
      log({ event: 'drift', gate, at: clock(), ...alarm, alpha: state.alpha, falls_back: fallBack });
      toldSafely(() => onAlarm?.(alarm));
    },
  };
}

import { InputError } from '../core/errors.js';
import { largestLower, matchedMarginOnly } from './ablation-thresholds.js';
import { type Policy, alwaysVerify, firesUnder, fixedK, full, gate, marginOnly, matchPolicy, twoThreshold } from './policies.js';
import type { QuestionRun } from './question-run.js';

/** The systems that `replay` runs by name (evaluation.md §1); `fixed-k` for any k ≥ 1. */
export const SYSTEM_NAMES = [
  'full', 'always-verify', 'fixed-k', 'all_match', 'any_match', 'gate', 'two-threshold', 'margin-only',
] as const; // prettier-ignore
export type SystemName = (typeof SYSTEM_NAMES)[number];

/** A system as it was asked for. */
export interface SystemSpec {
  /** `fixed-3`. */
  label: string;
  name: SystemName;
  k: number | null;
}

/** A system ready to run on one dataset, with the thresholds it uses there. */
export interface ReadySystem {
  label: string;
  policy: Policy;
  /** The verdicts that it reads; null where it asks no decider. */
  fires: ((question: QuestionRun) => readonly boolean[]) | null;
  tau: number | null;
  lower: number | null;
  /** It asks the decider at all. */
  callsDecider: boolean;
  /** It looks at margins, so the claims' source matters. */
  readsMargins: boolean;
  /** How a threshold was found that was not given; null where it was, or where there is none. */
  note: string | null;
}

export interface SystemSettings {
  /** The gate's τ; null where neither a profile nor --tau gave one. */
  tau: number | null;
  /** Default: chosen on the same questions, see `largestLower`. */
  lower?: number | undefined;
  /** Default: matched to the decider's coverage safety on the same questions. */
  marginOnlyTau?: number | undefined;
  /** The bar that `lower` is chosen at. */
  bar: number;
}

/** Parses `full,always-verify,fixed-3,gate`. Throws InputError listing what there is. */
export function parseSystems(text: string): SystemSpec[] {
  const specs = text
    .split(',')
    .map((one) => one.trim())
    .filter((one) => one !== '')
    .map(parseSystem);
  if (specs.length === 0) throw new InputError(`--systems: got none, expected some of ${SYSTEM_NAMES.join(', ')}`);
  const twice = specs.find((one, at) => specs.findIndex((other) => other.label === one.label) < at);
  if (twice) throw new InputError(`--systems: got ${JSON.stringify(twice.label)} twice, expected each once`);
  return specs;
}

function parseSystem(label: string): SystemSpec {
  const fixed = /^fixed-([1-9]\d*)$/.exec(label);
  if (fixed) return { label, name: 'fixed-k', k: Number(fixed[1]) };
  const name = SYSTEM_NAMES.find((one) => one === label);
  if (name === undefined || name === 'fixed-k') {
    throw new InputError(
      `--systems: got ${JSON.stringify(label)}, expected some of ${SYSTEM_NAMES.join(', ')} (fixed-k with a number: fixed-3)`,
    );
  }
  return { label, name, k: null };
}

/** Fixes a system's thresholds for one dataset's questions. Throws InputError where it has none. */
export function readySystem(spec: SystemSpec, questions: readonly QuestionRun[], settings: SystemSettings): ReadySystem {
  const { label } = spec;
  const fires = (one: QuestionRun): readonly boolean[] => one.fires;
  const plain = { label, fires, tau: null, lower: null, callsDecider: true, readsMargins: false, note: null };
  switch (spec.name) {
    case 'full':
      return { ...plain, policy: full, fires: null, callsDecider: false };
    case 'fixed-k':
      return { ...plain, policy: fixedK(spec.k as number), fires: null, callsDecider: false };
    case 'always-verify':
      return { ...plain, policy: alwaysVerify };
    case 'all_match':
    case 'any_match':
      return { ...plain, policy: matchPolicy(spec.name), fires: firesUnder(spec.name) };
    case 'gate': {
      const tau = neededTau(label, settings);
      return { ...plain, policy: gate(tau), tau, readsMargins: true };
    }
    case 'two-threshold': {
      const tau = neededTau(label, settings);
      const lower = settings.lower ?? largestLower(questions, { tau, bar: settings.bar });
      const note = settings.lower === undefined ? `τ_lo chosen on these same questions at agreement ≥ ${settings.bar}` : null;
      return { ...plain, policy: twoThreshold({ lower, tau }), tau, lower, readsMargins: true, note };
    }
    case 'margin-only': {
      const tau = settings.marginOnlyTau ?? matchedMarginOnly(questions);
      if (tau === null) throw new InputError('margin-only: without gold labels its τ cannot be matched; give --margin-only-tau');
      const note = settings.marginOnlyTau === undefined ? "τ matched to always-verify's coverage safety on these same questions" : null;
      return { ...plain, policy: marginOnly(tau), tau, fires: null, callsDecider: false, readsMargins: true, note };
    }
  }
}

function neededTau(label: string, { tau }: SystemSettings): number {
  if (tau === null) throw new InputError(`--systems ${label}: needs a threshold; give --profile or --tau`);
  return tau;
}

import { InputError } from '../core/errors.js';
import type { Fidelity } from '../core/fidelity.js';
import { bestSelfGating, largestLower, matchedMarginOnly } from './ablation-thresholds.js';
import { type Policy, alwaysVerify, firesUnder, fixedK, full, gate, marginOnly, matchPolicy, twoThreshold } from './policies.js';
import { MATCH_MARGINS, type QuestionRun } from './question-run.js';
import { everyOther, oracleSelfGating, skipFirst, veto } from './router-policies.js';
import { SYSTEM_NAMES, type SystemName, fidelityOf } from './system-fidelity.js';

/** A system as it was asked for. */
export interface SystemSpec {
  /** `fixed-3`. */
  label: string;
  name: SystemName;
  /** The number in its label: k, or the match margin. */
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
  /** How faithful it is to what was published, and what differs. */
  fidelity: Fidelity['fidelity'];
  fidelityNote: string;
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

/** Parses `full,always-verify,fixed-3,gate`; `threshold-sweep` is every match margin. Throws InputError listing what there is. */
export function parseSystems(text: string): SystemSpec[] {
  const specs = text
    .split(',')
    .map((one) => one.trim())
    .filter((one) => one !== '')
    .flatMap((one) => (one === 'threshold-sweep' ? MATCH_MARGINS.map(matchMarginLabel) : [one]))
    .map(parseSystem);
  if (specs.length === 0) throw new InputError(`--systems: got none, expected some of ${SYSTEM_NAMES.join(', ')}`);
  const twice = specs.find((one, at) => specs.findIndex((other) => other.label === one.label) < at);
  if (twice) throw new InputError(`--systems: got ${JSON.stringify(twice.label)} twice, expected each once`);
  return specs;
}

function parseSystem(label: string): SystemSpec {
  const numbered = /^(fixed|self-gating)-([1-9]\d*)$|^(skip-first)-(\d+)$/.exec(label);
  if (numbered)
    return {
      label,
      name: `${(numbered[1] ?? numbered[3]) as 'fixed' | 'self-gating' | 'skip-first'}-k`,
      k: Number(numbered[2] ?? numbered[4]),
    };
  const margin = MATCH_MARGINS.find((one) => matchMarginLabel(one) === label);
  if (margin !== undefined) return { label, name: 'match-margin', k: margin };
  const name = SYSTEM_NAMES.find((one) => one === label);
  if (name === undefined || name.endsWith('-k') || name === 'match-margin') {
    throw new InputError(
      `--systems: got ${JSON.stringify(label)}, expected some of ${SYSTEM_NAMES.join(', ')} (those with k with a number: fixed-3; match-margin with one of ${MATCH_MARGINS.map(matchMarginLabel).join(', ')}, or threshold-sweep for all of them)`,
    );
  }
  return { label, name, k: null };
}

/** `match-margin-0.5`, `match-margin+0`. */
function matchMarginLabel(margin: number): string {
  return `match-margin${margin < 0 ? '' : '+'}${margin}`;
}

/** Fixes a system's thresholds for one dataset's questions. Throws InputError where it has none. */
export function readySystem(spec: SystemSpec, questions: readonly QuestionRun[], settings: SystemSettings): ReadySystem {
  const { label } = spec;
  const fires = (one: QuestionRun): readonly boolean[] => one.fires;
  const plain = { label, fires, tau: null, lower: null, callsDecider: true, readsMargins: false, note: null, ...fidelityOf(spec.name) };
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
    case 'match-margin':
      return { ...plain, ...atMatchMargin(label, spec.k as number, questions) };
    case 'veto': {
      const tau = neededTau(label, settings);
      return { ...plain, policy: veto(tau), tau, readsMargins: true };
    }
    case 'skip-first-k':
      return { ...plain, policy: skipFirst(spec.k as number) };
    case 'every-other':
      return { ...plain, policy: everyOther };
    case 'self-gating-k': {
      needClaims(label, questions);
      const { least, policy } = bestSelfGating(questions, { next: spec.k as number, bar: settings.bar });
      return {
        ...plain,
        policy,
        note: `skips after ${least} or more unmatched claims, chosen on these same questions at agreement ≥ ${settings.bar}`,
      };
    }
    case 'oracle-self-gating':
      needClaims(label, questions);
      return { ...plain, policy: oracleSelfGating, note: 'a bound, not deployable: it knows the verdicts of the calls that it skips' };
  }
}

function neededTau(label: string, { tau }: SystemSettings): number {
  if (tau === null) throw new InputError(`--systems ${label}: needs a threshold; give --profile or --tau`);
  return tau;
}

/** Always-verify with a stricter or looser match, and the pairs that it would have read. */
function atMatchMargin(label: string, margin: number, questions: readonly QuestionRun[]): Pick<ReadySystem, 'policy' | 'fires'> {
  const at = MATCH_MARGINS.indexOf(margin as (typeof MATCH_MARGINS)[number]);
  const swept = (one: QuestionRun): NonNullable<QuestionRun['sweep']>[number] => {
    const found = one.sweep?.[at];
    if (found) return found;
    throw new InputError(`--systems ${label}: needs verdicts with the three labels' scores of every pair; decide again with --all-pairs`);
  };
  for (const one of questions) swept(one);
  return {
    fires: (one) => swept(one).fires,
    policy: (one) => {
      const { fires, pairs } = swept(one);
      const outcome = alwaysVerify({ ...one, fires });
      return { ...outcome, pairs: pairs.subarray(0, outcome.lastCall).reduce((sum, count) => sum + count, 0) };
    },
  };
}

function needClaims(label: string, questions: readonly QuestionRun[]): void {
  if (questions.some((one) => !one.matchedAt)) throw new InputError(`--systems ${label}: needs a decider that rules claim by claim`);
}

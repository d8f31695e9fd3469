import type { Fidelity } from '../core/fidelity.js';

const NOTES = {
  full: ['exact', 'the whole trajectory within the budget, as in both papers'],
  'always-verify': ['exact', 'the decider after every loop, as in both papers'],
  'fixed-k': ['exact', 'k loops, as in both papers'],
  all_match: ['exact', 'HALT: every claim has a match among the sentences so far'],
  any_match: ['exact', 'HALT: one claim has a match among the sentences so far'],
  gate: ['exact', 'CoVeR: margin above τ skips the call; margins are rounded to 1e-6 first'],
  'two-threshold': [
    'approximate',
    'CoVeR’s archived arm; the paper does not say how τ_lo was chosen, here by agreement with always-verify',
  ],
  'margin-only': ['approximate', 'CoVeR’s replacement negative; τ is matched to the decider’s coverage safety on the same questions'],
  'match-margin': ['exact', 'HALT: the match threshold on lp(match) − max(lp(partial), lp(null))'],
  veto: [
    'approximate',
    'CoVeR ranks fires by the margin and prints no stopping rule; here a fire above τ is passed over until one at or below it',
  ],
  'skip-first-k': ['exact', 'CoVeR: no call in the first k loops'],
  'every-other': ['approximate', 'CoVeR does not print which loops are called; here loops 1, 3, 5, …'],
  'self-gating-k': [
    'approximate',
    'CoVeR: the count of unmatched claims after a call that did not fire skips the next k calls; the paper prints the envelope over counts and k',
  ],
  'oracle-self-gating': ['exact', 'CoVeR’s bound: skips until the number of unmatched claims next changes'],
} as const satisfies { [name: string]: readonly [Fidelity['fidelity'], string] };

export type SystemName = keyof typeof NOTES;

/**
 * The systems that `replay` runs by name (evaluation.md §1); `fixed-k` and `self-gating-k` for any k ≥ 1, `skip-first-k` for any k ≥ 0,
 * `match-margin` at one of MATCH_MARGINS.
 */
export const SYSTEM_NAMES = Object.keys(NOTES) as SystemName[];

/** What a system differs in from the paper that it comes from (known fault P103). */
export function fidelityOf(name: SystemName): { fidelity: Fidelity['fidelity']; fidelityNote: string } {
  const [fidelity, fidelityNote] = NOTES[name];
  return { fidelity, fidelityNote };
}

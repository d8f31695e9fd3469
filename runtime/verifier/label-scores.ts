import { labelSaid } from '../../src/core/class-report.js';
import { LABELS, type Label } from '../../src/core/labels.js';
import type { LogProb } from '../../src/core/units.js';

/** The log-probabilities that a verifier gives the three labels. */
export interface LabelScores {
  lp_match: LogProb;
  lp_partial: LogProb;
  lp_null: LogProb;
}

/** The label that the scores say; a tie is no match (method.md §4). */
export function labelOf({ lp_match, lp_partial, lp_null }: LabelScores): Label {
  return LABELS[labelSaid([lp_match, lp_partial, lp_null])] as Label;
}

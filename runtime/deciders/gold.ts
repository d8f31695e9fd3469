import type { CoverageRule } from '../../src/core/coverage.js';
import { InputError } from '../../src/core/errors.js';
import { goldHops, missingGold } from '../../src/core/gold-hops.js';
import type { Decider } from './decider.js';
import { type PairScore, scanTrajectory } from './scan.js';
import { DEFAULT_SCAN } from './verdict.js';

export interface GoldDeciderOptions {
  /**
   * MuSiQue: which sentences of the supporting paragraph cover a hop, those that contain the hop's answer or all of them (method.md §1).
   * Default `answer`.
   */
  covering?: 'answer' | 'paragraph' | undefined;
  /** Whether one gold sentence covers a hop or all of them have to be retrieved (method.md §1). Default `any`. */
  support?: CoverageRule | undefined;
}

/**
 * Oracle coverage, a diagnostic: it reads the gold labels and says what a decider without errors would say. A hop is matched by the gold
 * sentence that covers it. A question of which a gold page is missing from the pool, or without hops, has no claims and is never covered.
 */
export function goldDecider(options: GoldDeciderOptions = {}): Decider {
  const { covering = 'answer', support = 'any' } = options;
  return {
    name: 'gold',
    identity: { decider: 'gold', diagnostic: true, covering, support },
    readsClaims: false,
    scan: DEFAULT_SCAN,
    decide: async ({ trajectory, record, signal }) => {
      if (record === null)
        throw new InputError('the gold decider needs the records of the run, and this run has none', {
          row: trajectory.row,
          questionId: trajectory.question_id,
        });
      const found = goldHops(record, covering);
      const { hops } = found;
      if (missingGold(found) !== null) return { claims: 0, noClaims: 'gold_page_missing', verdicts: [] };
      if (hops.length === 0) return { claims: 0, noClaims: 'no_gold_hops', verdicts: [] };
      const wanted = hops.map(({ gold }) => new Set(gold.map(({ page, sentence }) => `${page}/${sentence}`)));
      const verdicts = await scanTrajectory(
        trajectory,
        hops.length,
        (claim, { page, sentence }): PairScore => {
          const left = wanted[claim] as Set<string>;
          const found = left.delete(`${page}/${sentence}`);
          return { lp_match: null, lp_partial: null, lp_null: null, p: found && (support === 'any' || left.size === 0) ? 1 : 0 };
        },
        { signal },
      );
      return { claims: hops.length, verdicts };
    },
  };
}

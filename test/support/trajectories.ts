import type { HopRecord } from '../../src/core/records.js';
import type { Loop, Trajectory } from '../../src/core/trajectories.js';

/** A record of the given pages, each a title and its sentences; everything else is empty unless given. */
export function recordOf(pages: readonly (readonly [title: string, ...sentences: string[]])[], more: Partial<HopRecord> = {}): HopRecord {
  return {
    question_id: 'q',
    row: 0,
    dataset: 'hotpotqa',
    question: 'Which?',
    answer: null,
    aliases: [],
    type: null,
    level: null,
    pages: pages.map(([title, ...sentences]) => ({ title, sentences })),
    supporting: [],
    decomposition: [],
    evidences: [],
    ...more,
  };
}

/** A trajectory from the sentences that each loop brought, as `[page, sentence]` places. */
export function trajectoryOf(loops: readonly (readonly (readonly [page: number, sentence: number])[])[], id = 'q', row = 0): Trajectory {
  return {
    question_id: id,
    row,
    loops: loops.map((places, at): Loop => ({
      question_id: id,
      row,
      loop: at + 1,
      query: `query ${at + 1}`,
      sub_answer: null,
      sentences: places.map(([page, sentence]) => ({ page, sentence, title: `T${page}`, text: `text ${page}.${sentence}`, score: 0 })),
      stop_reason: at === loops.length - 1 ? 'no_follow_up' : null,
    })),
  };
}

import type { FollowupRow } from './followups.js';
import { makeHotpotqa, type HotpotRecord } from './hotpotqa.js';
import { knowledge } from './knowledge.js';
import { makeMusique, type MusiqueRecord } from './musique.js';
import { makePage } from './pages.js';
import { makeLibrary } from './pool.js';
import { makeTwoWiki, type TwoWikiRecord } from './two-wiki.js';

export interface BuiltinData {
  hotpotqa: { records: HotpotRecord[]; followups: FollowupRow[] };
  '2wiki': { records: TwoWikiRecord[]; followups: FollowupRow[] };
  musique: { records: MusiqueRecord[]; followups: FollowupRow[] };
}

/**
 * Makes the three built-in datasets from the tables of facts, in the official formats, with searches for the scripted agent. The facts
 * are true; the sentences are written from templates. The same seed gives equal data on any machine; another seed draws other questions,
 * wordings, distractors and searches.
 */
export function makeBuiltinData(options: { /** An integer; default 13. */ seed?: number } = {}): BuiltinData {
  const seed = options.seed ?? 13;
  const known = knowledge();
  const library = makeLibrary(known, new Map([...known.values()].map((entity) => [entity.title, makePage(entity, seed)])));
  return { hotpotqa: makeHotpotqa(library, seed), '2wiki': makeTwoWiki(library, seed), musique: makeMusique(library, seed) };
}

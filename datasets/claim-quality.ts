import type { Claim, ClaimQuality } from '../src/core/claims.js';
import { goldHops } from '../src/core/gold-hops.js';
import type { HopRecord } from '../src/core/records.js';
import { normaliseTitle } from '../src/core/text.js';

/**
 * How a question's target entities agree with its gold titles (method.md §2): F1 of the two sets of normalised titles, and whether none, some or
 * all of the gold titles are named. Nulls where the record names no gold title.
 */
export function claimQuality(claims: readonly Pick<Claim, 'page'>[], record: HopRecord): Pick<ClaimQuality, 'entity_f1' | 'bucket'> {
  const { hops, missingTitles } = goldHops(record);
  const gold = new Set([...hops.map((hop) => normaliseTitle(hop.title)), ...missingTitles]);
  if (gold.size === 0) return { entity_f1: null, bucket: null };
  const said = new Set(claims.map((claim) => normaliseTitle(claim.page)).filter((title) => title !== ''));
  const shared = [...said].filter((title) => gold.has(title)).length;
  return { entity_f1: (2 * shared) / (said.size + gold.size), bucket: shared === 0 ? 'no_match' : shared < gold.size ? 'partial' : 'all' };
}

import type { HopRecord } from '../src/core/records.js';
import { normaliseTitle } from '../src/core/text.js';

/**
 * Finds the page of every supporting fact (method.md §3): titles are compared normalised; where a title stands on several pages, the first
 * page on which the sentence exists is meant, and the first page with the title when it exists on none (the fact then dangles).
 */
export function resolveSupporting(
  pages: HopRecord['pages'],
  facts: readonly { title: string; sentence: number }[],
): HopRecord['supporting'] {
  if (facts.length === 0) return [];
  const byTitle = new Map<string, number[]>();
  for (const [page, { title }] of pages.entries()) {
    const key = normaliseTitle(title);
    const known = byTitle.get(key);
    if (known) known.push(page);
    else byTitle.set(key, [page]);
  }
  return facts.map(({ title, sentence }) => {
    const candidates = byTitle.get(normaliseTitle(title)) ?? [];
    const exists = (page: number): boolean => sentence >= 0 && sentence < (pages[page] as HopRecord['pages'][number]).sentences.length;
    return { title, page: candidates.find(exists) ?? candidates[0] ?? null, sentence };
  });
}

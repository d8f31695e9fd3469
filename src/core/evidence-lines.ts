import { foldSpace } from './text.js';
import type { Loop } from './trajectories.js';

/**
 * What an agent had found after some loops, as a model reads it: a line for each run of sentences of one page, `Title: sentence sentence`, in
 * the order in which they were found. A sentence that was retrieved again, or is empty, adds nothing.
 */
export function evidenceLines(loops: readonly Pick<Loop, 'sentences'>[]): string {
  const lines: { title: string; texts: string[] }[] = [];
  const known = new Set<string>();
  for (const { sentences } of loops) {
    let last: { page: number; line: { title: string; texts: string[] } } | undefined;
    for (const { page, sentence, title, text } of sentences) {
      const place = `${page} ${sentence}`;
      const folded = foldSpace(text.toWellFormed());
      if (known.has(place) || folded === '') continue;
      known.add(place);
      if (last?.page !== page) {
        last = { page, line: { title: foldSpace(title.toWellFormed()), texts: [] } };
        lines.push(last.line);
      }
      last.line.texts.push(folded);
    }
  }
  return lines.map(({ title, texts }) => `${title}: ${texts.join(' ')}`).join('\n');
}

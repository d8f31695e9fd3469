import { createRequire } from 'node:module';

/**
 * The splitter for text that comes without sentences (MuSiQue paragraphs, an agent's documents): npm's `sbd`. Its name and version belong
 * to everything that was made from its sentences; datasets that ship sentences are never split again (`DATASET_SENTENCES`).
 */
export const SPLITTER = 'sbd@1.0.19';
export const DATASET_SENTENCES = 'dataset';

interface Sbd {
  sentences(text: string, options?: { preserve_whitespace?: boolean }): string[];
}

let loaded: Sbd | undefined;

export function splitSentences(paragraph: string): string[] {
  // CommonJS, and it loads an HTML sanitiser: only paid for by who splits.
  loaded ??= createRequire(import.meta.url)('sbd') as Sbd;
  return loaded
    .sentences(paragraph)
    .map((sentence) => sentence.trim())
    .filter((sentence) => sentence !== '');
}

import type { LabelRow } from '../src/core/labels.js';
import { normaliseSentence, normaliseTitle } from '../src/core/text.js';
import { type HashSet, makeHashSet, eachNgram, textHash } from './hash-set.js';
import type { Split } from './label-plan.js';

/** Words in an n-gram of the leakage report. */
export const NGRAM_WORDS = 8;
/** From this many rows on only one n-gram in 16 (by its hash, so the same ones on both sides) is compared, to bound memory. */
const SAMPLE_FROM_ROWS = 50_000;

export interface Overlap {
  train: number;
  dev: number;
  shared: number;
  /** Shared as a share of dev's. Null when dev has none. */
  share_of_dev: number | null;
}

/** `leakage.json`: what train and dev have in common (distinct values; titles and texts normalised). */
export interface LeakageReport {
  questions: Overlap;
  expected_pages: Overlap;
  evidence_pages: Overlap;
  evidence_sentences: Overlap;
  ngrams: Overlap & { words: number; one_in: number };
  /** Up to 20 expected pages that stand in both splits. */
  shared_expected_pages: string[];
}

export interface Leakage {
  add(row: LabelRow): void;
  report(): LeakageReport;
}

/**
 * Collects what the rows of the two splits share (known-faults P15). Titles, sentences and n-grams are kept as hashes.
 *
 * @param expectedRows Decides whether n-grams are sampled.
 */
export function makeLeakage(expectedRows: number): Leakage {
  const oneIn = expectedRows >= SAMPLE_FROM_ROWS ? 16 : 1;
  const questions = makeSides();
  const expected = makeSides();
  const pages = makeSides();
  const sentences = makeSides();
  const ngrams = makeSides();
  const names = new Map<number, string>();
  let lastRow = -1;
  return {
    add: (row) => {
      const { split } = row;
      if (row.row !== lastRow) questions[split].add(textHash(normaliseSentence(row.question)));
      lastRow = row.row;
      const title = textHash(normaliseTitle(row.expected_page));
      if (expected[split].add(title)) {
        if (expected.train.has(title) && expected.dev.has(title) && names.size < 20) names.set(title, row.expected_page);
      }
      pages[split].add(textHash(normaliseTitle(row.evidence_page)));
      const text = normaliseSentence(row.evidence_sentence);
      const key = textHash(text);
      if (!sentences[split].add(key)) return;
      eachNgram(text, NGRAM_WORDS, (one) => {
        if (one % oneIn === 0) ngrams[split].add(one);
      });
    },
    report: () => ({
      questions: overlap(questions),
      expected_pages: overlap(expected),
      evidence_pages: overlap(pages),
      evidence_sentences: overlap(sentences),
      ngrams: { ...overlap(ngrams), words: NGRAM_WORDS, one_in: oneIn },
      shared_expected_pages: [...names.values()],
    }),
  };
}

type Sides = { [split in Split]: HashSet };

function makeSides(): Sides {
  return { train: makeHashSet(), dev: makeHashSet() };
}

/** Distinct values on either side and on both. */
function overlap({ train, dev }: Sides): Overlap {
  let shared = 0;
  for (const one of dev.keys()) if (train.has(one)) shared++;
  return { train: train.size, dev: dev.size, shared, share_of_dev: dev.size === 0 ? null : shared / dev.size };
}

import { LABELS, type LabelRow } from '../src/core/labels.js';
import {
  type PairFeatureSet,
  type PairVectors,
  type TextWords,
  pairFeatureWidth,
  pairOf,
  pairTexts,
  readWords,
  writePairFeatures,
} from '../src/core/pair-features.js';
import type { PairExamples } from './small-fit.js';
import type { TextEncoder } from './train-drafter.js';

/** Makes examples of rows. Every text is encoded once, before training. */
export async function encodedPairs(
  groups: readonly (readonly LabelRow[])[],
  encoder: TextEncoder,
  set: PairFeatureSet,
  options: { signal?: AbortSignal | undefined; onProgress?: ((done: number, total: number | null) => void) | undefined } = {},
): Promise<PairExamples[]> {
  const [queries, passages] = [new Set<string>(), new Set<string>()];
  for (const row of groups.flat()) {
    const { question, claim, evidence } = pairTexts(pairOf(row), set);
    queries.add(question).add(claim);
    passages.add(evidence);
  }
  const total = queries.size + passages.size;
  const encoded = async (texts: Set<string>, role: 'query' | 'passage', before: number): Promise<Map<string, Float32Array>> => {
    const list = [...texts];
    const vectors = await encoder.encode(list, role, {
      signal: options.signal,
      onProgress: (done) => options.onProgress?.(before + done, total),
    });
    return new Map(list.map((text, at) => [text, vectors[at] as Float32Array]));
  };
  const ofQuery = await encoded(queries, 'query', 0);
  const ofPassage = await encoded(passages, 'passage', queries.size);
  const known = new Map<string, TextWords>();
  const read = (text: string): TextWords => {
    const found = known.get(text) ?? readWords(text);
    known.set(text, found);
    return found;
  };
  const width = pairFeatureWidth(set, encoder.identity.dimensions);
  return groups.map((rows) => ({
    width,
    labels: Uint8Array.from(rows, (row) => LABELS.indexOf(row.label)),
    weights: balancedWeights(rows),
    write: (at, target, offset) => {
      const pair = pairOf(rows[at] as LabelRow);
      const texts = pairTexts(pair, set);
      const vectors: PairVectors = {
        question: ofQuery.get(texts.question) as Float32Array,
        claim: ofQuery.get(texts.claim) as Float32Array,
        evidence: ofPassage.get(texts.evidence) as Float32Array,
      };
      writePairFeatures(target, offset, { pair, vectors, read }, set);
    },
  }));
}

/** Within each dataset and form the three labels weigh the same, and the mean weight is 1. */
function balancedWeights(rows: readonly LabelRow[]): Float32Array {
  const counts = new Map<string, number>();
  const count = (key: string): number => counts.get(key) ?? 0;
  const groupOf = ({ dataset, form }: LabelRow): string => `${dataset}/${form}`;
  for (const row of rows) for (const key of [groupOf(row), `${groupOf(row)}/${row.label}`]) counts.set(key, count(key) + 1);
  return Float32Array.from(rows, (row) => {
    const present = LABELS.filter((label) => count(`${groupOf(row)}/${label}`) > 0).length;
    return count(groupOf(row)) / (present * count(`${groupOf(row)}/${row.label}`));
  });
}

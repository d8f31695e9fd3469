import { join } from 'node:path';
import { InputError } from '../src/core/errors.js';
import { CLAIM_FORMS, type ClaimForm, LABELS, type LabelRow, labelColumns } from '../src/core/labels.js';
import { MANIFEST_NAME, readManifest } from '../src/core/manifest.js';
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
import { readTable } from '../src/core/tables.js';
import { normaliseSentence } from '../src/core/text.js';
import type { PairExamples } from './small-fit.js';
import type { TextEncoder } from './train-drafter.js';

export interface PairRows {
  training: LabelRow[];
  /** The rows of the folders' dev splits. */
  heldOut: LabelRow[];
  /** The folders' manifests. */
  inputs: string[];
  /** Rows of forms that were not asked for. */
  leftOut: number;
}

/**
 * The label rows of folders of kind `labels`. Throws InputError for another folder, where no training row is left, or where a question
 * trains in one folder and is held out in another.
 *
 * @param forms Only rows of these forms; default all.
 */
export async function readPairRows(folders: readonly string[], forms: readonly ClaimForm[] = CLAIM_FORMS): Promise<PairRows> {
  const result: PairRows = { training: [], heldOut: [], inputs: [], leftOut: 0 };
  const splits = new Map<string, LabelRow['split']>();
  for (const folder of folders) {
    const manifest = await readManifest(folder, 'labels');
    result.inputs.push(join(folder, MANIFEST_NAME));
    for await (const row of readTable(folder, manifest, 'labels', labelColumns)) {
      const question = normaliseSentence(row.question);
      const split = splits.get(question) ?? row.split;
      splits.set(question, split);
      if (split !== row.split)
        throw new InputError(
          `the question is in ${split} in one folder and in ${row.split} in this one: held-out rows would not be held out`,
          {
            file: folder,
            row: row.row,
            questionId: row.question_id,
          },
        );
      if (!forms.includes(row.form)) result.leftOut++;
      else (row.split === 'train' ? result.training : result.heldOut).push(row);
    }
  }
  if (result.training.length === 0) throw new InputError(`no training row of the forms ${forms.join(', ')}`, { file: folders.join(', ') });
  return result;
}

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

import { LABELS } from '../../src/core/labels.js';
import type { LabelScores } from './label-scores.js';
import { MAY_NOT_ATTEND, type VerifierGraph } from './verifier-model.js';
import type { LabelTokens } from './verifier-scorer.js';

export interface NaiveOptions {
  labels: LabelTokens;
  /** Fills rows that are shorter than their batch; attended to by nobody. */
  padId: number;
  /** Rows a pass. Default 1. */
  batch?: number | undefined;
  /** The side on which short rows are filled. Default `right`. */
  padding?: 'left' | 'right' | undefined;
  signal?: AbortSignal | undefined;
}

/**
 * The plain way, which every faster one is compared with: each label is appended to each prompt and read in a padded batch of its own, one
 * pass a label, nothing kept.
 */
export async function scoreNaive(
  graph: VerifierGraph,
  prompts: readonly (readonly number[])[],
  { labels, padId, batch = 1, padding = 'right', signal }: NaiveOptions,
): Promise<LabelScores[]> {
  const scores: LabelScores[] = [];
  for (let from = 0; from < prompts.length; from += batch) {
    const part = prompts.slice(from, from + batch);
    const means: number[][] = [];
    for (const label of LABELS) {
      signal?.throwIfAborted();
      means.push(await labelPass(graph, part, labels[label], { padId, padding }));
    }
    for (const at of part.keys()) {
      const [lp_match = NaN, lp_partial = NaN, lp_null = NaN] = means.map((one) => one[at] as number);
      scores.push({ lp_match, lp_partial, lp_null });
    }
  }
  return scores;
}

async function labelPass(
  graph: VerifierGraph,
  prompts: readonly (readonly number[])[],
  label: readonly number[],
  { padId, padding }: { padId: number; padding: 'left' | 'right' },
): Promise<number[]> {
  const rows = prompts.map((ids) => [...ids, ...label]);
  const tokens = Math.max(...rows.map((one) => one.length));
  const ids = new Int32Array(rows.length * tokens).fill(padId);
  const positions = new Int32Array(rows.length * tokens);
  const bias = new Float32Array(rows.length * tokens * tokens).fill(MAY_NOT_ATTEND);
  const scorePositions: number[] = [];
  for (const [at, row] of rows.entries()) {
    const first = padding === 'left' ? tokens - row.length : 0;
    for (let place = 0; place < tokens; place++) {
      const token = place - first;
      const inside = token >= 0 && token < row.length;
      ids[at * tokens + place] = inside ? (row[token] as number) : padId;
      positions[at * tokens + place] = inside ? token : 0;
      const start = (at * tokens + place) * tokens;
      // Padding attends to itself alone, so that no row of weights is undefined.
      if (inside) bias.fill(0, start + first, start + place + 1);
      else bias[start + place] = 0;
    }
    for (const index of label.keys()) scorePositions.push(at * tokens + first + row.length - label.length - 1 + index);
  }
  const candidates = [...new Set(label)];
  const { logprobs } = await graph.run({ batch: rows.length, tokens, ids, positions, bias, past: null, scorePositions, candidates });
  return rows.map((_, at) => {
    let sum = 0;
    for (const [index, id] of label.entries())
      sum += logprobs[(at * label.length + index) * candidates.length + candidates.indexOf(id)] as number;
    return sum / label.length;
  });
}

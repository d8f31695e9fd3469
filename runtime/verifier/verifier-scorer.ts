import { LABELS } from '../../src/core/labels.js';
import type { OnProgress } from '../../src/core/progress.js';
import type { LabelScores } from './label-scores.js';
import type { KeysAndValues, VerifierGraph } from './verifier-model.js';
import { type KeptNode, type TreePrompt, packTree } from './verifier-tree.js';

/** Token ids of the three labels, each as it stands behind a prompt. */
export type LabelTokens = { readonly [label in (typeof LABELS)[number]]: readonly number[] };

/** What scoring has read so far. */
export interface TokenCounts {
  /** Forward passes. */
  passes: number;
  pairs: number;
  /** Tokens that went through the model. */
  tokens_read: number;
  /** Tokens of the pairs' prompts and labels that did not have to, since they were kept or shared. */
  tokens_reused: number;
  /** Tokens that three passes a pair would have read: prompt and label but its last token, once for each label. */
  tokens_three_passes: number;
}

export interface TreeScorer {
  /**
   * Scores of prompts in their order: for each label its mean token log-probability behind the prompt, equal to three separate passes
   * (method.md §4).
   */
  score(
    prompts: readonly TreePrompt[],
    options?: { signal?: AbortSignal | undefined; onProgress?: OnProgress | undefined },
  ): Promise<LabelScores[]>;
  /** Reads a prefix once and keeps it until the scorer is dropped: what all prompts begin with. */
  hold(prefix: readonly number[]): Promise<void>;
  /** Forgets all that is kept, but for what is held. */
  release(): void;
  /** Sums since the scorer was made. */
  counts(): TokenCounts;
  /** Tokens whose keys and values are kept now. */
  keptTokens(): number;
}

export interface TreeScorerOptions {
  labels: LabelTokens;
  /** New tokens of one pass at most, where a single prompt has no more. Default 1,024. */
  maxTokens?: number | undefined;
  /** Kept tokens at most, those of the running pass included; the least recently used go first, what is held stays. Default 8,192. */
  keepTokens?: number | undefined;
}

const MAX_TOKENS = 1024;
const KEEP_TOKENS = 8192;

interface Kept {
  node: KeptNode;
  values: KeysAndValues;
  children: Kept[];
  held: boolean;
  /** Number of the pass that used it last. */
  used: number;
}

/** Scores prompts as trees of tokens over one graph; one call at a time. The graph stays its owner's. */
export function treeScorer(graph: VerifierGraph, options: TreeScorerOptions): TreeScorer {
  const { maxTokens = MAX_TOKENS, keepTokens = KEEP_TOKENS } = options;
  const labels = LABELS.map((label) => options.labels[label]);
  if (labels.some((ids) => ids.length === 0)) throw new RangeError('a label without tokens has no log-probability');
  const roots: Kept[] = [];
  const byNode = new Map<KeptNode, Kept>();
  const sums: TokenCounts = { passes: 0, pairs: 0, tokens_read: 0, tokens_reused: 0, tokens_three_passes: 0 };
  const labelTokens = labels.reduce((sum, ids) => sum + ids.length - 1, 0);

  const childrenOf = (parent: KeptNode | null): KeptNode[] =>
    (parent === null ? roots : (byNode.get(parent) as Kept).children).map(({ node }) => node);

  const pass = async (prompts: readonly TreePrompt[], held = false): Promise<LabelScores[]> => {
    const tree = packTree(prompts, labels, { children: childrenOf, maxTokens });
    const tokens = tree.ids.length;
    sums.passes++;
    for (const { node } of tree.past) (byNode.get(node) as Kept).used = sums.passes;
    const { logprobs, present } = await graph.run({
      batch: 1,
      tokens,
      ids: tree.ids,
      positions: tree.positions,
      bias: tree.bias,
      past: joined(
        tree.past.map(({ node, tokens: used }) => ({ values: (byNode.get(node) as Kept).values, tokens: used })),
        graph,
      ),
      scorePositions: tree.scorePositions,
      candidates: tree.candidates,
    });
    for (const { node, tokens: places } of tree.kept) {
      const columns = places.map((one) => tree.pastTokens + one);
      const entry: Kept = { node, values: columnsOf(present, columns, graph), children: [], held, used: sums.passes };
      byNode.set(node, entry);
      (node.parent === null ? roots : (byNode.get(node.parent) as Kept).children).push(entry);
    }
    evict();
    sums.tokens_read += tokens;
    const scores = tree.reads.map((reading) => scoresOf(reading, logprobs, tree.candidates.length));
    if (held) return scores;
    let once = 0;
    for (const { ids } of prompts.slice(0, tree.prompts)) {
      once += ids.length + labelTokens;
      sums.tokens_three_passes += labels.length * ids.length + labelTokens;
    }
    sums.pairs += tree.prompts;
    sums.tokens_reused += once - tokens;
    return scores;
  };

  const keptTokens = (): number => [...byNode.keys()].reduce((sum, { ids }) => sum + ids.length, 0);
  const remove = (entry: Kept): void => {
    byNode.delete(entry.node);
    const siblings = entry.node.parent === null ? roots : (byNode.get(entry.node.parent)?.children ?? []);
    const at = siblings.indexOf(entry);
    if (at >= 0) siblings.splice(at, 1);
  };
  const evict = (): void => {
    for (let over = keptTokens() - keepTokens; over > 0;) {
      // Only leaves can go: what stands behind a node needs its keys and values.
      const leaves = [...byNode.values()].filter((one) => !one.held && one.children.length === 0);
      const oldest = leaves.reduce<Kept | undefined>((least, one) => (!least || one.used < least.used ? one : least), undefined);
      if (!oldest) return;
      remove(oldest);
      over -= oldest.node.ids.length;
    }
  };

  return {
    score: async (prompts, { signal, onProgress } = {}) => {
      const scores: LabelScores[] = [];
      while (scores.length < prompts.length) {
        signal?.throwIfAborted();
        scores.push(...(await pass(prompts.slice(scores.length))));
        onProgress?.(scores.length, prompts.length);
      }
      return scores;
    },
    // The token behind the prefix is any: what is kept does not attend to it.
    hold: async (prefix) => {
      await pass([{ ids: [...prefix, prefix[0] as number], keep: [prefix.length] }], true);
    },
    release: () => {
      for (const entry of byNode.values()) if (!entry.held) remove(entry);
    },
    counts: () => ({ ...sums }),
    keptTokens,
  };
}

/** Mean log-probability over a label's tokens, for each label. */
function scoresOf(reading: readonly { row: number; candidate: number }[][], logprobs: Float32Array, candidates: number): LabelScores {
  const [lp_match = NaN, lp_partial = NaN, lp_null = NaN] = reading.map(
    (tokens) => tokens.reduce((sum, { row, candidate }) => sum + (logprobs[row * candidates + candidate] as number), 0) / tokens.length,
  );
  return { lp_match, lp_partial, lp_null };
}

/** The first tokens of several kept runs, side by side; null for none. */
function joined(runs: readonly { values: KeysAndValues; tokens: number }[], graph: VerifierGraph): KeysAndValues | null {
  const tokens = runs.reduce((sum, one) => sum + one.tokens, 0);
  if (tokens === 0) return null;
  const { layers, kv_heads: heads, head_dim: width } = graph.architecture;
  const join = (layer: number, part: 'key' | 'value'): Float32Array => {
    const all = new Float32Array(heads * tokens * width);
    let before = 0;
    for (const { values, tokens: used } of runs) {
      const from = (values.layers[layer] as { key: Float32Array; value: Float32Array })[part];
      for (let head = 0; head < heads; head++) {
        const start = head * values.tokens * width;
        all.set(from.subarray(start, start + used * width), (head * tokens + before) * width);
      }
      before += used;
    }
    return all;
  };
  return {
    batch: 1,
    tokens,
    layers: Array.from({ length: layers }, (_, layer) => ({ key: join(layer, 'key'), value: join(layer, 'value') })),
  };
}

/** Copies of some tokens' keys and values, so that the pass's own arrays can go. */
function columnsOf(present: KeysAndValues, columns: readonly number[], graph: VerifierGraph): KeysAndValues {
  const { kv_heads: heads, head_dim: width } = graph.architecture;
  const pick = (from: Float32Array): Float32Array => {
    const picked = new Float32Array(heads * columns.length * width);
    for (let head = 0; head < heads; head++)
      for (const [at, column] of columns.entries()) {
        const start = (head * present.tokens + column) * width;
        picked.set(from.subarray(start, start + width), (head * columns.length + at) * width);
      }
    return picked;
  };
  return { batch: 1, tokens: columns.length, layers: present.layers.map(({ key, value }) => ({ key: pick(key), value: pick(value) })) };
}

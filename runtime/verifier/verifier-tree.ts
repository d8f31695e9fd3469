import { MAY_NOT_ATTEND } from './verifier-model.js';

/** A run of tokens whose keys and values are kept, behind the first `at` tokens of its parent. */
export interface KeptNode {
  readonly ids: readonly number[];
  readonly parent: KeptNode | null;
  /** How many of the parent's tokens stand before it. */
  readonly at: number;
  /** Depth of its first token in the prompt. */
  readonly start: number;
}

/** One prompt that is scored. */
export interface TreePrompt {
  ids: readonly number[];
  /** Lengths of prefixes, ascending, whose keys and values are worth keeping; each shorter than the prompt. */
  keep: readonly number[];
}

/** Where one token of a label is read: a row of the log-probabilities, and a place among the candidates. */
export interface LabelRead {
  row: number;
  candidate: number;
}

/** Several prompts as one tree of tokens: what they share, with each other or with what is kept, stands once. */
export interface PackedTree {
  /** How many of the given prompts it holds, from the first on. */
  prompts: number;
  ids: readonly number[];
  /** Depth of each token in its own prompt. */
  positions: readonly number[];
  /** Kept runs that stand before the tokens, each with how many of its tokens. */
  past: { node: KeptNode; tokens: number }[];
  pastTokens: number;
  /** [tokens × (past + tokens)]: a token attends to itself and to the tokens before it in its own prompt. */
  bias: Float32Array;
  scorePositions: number[];
  candidates: number[];
  /** `reads[prompt][label]`: one entry for each token of the label. */
  reads: LabelRead[][][];
  /** New prefixes to keep, parents first, each with the places of its tokens among the new ones. */
  kept: { node: KeptNode; tokens: number[] }[];
}

/** Kept nodes that stand directly behind a node, or at the beginning for null. */
export type KeptChildren = (parent: KeptNode | null) => Iterable<KeptNode>;

/**
 * Packs prompts into one tree until `maxTokens` new tokens are reached (one prompt at least). A label's tokens but its last are a branch
 * behind each prompt, so that each of them is read where a pass of that label alone would read it.
 *
 * @param labels token ids of each label
 */
export function packTree(
  prompts: readonly TreePrompt[],
  labels: readonly (readonly number[])[],
  { children, maxTokens }: { children: KeptChildren; maxTokens: number },
): PackedTree {
  const tree = emptyTree();
  const added: { prompt: TreePrompt; chain: Chain; path: number[] }[] = [];
  const branches = labels.reduce((sum, ids) => sum + ids.length - 1, 0);
  for (const prompt of prompts) {
    const chain = longestChain(prompt.ids, children);
    if (added.length > 0 && tree.ids.length + newTokens(tree, chain, prompt.ids) + branches > maxTokens) break;
    const path = addPath(tree, chain, prompt.ids);
    added.push({ prompt, chain, path });
    for (const ids of labels) addBranch(tree, path.at(-1) as number, ids);
  }
  const { past, pastTokens, bias } = layOut(tree);
  return {
    prompts: added.length,
    ids: tree.ids,
    positions: tree.positions,
    past,
    pastTokens,
    bias,
    ...readsOf(tree, added, labels),
    kept: newlyKept(added),
  };
}

/** The kept tokens that a prompt begins with: runs from the beginning on, each with how many of its tokens. */
interface Chain {
  runs: { node: KeptNode; tokens: number }[];
  length: number;
}

/** The longest kept beginning of a prompt that leaves at least its last token to be read. */
function longestChain(ids: readonly number[], children: KeptChildren): Chain {
  const chain: Chain = { runs: [], length: 0 };
  for (;;) {
    let best: { node: KeptNode; tokens: number } | undefined;
    let bestLength = chain.length;
    for (const node of children(chain.runs.at(-1)?.node ?? null)) {
      // It may stand behind a part of its parent, but not behind tokens that this prompt does not share.
      if (node.start > chain.length) continue;
      let tokens = 0;
      const most = Math.min(node.ids.length, ids.length - 1 - node.start);
      while (tokens < most && node.ids[tokens] === ids[node.start + tokens]) tokens++;
      if (node.start + tokens <= bestLength) continue;
      best = { node, tokens };
      bestLength = node.start + tokens;
    }
    if (!best) return chain;
    const last = chain.runs.at(-1);
    if (last) last.tokens = best.node.at;
    chain.runs.push(best);
    chain.length = bestLength;
  }
}

/** The tokens of one pass; each has another of them as its parent, or stands behind a kept chain. */
interface Tree {
  ids: number[];
  positions: number[];
  /** −1 behind a kept chain. */
  parents: number[];
  chains: (Chain | null)[];
  /** Nodes by parent and token. */
  byToken: Map<string, number>;
  nodeNumbers: Map<KeptNode, number>;
}

function emptyTree(): Tree {
  return { ids: [], positions: [], parents: [], chains: [], byToken: new Map(), nodeNumbers: new Map() };
}

function keyOf(tree: Tree, parent: number, chain: Chain | null, id: number): string {
  if (parent >= 0 || chain === null) return `${parent}/${id}`;
  const node = chain.runs.at(-1)?.node;
  if (node && !tree.nodeNumbers.has(node)) tree.nodeNumbers.set(node, tree.nodeNumbers.size);
  return `kept ${node ? (tree.nodeNumbers.get(node) as number) : 'none'}, ${chain.length}/${id}`;
}

function newTokens(tree: Tree, chain: Chain, ids: readonly number[]): number {
  let parent = -1;
  for (let at = chain.length; at < ids.length; at++) {
    const next = tree.byToken.get(keyOf(tree, parent, chain, ids[at] as number));
    if (next === undefined) return ids.length - at;
    parent = next;
  }
  return 0;
}

function addToken(tree: Tree, parent: number, chain: Chain | null, { id, position }: { id: number; position: number }): number {
  const key = keyOf(tree, parent, chain, id);
  const known = tree.byToken.get(key);
  if (known !== undefined) return known;
  const node = tree.ids.length;
  tree.ids.push(id);
  tree.positions.push(position);
  tree.parents.push(parent);
  tree.chains.push(parent >= 0 ? null : chain);
  tree.byToken.set(key, node);
  return node;
}

/** The nodes of a prompt's tokens behind its chain. */
function addPath(tree: Tree, chain: Chain, ids: readonly number[]): number[] {
  const path: number[] = [];
  for (let at = chain.length; at < ids.length; at++)
    path.push(addToken(tree, path.at(-1) ?? -1, chain, { id: ids[at] as number, position: at }));
  return path;
}

/** The nodes at which a label's tokens are read: the prompt's last one, then all of the label but its last token. */
function addBranch(tree: Tree, last: number, label: readonly number[]): number[] {
  const nodes = [last];
  for (const id of label.slice(0, -1)) {
    const parent = nodes.at(-1) as number;
    nodes.push(addToken(tree, parent, null, { id, position: (tree.positions[parent] as number) + 1 }));
  }
  return nodes;
}

/** Puts the kept runs side by side before the tokens, and draws who attends to whom. */
function layOut(tree: Tree): Pick<PackedTree, 'past' | 'pastTokens' | 'bias'> {
  const longest = new Map<KeptNode, number>();
  for (const chain of tree.chains)
    for (const { node, tokens } of chain?.runs ?? []) longest.set(node, Math.max(longest.get(node) ?? 0, tokens));
  const offsets = new Map<KeptNode, number>();
  let pastTokens = 0;
  for (const [node, tokens] of longest) {
    offsets.set(node, pastTokens);
    pastTokens += tokens;
  }
  const size = tree.ids.length;
  const width = pastTokens + size;
  const bias = new Float32Array(size * width).fill(MAY_NOT_ATTEND);
  for (let node = 0; node < size; node++) {
    const parent = tree.parents[node] as number;
    const row = node * width;
    if (parent >= 0) bias.copyWithin(row, parent * width, (parent + 1) * width);
    for (const run of tree.chains[node]?.runs ?? []) {
      const from = row + (offsets.get(run.node) as number);
      bias.fill(0, from, from + run.tokens);
    }
    bias[row + pastTokens + node] = 0;
  }
  return { past: [...longest].map(([node, tokens]) => ({ node, tokens })), pastTokens, bias };
}

function readsOf(
  tree: Tree,
  added: readonly { path: readonly number[] }[],
  labels: readonly (readonly number[])[],
): Pick<PackedTree, 'scorePositions' | 'candidates' | 'reads'> {
  const candidates = [...new Set(labels.flat())];
  const rows = new Map<number, number>();
  const reads = added.map(({ path }) =>
    labels.map((ids) => {
      const nodes = addBranch(tree, path.at(-1) as number, ids);
      return ids.map((id, at) => {
        const node = nodes[at] as number;
        const row = rows.get(node) ?? rows.size;
        rows.set(node, row);
        return { row, candidate: candidates.indexOf(id) };
      });
    }),
  );
  return { scorePositions: [...rows.keys()], candidates, reads };
}

/** The prefixes that the prompts ask to keep and that are not kept yet, each once. */
function newlyKept(added: readonly { prompt: TreePrompt; chain: Chain; path: readonly number[] }[]): PackedTree['kept'] {
  const kept = new Map<string, PackedTree['kept'][number]>();
  for (const { prompt, chain, path } of added) {
    const last = chain.runs.at(-1);
    let [parent, at, from] = [last?.node ?? null, last?.tokens ?? 0, chain.length];
    for (const end of prompt.keep) {
      if (end <= from) continue;
      if (end >= prompt.ids.length) throw new RangeError(`keep: got ${end}, expected less than the prompt's ${prompt.ids.length} tokens`);
      const tokens = path.slice(from - chain.length, end - chain.length);
      const key = `${tokens[0]}…${tokens.at(-1)}`;
      const entry = kept.get(key) ?? { node: { ids: prompt.ids.slice(from, end), parent, at, start: from }, tokens };
      kept.set(key, entry);
      [parent, at, from] = [entry.node, entry.node.ids.length, end];
    }
  }
  return [...kept.values()];
}

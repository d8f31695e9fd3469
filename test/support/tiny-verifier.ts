import { mkdir, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { type GraphBuilder, graphBuilder } from '../../src/core/onnx-graph.js';
import { random } from '../../src/core/random.js';

export interface TinyVerifierShape {
  vocabulary: number;
  layers: number;
  heads: number;
  kvHeads: number;
  headDim: number;
  inner: number;
}

export const TINY: TinyVerifierShape = { vocabulary: 97, layers: 2, heads: 4, kvHeads: 2, headDim: 8, inner: 48 };

export const architectureOf = ({
  layers,
  heads,
  kvHeads,
  headDim,
}: TinyVerifierShape): {
  layers: number;
  kv_heads: number;
  head_dim: number;
  hidden: number;
} => ({ layers, kv_heads: kvHeads, head_dim: headDim, hidden: heads * headDim });

/**
 * A small real decoder with random weights and the inputs and outputs of an exported verifier: token embeddings, per layer RMS norm, rotary
 * grouped-query attention under an additive bias and a gated MLP, tied output embeddings, log-softmax over the vocabulary at the scored
 * positions. `spoil` breaks the graph for tests of what is refused.
 */
export async function writeTinyVerifier(
  file: string,
  shape: TinyVerifierShape = TINY,
  options: { seed?: number; spoil?: 'logits' | 'no cache' } = {},
): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, tinyVerifierOnnx(shape, options));
}

export function tinyVerifierOnnx(
  shape: TinyVerifierShape,
  { seed = 13, spoil }: { seed?: number; spoil?: 'logits' | 'no cache' },
): Uint8Array {
  const { vocabulary, layers, heads, kvHeads, headDim, inner } = shape;
  const hidden = heads * headDim;
  const graph = graphBuilder('tiny-verifier');
  const weight = (name: string, rows: number, columns: number): string => {
    const draw = random(seed, name);
    const scale = 2 / Math.sqrt(rows);
    return graph.floats(
      name,
      [rows, columns],
      Float32Array.from({ length: rows * columns }, () => (draw.float() - 0.5) * 2 * scale),
    );
  };
  const scalar = (name: string, value: number): string => graph.floats(name, [], Float32Array.of(value));
  const epsilon = scalar('epsilon', 1e-6);
  const norm = (input: string): string => {
    const square = graph.node('ReduceMean', [graph.node('Mul', [input, input])], { axes: { ints: [-1] }, keepdims: { int: 1 } });
    return graph.node('Div', [input, graph.node('Sqrt', [graph.node('Add', [square, epsilon])])]);
  };
  const dense = (input: string, name: string, rows: number, columns: number): string =>
    graph.node('MatMul', [input, weight(name, rows, columns)]);

  const embedding = graph.floats('embedding', [vocabulary, hidden], randomEmbedding(seed, vocabulary * hidden));
  const rotary = rotaryTables(graph, headDim);
  const splitQuery = graph.ints('split_query', [4], [0, 0, heads, headDim]);
  const splitKey = graph.ints('split_key', [4], [0, 0, kvHeads, headDim]);
  const join = graph.ints('join', [3], [0, 0, hidden]);
  const group = graph.ints('group', [5], [0, kvHeads, heads / kvHeads, -1, headDim]);
  const ungroup = graph.ints('ungroup', [4], [0, heads, -1, headDim]);
  const one = graph.ints('axis_two', [1], [2]);
  const scale = scalar('scale', 1 / Math.sqrt(headDim));
  const wide = graph.node('Unsqueeze', ['attention_bias', one]);

  let state = graph.node('Gather', [embedding, 'input_ids']);
  for (let layer = 0; layer < layers; layer++) {
    const at = `layer.${layer}`;
    const normed = norm(state);
    const byHead = (part: string, split: string, columns: number): string =>
      graph.node('Transpose', [graph.node('Reshape', [dense(normed, `${at}.${part}`, hidden, columns), split])], {
        perm: { ints: [0, 2, 1, 3] },
      });
    const query = rotary(byHead('q', splitQuery, hidden));
    const newKey = rotary(byHead('k', splitKey, kvHeads * headDim));
    const newValue = byHead('v', splitKey, kvHeads * headDim);
    const join4 = (past: string, now: string, output: string): string => graph.node('Concat', [past, now], { axis: { int: 2 } }, output);
    const key = join4(`past_key_values.${layer}.key`, newKey, `present.${layer}.key`);
    const value = join4(`past_key_values.${layer}.value`, newValue, `present.${layer}.value`);
    // Queries stand in groups of those that share keys: [batch × kvHeads × group × tokens × headDim].
    const grouped = graph.node('Reshape', [query, group]);
    const keys = graph.node('Unsqueeze', [graph.node('Transpose', [key], { perm: { ints: [0, 1, 3, 2] } }), one]);
    const scores = graph.node('Add', [graph.node('Mul', [graph.node('MatMul', [grouped, keys]), scale]), wide]);
    const shares = graph.node('Softmax', [scores], { axis: { int: -1 } });
    const mixed = graph.node('Reshape', [graph.node('MatMul', [shares, graph.node('Unsqueeze', [value, one])]), ungroup]);
    const joined = graph.node('Reshape', [graph.node('Transpose', [mixed], { perm: { ints: [0, 2, 1, 3] } }), join]);
    state = graph.node('Add', [state, dense(joined, `${at}.o`, hidden, hidden)]);
    const read = norm(state);
    const gate = dense(read, `${at}.gate`, hidden, inner);
    const silu = graph.node('Mul', [gate, graph.node('Sigmoid', [gate])]);
    const up = graph.node('Mul', [silu, dense(read, `${at}.up`, hidden, inner)]);
    state = graph.node('Add', [state, dense(up, `${at}.down`, inner, hidden)]);
  }
  const flat = graph.node('Reshape', [norm(state), graph.ints('flat', [2], [-1, hidden])]);
  const scored = graph.node('Gather', [flat, 'score_positions']);
  const logits = graph.node('MatMul', [scored, graph.node('Transpose', [embedding], { perm: { ints: [1, 0] } })]);
  const all = graph.node('LogSoftmax', [logits], { axis: { int: -1 } }, spoil === 'logits' ? 'logprobs' : undefined);
  if (spoil !== 'logits') graph.node('Gather', [all, 'candidate_ids'], { axis: { int: 1 } }, 'logprobs');

  const caches = Array.from({ length: layers }, (_, layer) => ['key', 'value'].map((part) => `${layer}.${part}`)).flat();
  return graph.finish(
    [
      { name: 'input_ids', type: 'int64', shape: ['batch', 'tokens'] },
      { name: 'position_ids', type: 'int64', shape: ['batch', 'tokens'] },
      { name: 'attention_bias', type: 'float32', shape: ['batch', 1, 'tokens', 'past_and_tokens'] },
      { name: 'score_positions', type: 'int64', shape: ['rows'] },
      { name: 'candidate_ids', type: 'int64', shape: ['candidates'] },
      ...caches.map((name) => ({
        name: `past_key_values.${name}`,
        type: 'float32' as const,
        shape: ['batch', kvHeads, 'past', headDim],
      })),
    ],
    [
      { name: 'logprobs', type: 'float32', shape: ['rows', spoil === 'logits' ? vocabulary : 'candidates'] },
      ...(spoil === 'no cache' ? caches.slice(2) : caches).map((name) => ({
        name: `present.${name}`,
        type: 'float32' as const,
        shape: ['batch', kvHeads, 'past_and_tokens', headDim],
      })),
    ],
    'test',
  );
}

/** Seeded, and by arithmetic alone: a vocabulary of 151,936 has to be made in a moment. */
function randomEmbedding(seed: number, length: number): Float32Array {
  const values = new Float32Array(length);
  let state = (seed * 2_654_435_761) >>> 0 || 1;
  for (let at = 0; at < length; at++) {
    state ^= state << 13;
    state >>>= 0;
    state ^= state >>> 17;
    state ^= state << 5;
    state >>>= 0;
    values[at] = (state / 2 ** 32 - 0.5) * 2;
  }
  return values;
}

/** Rotation of halves by the angle of a token's position, as Qwen2 and Llama do it. */
function rotaryTables(graph: GraphBuilder, headDim: number): (input: string) => string {
  const half = headDim / 2;
  const inverse = Float32Array.from({ length: half }, (_, at) => 10_000 ** (-at / half));
  const positions = graph.node('Cast', ['position_ids'], { to: { int: 1 } });
  const wide = graph.node('Unsqueeze', [positions, graph.ints('position_axes', [2], [1, 3])]);
  const angles = graph.node('Mul', [wide, graph.floats('inverse_frequency', [half], inverse)]);
  const [cosine, sine] = [graph.node('Cos', [angles]), graph.node('Sin', [angles])];
  const [zero, middle, end, axis] = [
    graph.ints('rotary_zero', [1], [0]),
    graph.ints('rotary_middle', [1], [half]),
    graph.ints('rotary_end', [1], [headDim]),
    graph.ints('rotary_axis', [1], [3]),
  ];
  return (input) => {
    const first = graph.node('Slice', [input, zero, middle, axis]);
    const second = graph.node('Slice', [input, middle, end, axis]);
    const left = graph.node('Sub', [graph.node('Mul', [first, cosine]), graph.node('Mul', [second, sine])]);
    const right = graph.node('Add', [graph.node('Mul', [second, cosine]), graph.node('Mul', [first, sine])]);
    return graph.node('Concat', [left, right], { axis: { int: 3 } });
  };
}

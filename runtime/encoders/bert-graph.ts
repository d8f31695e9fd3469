import { z } from 'zod';
import { type GraphBuilder, graphBuilder } from '../../src/core/onnx-graph.js';

/** Goes up with every change that can move a vector; it is part of the encoder's identity and of the converted folder's name. */
export const CONVERTER_VERSION = 'bert-1';

/** What of a BERT config.json decides the graph. */
export const bertConfig = z.object({
  model_type: z.literal('bert'),
  hidden_size: z.int().positive(),
  num_attention_heads: z.int().positive(),
  num_hidden_layers: z.int().positive(),
  intermediate_size: z.int().positive(),
  max_position_embeddings: z.int().positive(),
  type_vocab_size: z.int().positive(),
  vocab_size: z.int().positive(),
  layer_norm_eps: z.number().positive(),
  hidden_act: z.literal('gelu'),
  position_embedding_type: z.literal('absolute').default('absolute'),
});
export type BertConfig = z.infer<typeof bertConfig>;

/** The weights by their names in the safetensors file of a BertModel; a matrix stands as [out × in], as PyTorch keeps it. */
export interface BertWeights {
  shape(name: string): readonly number[];
  floats(name: string): Float32Array;
}

/** Added to the score of a padded position: its weight after softmax is exactly 0 in 32-bit floats, so padding never moves a vector. */
const MASKED = -1e9;

/**
 * A BERT encoder as an ONNX model file in 32-bit floats: input_ids, attention_mask and token_type_ids, each [batch × sequence], give
 * last_hidden_state [batch × sequence × hidden]. Matrices are transposed here, so that the graph multiplies by them as they stand.
 */
export function bertOnnx(config: BertConfig, weights: BertWeights): Uint8Array {
  const graph = graphBuilder('bert');
  const matrix = (name: string): string => transposed(graph, name, weights);
  const plain = (name: string): string => graph.floats(name, weights.shape(name), weights.floats(name));
  const norm = (input: string, name: string, output?: string): string =>
    graph.node(
      'LayerNormalization',
      [input, plain(`${name}.weight`), plain(`${name}.bias`)],
      { axis: { int: -1 }, epsilon: { float: config.layer_norm_eps } },
      output,
    );
  const dense = (input: string, name: string): string =>
    graph.node('Add', [graph.node('MatMul', [input, matrix(`${name}.weight`)]), plain(`${name}.bias`)]);

  const scalars = scalarConstants(graph, config);
  const bias = maskBias(graph, scalars);
  let state = norm(embedded(graph, plain), 'embeddings.LayerNorm');
  for (let layer = 0; layer < config.num_hidden_layers; layer++) {
    const at = `encoder.layer.${layer}`;
    const heads = attention(graph, state, (input, part) => dense(input, `${at}.attention.self.${part}`), bias, scalars);
    state = norm(graph.node('Add', [dense(heads, `${at}.attention.output.dense`), state]), `${at}.attention.output.LayerNorm`);
    const inner = gelu(graph, dense(state, `${at}.intermediate.dense`), scalars);
    const last = layer === config.num_hidden_layers - 1;
    state = norm(
      graph.node('Add', [dense(inner, `${at}.output.dense`), state]),
      `${at}.output.LayerNorm`,
      last ? 'last_hidden_state' : undefined,
    );
  }
  const tokens = ['batch', 'sequence'];
  return graph.finish(
    ['input_ids', 'attention_mask', 'token_type_ids'].map((name) => ({ name, type: 'int64', shape: tokens })),
    [{ name: 'last_hidden_state', type: 'float32', shape: [...tokens, config.hidden_size] }],
    CONVERTER_VERSION,
  );
}

interface Scalars {
  one: string;
  half: string;
  rootTwo: string;
  masked: string;
  scale: string;
  splitHeads: string;
  joinHeads: string;
}

function scalarConstants(graph: GraphBuilder, config: BertConfig): Scalars {
  const scalar = (name: string, value: number): string => graph.floats(name, [], Float32Array.of(value));
  const width = config.hidden_size / config.num_attention_heads;
  return {
    one: scalar('one', 1),
    half: scalar('half', 0.5),
    rootTwo: scalar('root_two', Math.SQRT2),
    masked: scalar('masked', MASKED),
    scale: scalar('scale', Math.sqrt(width)),
    // 0 in Reshape keeps a dimension as it is.
    splitHeads: graph.ints('split_heads', [4], [0, 0, config.num_attention_heads, width]),
    joinHeads: graph.ints('join_heads', [3], [0, 0, config.hidden_size]),
  };
}

/** Word, position and token type embeddings, added. */
function embedded(graph: GraphBuilder, plain: (name: string) => string): string {
  const words = graph.node('Gather', [plain('embeddings.word_embeddings.weight'), 'input_ids']);
  const types = graph.node('Gather', [plain('embeddings.token_type_embeddings.weight'), 'token_type_ids']);
  const length = graph.node('Shape', ['input_ids'], { start: { int: 1 }, end: { int: 2 } });
  const zero = graph.ints('zero', [1], [0]);
  const positions = graph.node('Slice', [plain('embeddings.position_embeddings.weight'), zero, length, zero]);
  return graph.node('Add', [graph.node('Add', [words, types]), positions]);
}

/** [batch × 1 × 1 × sequence]: 0 at a token, `MASKED` at padding. */
function maskBias(graph: GraphBuilder, { one, masked }: Scalars): string {
  const axes = graph.ints('mask_axes', [2], [1, 2]);
  const wide = graph.node('Unsqueeze', ['attention_mask', axes]);
  const floats = graph.node('Cast', [wide], { to: { int: 1 } });
  return graph.node('Mul', [graph.node('Sub', [one, floats]), masked]);
}

function attention(
  graph: GraphBuilder,
  state: string,
  dense: (input: string, part: 'query' | 'key' | 'value') => string,
  bias: string,
  { scale, splitHeads, joinHeads }: Scalars,
): string {
  const heads = (part: 'query' | 'key' | 'value', order: readonly number[]): string =>
    graph.node('Transpose', [graph.node('Reshape', [dense(state, part), splitHeads])], { perm: { ints: order } });
  const scores = graph.node('MatMul', [heads('query', [0, 2, 1, 3]), heads('key', [0, 2, 3, 1])]);
  const shares = graph.node('Softmax', [graph.node('Add', [graph.node('Div', [scores, scale]), bias])], { axis: { int: -1 } });
  const mixed = graph.node('Transpose', [graph.node('MatMul', [shares, heads('value', [0, 2, 1, 3])])], { perm: { ints: [0, 2, 1, 3] } });
  return graph.node('Reshape', [mixed, joinHeads]);
}

/** The exact form with erf, written out so that onnxruntime recognises and fuses it. */
function gelu(graph: GraphBuilder, input: string, { one, half, rootTwo }: Scalars): string {
  const error = graph.node('Erf', [graph.node('Div', [input, rootTwo])]);
  return graph.node('Mul', [graph.node('Mul', [input, graph.node('Add', [error, one])]), half]);
}

function transposed(graph: GraphBuilder, name: string, weights: BertWeights): string {
  const [rows, columns] = weights.shape(name) as [number, number];
  const from = weights.floats(name);
  const to = new Float32Array(from.length);
  for (let r = 0; r < rows; r++) for (let c = 0; c < columns; c++) to[c * rows + r] = from[r * columns + c] as number;
  return graph.floats(`${name}.transposed`, [columns, rows], to);
}

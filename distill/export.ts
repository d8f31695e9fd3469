import { MEAN_CLAIMS } from '../src/core/drafter.js';
import { type GraphBuilder, graphBuilder } from '../src/core/onnx-graph.js';
import { parseSafetensors, safetensorsBytes } from '../src/core/safetensors.js';
import { type DrafterModel, LENGTH_EPSILON } from './drafter-model.js';
import { layerSizes } from './shape.js';

/** Goes up with every change of the graph. */
const GRAPH_VERSION = 'drafter-1';

/** The weights as a safetensors file: `hidden.0.weight` [in × out], `hidden.0.bias` [out], …, `out.weight`, `out.bias`; and the baseline. */
export function drafterSafetensors({ shape, dimensions, parameters }: DrafterModel, meanClaims?: readonly Float32Array[]): Buffer {
  const tensors = layerSizes(shape, dimensions).flatMap(({ name, inputs, outputs }, at) => [
    { name: `${name}.weight`, shape: [inputs, outputs], values: parameters[2 * at] as Float32Array },
    { name: `${name}.bias`, shape: [outputs], values: parameters[2 * at + 1] as Float32Array },
  ]);
  if (meanClaims) {
    const values = new Float32Array(shape.slots * dimensions);
    for (const [slot, mean] of meanClaims.entries()) values.set(mean, slot * dimensions);
    tensors.push({ name: MEAN_CLAIMS, shape: [shape.slots, dimensions], values });
  }
  return safetensorsBytes(tensors);
}

/** The weights back from `drafterSafetensors`, in the order of the layers. */
export function drafterParameters(
  bytes: Buffer,
  file: string,
  { shape, dimensions }: Pick<DrafterModel, 'shape' | 'dimensions'>,
): Float32Array[] {
  const tensors = parseSafetensors(bytes, file);
  return layerSizes(shape, dimensions).flatMap(({ name }) => [tensors.floats(`${name}.weight`), tensors.floats(`${name}.bias`)]);
}

/**
 * The whole drafter as an ONNX model: `question` [batch × dimensions] gives `slots` [batch × slots × dimensions], unit length, and
 * `count_logits` [batch × counts].
 */
export function drafterOnnx(model: DrafterModel): Uint8Array {
  const { shape, dimensions, residual } = model;
  const graph = graphBuilder('drafter');
  let state = 'question';
  for (const [at, { name, inputs, outputs }] of layerSizes(shape, dimensions).entries()) {
    const weight = graph.floats(`${name}.weight`, [inputs, outputs], model.parameters[2 * at] as Float32Array);
    const bias = graph.floats(`${name}.bias`, [outputs], model.parameters[2 * at + 1] as Float32Array);
    state = graph.node('Add', [graph.node('MatMul', [state, weight]), bias]);
    if (at < shape.hidden.length) state = graph.node('Relu', [state]);
  }
  const width = shape.slots * dimensions;
  const part = (name: string, from: number, to: number, output?: string): string =>
    graph.node(
      'Slice',
      [state, graph.ints(`${name}.from`, [1], [from]), graph.ints(`${name}.to`, [1], [to]), graph.ints(`${name}.axis`, [1], [1])],
      {},
      output,
    );
  const corrections = graph.node('Reshape', [part('slots', 0, width), graph.ints('slots.shape', [3], [0, shape.slots, dimensions])]);
  unitLength(graph, residual ? withQuestion(graph, corrections) : corrections, 'slots');
  part('counts', width, width + shape.counts, 'count_logits');
  return graph.finish(
    [{ name: 'question', type: 'float32', shape: ['batch', dimensions] }],
    [
      { name: 'slots', type: 'float32', shape: ['batch', shape.slots, dimensions] },
      { name: 'count_logits', type: 'float32', shape: ['batch', shape.counts] },
    ],
    GRAPH_VERSION,
  );
}

function withQuestion(graph: GraphBuilder, corrections: string): string {
  return graph.node('Add', [corrections, graph.node('Unsqueeze', ['question', graph.ints('question.axis', [1], [1])])]);
}

function unitLength(graph: GraphBuilder, input: string, output: string): string {
  const square = graph.node('ReduceSumSquare', [input], { axes: { ints: [-1] }, keepdims: { int: 1 } });
  const length = graph.node('Sqrt', [graph.node('Add', [square, graph.floats('length_epsilon', [], Float32Array.of(LENGTH_EPSILON))])]);
  return graph.node('Div', [input, length], {}, output);
}

import { type DenseLayer, denseLayers } from '../src/core/dense-layers.js';
import { LABELS } from '../src/core/labels.js';
import { type GraphBuilder, graphBuilder } from '../src/core/onnx-graph.js';
import { random } from '../src/core/random.js';
import { safetensorsBytes } from '../src/core/safetensors.js';
import type { Tensor, Tf } from './tensors.js';

/** A small verifier's head: an MLP with ReLU from a pair's features to the three labels' logits. */
export interface SmallModel {
  /** Numbers a pair's features have. */
  inputs: number;
  hidden: readonly number[];
  /** Two a layer: weight [in × out] and bias [out]. */
  parameters: readonly Float32Array[];
}

/** Goes up with every change of the graph. */
const GRAPH_VERSION = 'small-verifier-1';

export function smallLayers({ inputs, hidden }: Pick<SmallModel, 'inputs' | 'hidden'>): DenseLayer[] {
  return denseLayers([inputs, ...hidden, LABELS.length]);
}

/** Seeded weights, uniform within He's bound (Glorot's for the last layer); biases zero. The same on every backend. */
export function initialSmallParameters(shape: Pick<SmallModel, 'inputs' | 'hidden'>, seed: number): Float32Array[] {
  return smallLayers(shape).flatMap(({ name, inputs, outputs }) => {
    const draw = random(seed, 'small-verifier', 'initial', name);
    const bound = Math.sqrt(6 / (name === 'out' ? inputs + outputs : inputs));
    return [Float32Array.from({ length: inputs * outputs }, () => (2 * draw.float() - 1) * bound), new Float32Array(outputs)];
  });
}

/** Logits [batch × 3]. `masks`: one dropout mask a hidden layer, already scaled by 1 / (1 − rate); none at inference. */
export function smallLogits(tf: Tf, parameters: readonly Tensor[], features: Tensor, masks?: readonly Tensor[]): Tensor {
  let state = features;
  for (let layer = 0; 2 * layer < parameters.length; layer++) {
    state = tf.add(tf.matMul(state, parameters[2 * layer] as Tensor), parameters[2 * layer + 1] as Tensor);
    if (2 * layer + 2 === parameters.length) break;
    state = tf.relu(state);
    if (masks) state = tf.mul(state, masks[layer] as Tensor);
  }
  return state;
}

/** The weights as a safetensors file: `hidden.0.weight` [in × out], `hidden.0.bias` [out], …, `out.weight`, `out.bias`. */
export function smallSafetensors(model: SmallModel): Buffer {
  return safetensorsBytes(
    smallLayers(model).flatMap(({ name, inputs, outputs }, at) => [
      { name: `${name}.weight`, shape: [inputs, outputs], values: model.parameters[2 * at] as Float32Array },
      { name: `${name}.bias`, shape: [outputs], values: model.parameters[2 * at + 1] as Float32Array },
    ]),
  );
}

/** The head as an ONNX model: `features` [batch × inputs] gives `log_probabilities` [batch × 3], in the order of LABELS. */
export function smallOnnx(model: SmallModel): Uint8Array {
  const graph = graphBuilder('small-verifier');
  let state = 'features';
  for (const [at, layer] of smallLayers(model).entries()) {
    const { weight, bias } = constants(
      graph,
      layer,
      model.parameters[2 * at] as Float32Array,
      model.parameters[2 * at + 1] as Float32Array,
    );
    state = graph.node('Add', [graph.node('MatMul', [state, weight]), bias]);
    if (layer.name !== 'out') state = graph.node('Relu', [state]);
  }
  graph.node('LogSoftmax', [state], { axis: { int: -1 } }, 'log_probabilities');
  return graph.finish(
    [{ name: 'features', type: 'float32', shape: ['batch', model.inputs] }],
    [{ name: 'log_probabilities', type: 'float32', shape: ['batch', LABELS.length] }],
    GRAPH_VERSION,
  );
}

function constants(
  graph: GraphBuilder,
  { name, inputs, outputs }: { name: string; inputs: number; outputs: number },
  weight: Float32Array,
  bias: Float32Array,
): { weight: string; bias: string } {
  return { weight: graph.floats(`${name}.weight`, [inputs, outputs], weight), bias: graph.floats(`${name}.bias`, [outputs], bias) };
}

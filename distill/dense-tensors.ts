import type { DenseLayer } from '../src/core/dense-layers.js';
import type { Tensor, Tf } from './tensors.js';

/** The parameters of dense layers as tensors that outlive the surrounding tidy; whoever asked for them disposes them. */
export function denseTensors(tf: Tf, layers: readonly DenseLayer[], parameters: readonly Float32Array[]): Tensor[] {
  return layers.flatMap(({ inputs, outputs }, at) => [
    // A copy: a backend may take the array over as it is.
    tf.keep(tf.tensor2d(Float32Array.from(parameters[2 * at] as Float32Array), [inputs, outputs])),
    tf.keep(tf.tensor1d(Float32Array.from(parameters[2 * at + 1] as Float32Array))),
  ]);
}

/** As many zeros as the layers have parameters: an optimiser's first moments. */
export function zeroParameters(layers: readonly DenseLayer[]): Float32Array[] {
  return layers.flatMap(({ inputs, outputs }) => [new Float32Array(inputs * outputs), new Float32Array(outputs)]);
}

/** The values of tensors. */
export function readTensors(tensors: readonly Tensor[]): Float32Array[] {
  return tensors.map((tensor) => Float32Array.from(tensor.dataSync() as Float32Array));
}

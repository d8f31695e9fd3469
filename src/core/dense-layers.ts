import { InputError, shown } from './errors.js';
import type { Safetensors } from './safetensors.js';

/** One dense layer: `weight` is [inputs × outputs], `bias` [outputs]. */
export interface DenseLayer {
  /** `hidden.0`, `hidden.1`, …, and `out` for the last: its tensors' names begin so. */
  name: string;
  inputs: number;
  outputs: number;
}

/** The layers of a network in the order of computation. `widths`: its input's, its hidden layers', its output's. */
export function denseLayers(widths: readonly number[]): DenseLayer[] {
  return widths.slice(1).map((outputs, at) => ({
    name: at === widths.length - 2 ? 'out' : `hidden.${at}`,
    inputs: widths[at] as number,
    outputs,
  }));
}

/** Weights and biases of all layers. */
export function parametersOf(layers: readonly DenseLayer[]): number {
  return layers.reduce((sum, { inputs, outputs }) => sum + inputs * outputs + outputs, 0);
}

/**
 * Throws InputError where a file of weights does not have these layers' shapes, or where they have not as many parameters as the manifest
 * says: a manifest with a changed number would read another model than the one that was trained.
 */
export function checkDenseWeights(tensors: Safetensors, layers: readonly DenseLayer[], said: { parameters: number; file: string }): void {
  for (const { name, inputs, outputs } of layers) {
    for (const [tensor, wanted] of [
      [`${name}.weight`, [inputs, outputs]],
      [`${name}.bias`, [outputs]],
    ] as const) {
      const got = tensors.names.includes(tensor) ? tensors.shape(tensor) : null;
      if (shown(got) === shown(wanted)) continue;
      throw new InputError(
        `got ${got === null ? 'no such tensor' : `the shape ${shown(got)}`}, expected ${shown(wanted)} as in the manifest`,
        {
          file: said.file,
          field: tensor,
        },
      );
    }
  }
  const parameters = parametersOf(layers);
  if (said.parameters !== parameters)
    throw new InputError(`the manifest says ${said.parameters} parameters, expected ${parameters}, as many as these weights are`, {
      file: said.file,
    });
}

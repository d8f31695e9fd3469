import type { Tf } from './tensors.js';

type KernelArguments = Parameters<NonNullable<ReturnType<Tf['getKernel']>>['kernelFunc']>[0];

const REPLACED = Symbol.for('hopgate.wasm-matmul');

/**
 * Replaces the WASM backend's matrix product by one that transposes its operands first. The stock kernel has a fast path for operands as
 * they stand alone; a backward pass needs two transposed products for every layer, and those decide its speed.
 */
export function multiplyTransposedFirst(tf: Tf): void {
  const stock = tf.getKernel('BatchMatMul', 'wasm');
  const transpose = tf.getKernel('Transpose', 'wasm');
  if (!stock || !transpose || REPLACED in stock.kernelFunc) return;
  type Info = NonNullable<KernelArguments['inputs'][string]>;
  const kernelFunc = (given: KernelArguments): ReturnType<typeof stock.kernelFunc> => {
    const { backend } = given;
    const { transposeA, transposeB } = given.attrs as { transposeA: boolean; transposeB: boolean };
    const made: Info[] = [];
    const standing = (operand: Info, flip: boolean): Info => {
      if (!flip) return operand;
      const perm = operand.shape.map((_, axis) => axis);
      [perm[perm.length - 2], perm[perm.length - 1]] = [perm.length - 1, perm.length - 2];
      const flipped = transpose.kernelFunc({ inputs: { x: operand }, backend, attrs: { perm } }) as Info;
      made.push(flipped);
      return flipped;
    };
    const { a, b } = given.inputs as { a: Info; b: Info };
    const product = stock.kernelFunc({
      inputs: { a: standing(a, transposeA), b: standing(b, transposeB) },
      backend,
      attrs: { transposeA: false, transposeB: false },
    });
    for (const one of made) (backend as { disposeData(id: object): boolean }).disposeData(one.dataId);
    return product;
  };
  Object.defineProperty(kernelFunc, REPLACED, { value: true });
  tf.unregisterKernel('BatchMatMul', 'wasm');
  tf.registerKernel({ ...stock, kernelFunc });
}

import type * as TensorFlow from '@tensorflow/tfjs-core';

/** The operations of TensorFlow.js; all code that computes with tensors gets them as an argument. */
export type Tf = typeof TensorFlow;
export type Tensor = TensorFlow.Tensor;
export type Scalar = TensorFlow.Scalar;

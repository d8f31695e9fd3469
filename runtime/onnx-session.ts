import type * as OnnxRuntime from 'onnxruntime-node';
import { InputError } from '../src/core/errors.js';

/** A loaded ONNX model that maps one matrix of 32-bit floats to named arrays. It owns a native session until it is closed. */
export interface OnnxModel {
  /** `values` is row-major [rows × width]. */
  run(values: Float32Array, rows: number, width: number): Promise<{ [output: string]: Float32Array }>;
  close(): Promise<void>;
}

/**
 * Opens a model of one float input from its bytes. Throws InputError where the native library is missing or the bytes are no model. One
 * thread: these models take a tenth of a millisecond, less than waking another one.
 */
export async function openOnnxModel(bytes: Uint8Array, file: string): Promise<OnnxModel> {
  const { InferenceSession, Tensor } = await loadLibrary();
  let session: OnnxRuntime.InferenceSession;
  try {
    session = await InferenceSession.create(bytes, { intraOpNumThreads: 1, interOpNumThreads: 1 });
  } catch (error) {
    throw new InputError(`not a model that onnxruntime loads (${(error as Error).message})`, { file });
  }
  const input = session.inputNames[0] as string;
  return {
    run: async (values, rows, width) => {
      const outputs = await session.run({ [input]: new Tensor('float32', values, [rows, width]) });
      return Object.fromEntries(Object.entries(outputs).map(([name, tensor]) => [name, tensor.data as Float32Array]));
    },
    close: () => session.release(),
  };
}

async function loadLibrary(): Promise<typeof OnnxRuntime> {
  try {
    return await import('onnxruntime-node');
  } catch (error) {
    const first = (error as Error).message.split('\n')[0] as string;
    throw new InputError(
      `drafters and small verifiers need onnxruntime-node, which cannot be loaded on ${process.platform} ${process.arch} (${first}): ` +
        'install again with "npm install --ignore-scripts hopgate" and without --omit=optional',
    );
  }
}

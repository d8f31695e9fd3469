import { readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type * as OnnxRuntime from 'onnxruntime-node';
import { InputError } from '../../src/core/errors.js';

/** A loaded ONNX model that maps one matrix of 32-bit floats to named arrays. It owns a native session until it is closed. */
export interface OnnxModel {
  readonly inputs: readonly OnnxPort[];
  readonly outputs: readonly OnnxPort[];
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
    throw noModel(error, file);
  }
  const input = session.inputNames[0] as string;
  return {
    inputs: session.inputMetadata.map(portOf),
    outputs: session.outputMetadata.map(portOf),
    run: async (values, rows, width) => {
      const outputs = await session.run({ [input]: new Tensor('float32', values, [rows, width]) });
      return Object.fromEntries(Object.entries(outputs).map(([name, tensor]) => [name, tensor.data as Float32Array]));
    },
    close: () => session.release(),
  };
}

export const PROVIDERS = ['auto', 'cpu', 'cuda'] as const;
/** Where a graph runs; `auto` is CUDA where onnxruntime finds it, else the CPU. */
export type ProviderChoice = (typeof PROVIDERS)[number];

/** An input or output as the graph declares it; a dimension is a size or the name of one that is free. */
export interface OnnxPort {
  name: string;
  /** ONNX element type as onnxruntime names it; `not a tensor` for the rest. */
  type: string;
  shape: readonly (number | string)[];
}

export type OnnxTensor =
  { type: 'float32'; data: Float32Array; shape: readonly number[] } | { type: 'int64'; data: BigInt64Array; shape: readonly number[] };

/** A loaded ONNX graph of any inputs and outputs. It owns a native session until it is closed. */
export interface OnnxGraph {
  readonly inputs: readonly OnnxPort[];
  readonly outputs: readonly OnnxPort[];
  readonly provider: { ran: 'cpu' | 'cuda'; why: string };
  run(inputs: { readonly [name: string]: OnnxTensor }): Promise<{ [name: string]: OnnxTensor }>;
  close(): Promise<void>;
}

export interface GraphOptions {
  /** Default `auto`. */
  provider?: ProviderChoice | undefined;
  /** Threads inside one operator on the CPU. Default: one for each core. */
  threads?: number | undefined;
}

/** Opens a graph from its file; weights outside it are looked for beside it. Throws InputError where it is none, or where `cuda` was asked for in vain. */
export async function openOnnxGraph(file: string, options: GraphOptions = {}): Promise<OnnxGraph> {
  const { Tensor } = await loadLibrary();
  const { session, provider } = await openSession(file, options);
  return {
    inputs: session.inputMetadata.map(portOf),
    outputs: session.outputMetadata.map(portOf),
    provider,
    run: async (inputs) => {
      const feeds = Object.fromEntries(
        Object.entries(inputs).map(([name, { type, data, shape }]) => [
          name,
          type === 'float32' ? new Tensor(type, data, shape) : new Tensor(type, data, shape),
        ]),
      );
      const outputs = await session.run(feeds);
      return Object.fromEntries(
        Object.entries(outputs).map(([name, { type, data, dims }]) => [name, { type, data, shape: dims } as OnnxTensor]),
      );
    },
    close: () => session.release(),
  };
}

/**
 * Throws InputError where a graph has no such input or output of 32-bit floats, or one of another shape; null stands for a dimension that is
 * free. What a manifest says of a graph is compared with the graph itself before anything is read by it.
 */
export function checkPorts(
  ports: readonly OnnxPort[],
  expected: { readonly [name: string]: readonly (number | null)[] },
  file: string,
): void {
  for (const [name, shape] of Object.entries(expected)) {
    const port = ports.find((one) => one.name === name);
    if (
      port?.type === 'float32' &&
      port.shape.length === shape.length &&
      shape.every((size, at) => size === null || size === port.shape[at])
    )
      continue;
    const got = port === undefined ? `only ${ports.map((one) => one.name).join(', ')}` : `${port.type} ${shapeText(port.shape)}`;
    throw new InputError(`got ${got}, expected float32 ${shapeText(shape)} as in the manifest`, { file, field: name });
  }
}

function shapeText(shape: readonly (number | string | null)[]): string {
  return `[${shape.map((size) => size ?? 'batch').join(' × ')}]`;
}

async function openSession(
  file: string,
  { provider = 'auto', threads = 0 }: GraphOptions,
): Promise<{ session: OnnxRuntime.InferenceSession; provider: OnnxGraph['provider'] }> {
  const { InferenceSession } = await loadLibrary();
  const open = (executionProviders: string[]): Promise<OnnxRuntime.InferenceSession> =>
    InferenceSession.create(file, { executionProviders, intraOpNumThreads: threads, logSeverityLevel: 4 });
  let why = 'asked for';
  if (provider !== 'cpu') {
    try {
      if (hasCudaLibrary())
        return { session: await open(['cuda', 'cpu']), provider: { ran: 'cuda', why: provider === 'cuda' ? why : 'found' } };
      why = `onnxruntime-node has no CUDA library here (${process.platform} ${process.arch})`;
    } catch (error) {
      why = `CUDA cannot be used: ${(error as Error).message.split('\n')[0]}`;
    }
    if (provider === 'cuda') throw new InputError(`--provider: got "cuda", but ${why}; --provider cpu runs without it`);
  }
  try {
    return { session: await open(['cpu']), provider: { ran: 'cpu', why } };
  } catch (error) {
    throw noModel(error, file);
  }
}

/** Whether the provider's library lies beside onnxruntime's own. Asked first, since a failed attempt prints to stderr on its own. */
function hasCudaLibrary(): boolean {
  const bin = join(dirname(createRequire(import.meta.url).resolve('onnxruntime-node')), '..', 'bin');
  try {
    return readdirSync(bin, { recursive: true }).some((name) => /onnxruntime_providers_cuda\.(so|dll)$/.test(String(name)));
  } catch {
    return false;
  }
}

function portOf(value: OnnxRuntime.InferenceSession.ValueMetadata): OnnxPort {
  return value.isTensor
    ? { name: value.name, type: value.type, shape: value.shape }
    : { name: value.name, type: 'not a tensor', shape: [] };
}

function noModel(error: unknown, file: string): InputError {
  return new InputError(`not a model that onnxruntime loads (${(error as Error).message})`, { file });
}

async function loadLibrary(): Promise<typeof OnnxRuntime> {
  try {
    return await import('onnxruntime-node');
  } catch (error) {
    const first = (error as Error).message.split('\n')[0] as string;
    throw new InputError(
      `drafters and verifiers need onnxruntime-node, which cannot be loaded on ${process.platform} ${process.arch} (${first}): ` +
        'install again with "npm install --ignore-scripts hopgate" and without --omit=optional',
    );
  }
}

import { InputError, shown } from '../../src/core/errors.js';
import type { VerifierArchitecture } from '../../src/core/verifier-export.js';
import { type VerifierPort, cacheName, verifierPorts } from '../../src/core/verifier-ports.js';
import { type GraphOptions, type OnnxGraph, type OnnxPort, type OnnxTensor, openOnnxGraph } from '../models/onnx-session.js';

/** Keys and values of some tokens, layer by layer: row-major [batch × kv heads × tokens × head dimension] each. */
export interface KeysAndValues {
  batch: number;
  tokens: number;
  layers: readonly { key: Float32Array; value: Float32Array }[];
}

/** One forward pass. Arrays are row-major. */
export interface VerifierPass {
  batch: number;
  /** Tokens of each row of the batch, padding included. */
  tokens: number;
  /** Token ids [batch × tokens]. */
  ids: ArrayLike<number>;
  /** Positions [batch × tokens] for the rotary embedding. */
  positions: ArrayLike<number>;
  /** Added to the attention scores, [batch × tokens × (past + tokens)]: 0 where a token may attend, `MAY_NOT_ATTEND` where not. */
  bias: Float32Array;
  /** Keys and values that stand before the tokens; null for none. */
  past: KeysAndValues | null;
  /** Where log-probabilities are read: flat places `row × tokens + token`. */
  scorePositions: readonly number[];
  /** Vocabulary ids whose log-probability is wanted at each of these. */
  candidates: readonly number[];
}

export interface VerifierOutput {
  /** [scorePositions × candidates]: log-softmax over the whole vocabulary. */
  logprobs: Float32Array;
  /** Of the past and the new tokens together. */
  present: KeysAndValues;
}

/** An exported verifier. It owns a native session until it is closed. */
export interface VerifierGraph {
  readonly architecture: VerifierArchitecture;
  /** What ran it, and why. */
  readonly provider: OnnxGraph['provider'];
  run(pass: VerifierPass): Promise<VerifierOutput>;
  close(): Promise<void>;
}

/** Large enough that softmax gives exactly 0 in 32-bit floats, and finite also in 16-bit ones after clipping. */
export const MAY_NOT_ATTEND = -1e9;

/**
 * Opens an exported verifier's graph and checks its inputs and outputs by name, type and shape. Throws InputError for the first difference;
 * an output as wide as the vocabulary is one: full logits of a long prompt take gigabytes.
 */
export async function openVerifierGraph(
  file: string,
  { architecture, ...options }: GraphOptions & { architecture: VerifierArchitecture },
): Promise<VerifierGraph> {
  const graph = await openOnnxGraph(file, options);
  try {
    const { inputs, outputs } = verifierPorts(architecture);
    checkPorts('input', graph.inputs, inputs, file);
    checkPorts('output', graph.outputs, outputs, file);
  } catch (error) {
    await graph.close();
    throw error;
  }
  return { architecture, provider: graph.provider, run: (pass) => run(graph, architecture, pass), close: () => graph.close() };
}

async function run(graph: OnnxGraph, architecture: VerifierArchitecture, pass: VerifierPass): Promise<VerifierOutput> {
  const { batch, tokens, past } = pass;
  const before = past?.tokens ?? 0;
  const inputs: { [name: string]: OnnxTensor } = {
    input_ids: integers(pass.ids, [batch, tokens]),
    position_ids: integers(pass.positions, [batch, tokens]),
    attention_bias: { type: 'float32', data: pass.bias, shape: [batch, 1, tokens, before + tokens] },
    score_positions: integers(pass.scorePositions, [pass.scorePositions.length]),
    candidate_ids: integers(pass.candidates, [pass.candidates.length]),
  };
  const shape = [batch, architecture.kv_heads, before, architecture.head_dim];
  for (let layer = 0; layer < architecture.layers; layer++) {
    const own = past?.layers[layer];
    inputs[cacheName('past_key_values', layer, 'key')] = { type: 'float32', data: own?.key ?? new Float32Array(0), shape };
    inputs[cacheName('past_key_values', layer, 'value')] = { type: 'float32', data: own?.value ?? new Float32Array(0), shape };
  }
  const outputs = await graph.run(inputs);
  const floats = (name: string): Float32Array => (outputs[name] as OnnxTensor).data as Float32Array;
  return {
    logprobs: floats('logprobs'),
    present: {
      batch,
      tokens: before + tokens,
      layers: Array.from({ length: architecture.layers }, (_, layer) => ({
        key: floats(cacheName('present', layer, 'key')),
        value: floats(cacheName('present', layer, 'value')),
      })),
    },
  };
}

function integers(values: ArrayLike<number>, shape: readonly number[]): OnnxTensor {
  const data = new BigInt64Array(values.length);
  for (let at = 0; at < values.length; at++) data[at] = BigInt(values[at] as number);
  return { type: 'int64', data, shape };
}

function checkPorts(side: 'input' | 'output', got: readonly OnnxPort[], expected: readonly VerifierPort[], file: string): void {
  const known = new Set(expected.map(({ name }) => name));
  const extra = got.find(({ name }) => !known.has(name));
  if (extra) throw new InputError(`has an ${side} ${shown(extra.name)} that a verifier has not`, { file });
  for (const { name, type, shape } of expected) {
    const port = got.find((one) => one.name === name);
    if (!port) throw new InputError(`has no ${side} ${shown(name)}, which a verifier needs`, { file });
    if (port.type !== type) throw new InputError(`${side} ${shown(name)}: got ${port.type}, expected ${type}`, { file });
    // A free size of the graph may turn out to be any: what comes out is what was asked for.
    const fits =
      port.shape.length === shape.length && shape.every((size, at) => typeof size === 'string' || fitsSize(port.shape[at], size));
    // A fixed width of the scores is the vocabulary's: as many candidates as are asked for have no fixed number.
    const wide = name === 'logprobs' && typeof port.shape[1] === 'number' && port.shape[1] > 0;
    if (fits && !wide) continue;
    const wanted = wide
      ? '[rows × candidates], only those that are asked for'
      : `[${shape.map((size) => (typeof size === 'string' ? 'any' : size)).join(' × ')}]`;
    throw new InputError(`${side} ${shown(name)}: got [${port.shape.join(' × ')}], expected ${wanted}`, { file });
  }
}

/** onnxruntime names a free size by its symbol, or gives −1 where it has none. */
function fitsSize(got: number | string | undefined, wanted: number): boolean {
  return typeof got === 'string' || got === wanted || (typeof got === 'number' && got < 0);
}

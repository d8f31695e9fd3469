import { createReadStream } from 'node:fs';
import { dirname, join } from 'node:path';
import { InputError } from '../src/core/errors.js';
import type { DeclaredGraph, DeclaredTensor } from '../src/core/onnx-graph.js';
import { type Random, random } from '../src/core/random.js';
import type { VerifierExport } from '../src/core/verifier-export.js';

/**
 * Checks that a model whose output head is its token embedding has one matrix for both, or two of equal values: an adapter merged into one
 * copy alone leaves a model that nobody trained (peft has done so). Quantised matrices cannot be compared and are left to the parity gate.
 */
export async function checkTiedEmbeddings(file: string, graph: DeclaredGraph, made: VerifierExport): Promise<void> {
  if (!made.tied_embeddings) return;
  const [first, ...others] = graph.tensors.filter((one) => one.type in WIDTHS && orientation(one, made) !== undefined);
  if (first === undefined || others.length === 0) return;
  const expected = await projected(file, first, made);
  for (const other of others) {
    const got = await projected(file, other, made);
    const at = expected.findIndex((value, token) => value !== got[token]);
    if (at !== -1)
      throw new InputError(
        `the export says that token embedding and output head are one matrix, but ${first.name} and ${other.name} differ for token ${at}`,
        { file },
      );
  }
}

const WIDTHS: { readonly [type: string]: number } = { float: 4, float16: 2 };

/** Whether a matrix is one row a token or one column a token; undefined for a matrix of another size. */
function orientation({ shape }: DeclaredTensor, made: VerifierExport): 'rows' | 'columns' | undefined {
  const { vocab_size: tokens, architecture } = made;
  const [rows, columns] = shape;
  if (shape.length !== 2) return undefined;
  // A model's matrix may be padded beyond its tokenizer's tokens.
  if (columns === architecture.hidden && (rows as number) >= tokens) return 'rows';
  if (rows === architecture.hidden && (columns as number) >= tokens) return 'columns';
  return undefined;
}

/**
 * Each token's vector times one random vector. Summed in the same order whichever way the matrix lies, so equal matrices give equal numbers,
 * and different ones do not; and neither matrix, gigabytes in a large model, is ever held whole.
 */
async function projected(file: string, tensor: DeclaredTensor, made: VerifierExport): Promise<Float64Array> {
  const { hidden } = made.architecture;
  const byRows = orientation(tensor, made) === 'rows';
  const [rows, columns] = tensor.shape as [number, number];
  const weights = weightsOf(random(0, 'tied embeddings'), hidden);
  const sums = new Float64Array(byRows ? rows : columns);
  const width = WIDTHS[tensor.type] as number;
  let at = 0;
  let [token, dimension] = [0, 0];
  for await (const values of valuesOf(file, tensor, width)) {
    for (const value of values) {
      if (byRows) [token, dimension] = [Math.floor(at / columns), at % columns];
      else [dimension, token] = [Math.floor(at / columns), at % columns];
      sums[token] = (sums[token] as number) + value * (weights[dimension] as number);
      at++;
    }
  }
  return sums;
}

function weightsOf(draws: Random, count: number): Float64Array {
  return Float64Array.from({ length: count }, () => draws.float() + 0.5);
}

/** A matrix's elements in pieces; half-precision ones as their bit patterns, which are equal where the numbers are (but for ±0). */
async function* valuesOf(
  file: string,
  { external, raw, bytes }: DeclaredTensor,
  width: number,
): AsyncGenerator<Float32Array | Uint16Array> {
  const pieces =
    external === null
      ? [raw ?? new Uint8Array()]
      : (createReadStream(join(dirname(file), external.location), {
          start: external.offset,
          end: external.offset + (bytes as number) - 1,
          highWaterMark: 1 << 20,
        }) as AsyncIterable<Buffer>);
  let rest = new Uint8Array();
  for await (const piece of pieces) {
    const joined = rest.length === 0 ? piece : Buffer.concat([rest, piece]);
    const whole = joined.length - (joined.length % width);
    // A copy, because a typed array has to begin at a multiple of its elements' width.
    const aligned = Uint8Array.from(joined.subarray(0, whole)).buffer;
    yield width === 4 ? new Float32Array(aligned) : new Uint16Array(aligned);
    rest = Uint8Array.from(joined.subarray(whole));
  }
}

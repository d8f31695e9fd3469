import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { InputError, shown } from './errors.js';

/** The tensors of one safetensors file. */
export interface Safetensors {
  readonly names: readonly string[];
  /** Free texts by name; empty where the file has none. */
  readonly metadata: { readonly [name: string]: string };
  shape(name: string): readonly number[];
  /** The values in row-major order, F16 and F32 only, as 32-bit floats (exact for both). Throws InputError where there is no such tensor. */
  floats(name: string): Float32Array;
}

const ELEMENT_BYTES = { BOOL: 1, U8: 1, I8: 1, I16: 2, U16: 2, F16: 2, BF16: 2, I32: 4, U32: 4, F32: 4, F64: 8, I64: 8, U64: 8 } as const;

const headerSchema = z.record(
  z.string(),
  z.strictObject({
    dtype: z.enum(Object.keys(ELEMENT_BYTES) as [keyof typeof ELEMENT_BYTES]),
    shape: z.array(z.int().nonnegative()),
    data_offsets: z.tuple([z.int().nonnegative(), z.int().nonnegative()]),
  }),
);
type Header = z.infer<typeof headerSchema>;

/**
 * Reads a safetensors file: 8 bytes little-endian header length, a JSON header, then the tensors' bytes without holes. Throws InputError
 * that names the file and the header's field where the file is damaged.
 */
export async function readSafetensors(file: string): Promise<Safetensors> {
  try {
    return parseSafetensors(await readFile(file), file);
  } catch (error) {
    if (error instanceof InputError) throw error;
    throw new InputError('no such file', { file });
  }
}

/** The same for bytes at hand; `file` names them in messages. */
export function parseSafetensors(bytes: Buffer, file: string): Safetensors {
  const { header, start, metadata } = readHeader(file, bytes);
  checkLayout(file, header, bytes.length - start);
  const entry = (name: string): Header[string] => {
    const one = header[name];
    if (one === undefined) throw new InputError(`no tensor ${JSON.stringify(name)}`, { file });
    return one;
  };
  return {
    names: Object.keys(header).toSorted(),
    metadata,
    shape: (name) => entry(name).shape,
    floats: (name) => {
      const { dtype, data_offsets: offsets } = entry(name);
      const part = bytes.subarray(start + offsets[0], start + offsets[1]);
      if (dtype === 'F32') return float32(part);
      if (dtype === 'F16') return float16(part);
      throw new InputError(`got ${dtype}, expected F16 or F32`, { file, field: name });
    },
  };
}

/** A tensor to write; `values` are row-major. */
export interface NamedTensor {
  name: string;
  shape: readonly number[];
  values: Float32Array;
}

/** The bytes of a safetensors file of 32-bit floats. The same tensors in the same order give the same bytes. */
export function safetensorsBytes(tensors: readonly NamedTensor[], metadata: { readonly [name: string]: string } = {}): Buffer {
  const header: { [name: string]: unknown } = Object.keys(metadata).length === 0 ? {} : { __metadata__: metadata };
  let at = 0;
  for (const { name, shape, values } of tensors) {
    header[name] = { dtype: 'F32', shape, data_offsets: [at, at + values.length * 4] };
    at += values.length * 4;
  }
  // Spaces bring the tensors to a multiple of eight bytes, as the format's own writer does.
  const text = JSON.stringify(header);
  const json = Buffer.from(text + ' '.repeat((8 - (Buffer.byteLength(text) % 8)) % 8));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(json.length));
  // Platforms that Node runs on store numbers little-endian, as the format wants them.
  return Buffer.concat([length, json, ...tensors.map(({ values }) => new Uint8Array(values.buffer, values.byteOffset, values.byteLength))]);
}

function readHeader(file: string, bytes: Buffer): { header: Header; start: number; metadata: { [name: string]: string } } {
  if (bytes.length < 8) throw new InputError(`got ${bytes.length} bytes, expected a safetensors file of at least 8`, { file });
  const length = bytes.readBigUInt64LE(0);
  if (length > BigInt(bytes.length - 8)) {
    throw new InputError(`the header is said to have ${length} bytes, the file has ${bytes.length - 8} after that number`, { file });
  }
  const start = 8 + Number(length);
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString('utf8', 8, start));
  } catch (error) {
    throw new InputError(`the header is not JSON (${(error as Error).message})`, { file });
  }
  let free: unknown = {};
  if (value !== null && typeof value === 'object' && '__metadata__' in value) {
    free = value.__metadata__;
    delete value.__metadata__;
  }
  const parsed = headerSchema.safeParse(value);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    const path = issue?.path.map(String) ?? [];
    throw new InputError(`header: ${issue?.message ?? 'invalid'}`, path.length === 0 ? { file } : { file, field: path.join('.') });
  }
  const metadata = z.record(z.string(), z.string()).safeParse(free);
  if (!metadata.success) throw new InputError(`got ${shown(free)}, expected texts by name`, { file, field: '__metadata__' });
  return { header: parsed.data, start, metadata: metadata.data };
}

function checkLayout(file: string, header: Header, available: number): void {
  let at = 0;
  for (const [name, { dtype, shape, data_offsets: offsets }] of Object.entries(header).toSorted(
    ([, a], [, b]) => a.data_offsets[0] - b.data_offsets[0] || a.data_offsets[1] - b.data_offsets[1],
  )) {
    const wanted = shape.reduce((product, size) => product * size, ELEMENT_BYTES[dtype]);
    const place = { file, field: `${name}.data_offsets` };
    if (offsets[1] - offsets[0] !== wanted) {
      throw new InputError(`got ${shown(offsets)}, expected ${wanted} bytes for ${dtype} of shape ${shown(shape)}`, place);
    }
    if (offsets[0] !== at)
      throw new InputError(`got ${shown(offsets)}, expected to start at ${at}, where the tensor before it ends`, place);
    at = offsets[1];
  }
  if (at !== available) throw new InputError(`the tensors take ${at} bytes, the file has ${available} after its header`, { file });
}

function float32(part: Buffer): Float32Array {
  const values = new Float32Array(part.length / 4);
  for (let i = 0; i < values.length; i++) values[i] = part.readFloatLE(i * 4);
  return values;
}

function float16(part: Buffer): Float32Array {
  const table = halfTable();
  const values = new Float32Array(part.length / 2);
  for (let i = 0; i < values.length; i++) values[i] = table[(part[2 * i] as number) | ((part[2 * i + 1] as number) << 8)] as number;
  return values;
}

/** The value of each of the 65,536 IEEE 754 half-precision patterns. */
function halfTable(): Float32Array {
  return Float32Array.from({ length: 65_536 }, (_, bits) => {
    const sign = bits & 0x8000 ? -1 : 1;
    const exponent = (bits >> 10) & 0x1f;
    const fraction = bits & 0x3ff;
    if (exponent === 0) return sign * fraction * 2 ** -24;
    if (exponent === 31) return fraction === 0 ? sign * Infinity : NaN;
    return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
  });
}

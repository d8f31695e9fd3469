import { z } from 'zod';
import { fileName, pinFields } from '../../src/core/pinned-files.js';
import { packageFile } from '../../src/core/product.js';
import { readRegistry } from '../../src/core/registry-file.js';
import { POOLINGS } from './pooling.js';

/** Encoders that have a name (architecture.md §5); what is known of each stands in `models/encoders.json`. */
export const ENCODER_NAMES = ['e5-base-v2', 'e5-large-v2', 'bge-base', 'bge-large', 'gte-base'] as const;
export type EncoderName = (typeof ENCODER_NAMES)[number];

const entry = z.strictObject({
  /** Where the model is published. */
  repository: z.url({ protocol: /^https?$/ }),
  /** A file's address is this plus its name; `{revision}` is filled in. */
  address: z.string().regex(/^https?:\/\/.*\{revision\}.*\/$/, 'expected an http(s) address with {revision} that ends in "/"'),
  /** Asked for until a first answer names its commit. */
  branch: z.string(),
  /** A commit that this project has fetched itself, else null. */
  revision: z.string().nullable(),
  licence: z.string(),
  query_prefix: z.string(),
  passage_prefix: z.string(),
  pooling: z.enum(POOLINGS),
  /** The documentation that all of this was taken from. */
  source: z.array(z.string()).min(1),
  files: z.array(z.strictObject({ name: fileName, ...pinFields })).min(1),
});
const registry = z.strictObject({ encoders: z.record(z.enum(ENCODER_NAMES), entry) });

/**
 * What a published encoder needs besides its files, and where these are. E5 has `query: ` on both sides (method.md §5: symmetric similarity,
 * as its authors advise); BGE and GTE compare alike texts without any prefix.
 */
export type KnownEncoder = z.infer<typeof entry>;

let shipped: { [name in EncoderName]: KnownEncoder } | undefined;

/** The shipped registry's entry of a name; undefined for a name that it does not have. Read on first use. */
export function knownEncoder(name: string): KnownEncoder | undefined {
  if (!isEncoderName(name)) return undefined;
  shipped ??= readEncoderRegistry();
  return shipped[name];
}

export function isEncoderName(name: string): name is EncoderName {
  return (ENCODER_NAMES as readonly string[]).includes(name);
}

/** Reads a registry, by default the shipped one (another one names a mirror). Throws InputError that names the field. */
export function readEncoderRegistry(file: string = packageFile('models/encoders.json')): { [name in EncoderName]: KnownEncoder } {
  return readRegistry(file, registry).encoders;
}

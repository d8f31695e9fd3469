import { type EncoderIdentity, type Role, embeddingColumns, embeddingKey, encoderIdentity } from '../../src/core/embeddings.js';
import { InputError, shown } from '../../src/core/errors.js';
import { type Manifest, readManifest } from '../../src/core/manifest.js';
import { readTable } from '../../src/core/tables.js';

/** The embeddings of one folder, looked up by role and text. */
export interface Vectors {
  readonly identity: EncoderIdentity;
  readonly size: number;
  /** The whole manifest; `details` says which claims and texts were embedded. */
  readonly manifest: Manifest;
  has(role: Role, text: string): boolean;
  /** A unit-length vector, shared: not to be changed. Throws InputError that names the missing text and the command that makes it. */
  get(role: Role, text: string): Float32Array;
}

/** Vectors stand together in blocks of this many, not one by one: a JavaScript buffer each would cost more than they do. */
const BLOCK_ROWS = 4096;

/** Opens a finished folder of kind `embeddings`. Throws InputError where it is none, or damaged. */
export async function openVectors(folder: string): Promise<Vectors> {
  const manifest = await readManifest(folder, 'embeddings');
  const parsed = encoderIdentity.safeParse(manifest.details.encoder);
  if (!parsed.success) throw new InputError("the manifest does not say the encoder's identity", { file: folder, field: 'details.encoder' });
  const identity = parsed.data;
  const width = identity.dimensions;
  const vectors = new Map<string, Float32Array>();
  let block = new Float32Array(0);
  let used = 0;
  for await (const { key, vector } of readTable(folder, manifest, 'embeddings', embeddingColumns)) {
    if (vector.length !== width) {
      throw new InputError(`got ${vector.length} numbers, expected ${width} as the encoder's identity says`, {
        file: folder,
        row: vectors.size,
      });
    }
    if (used === block.length) {
      block = new Float32Array(BLOCK_ROWS * width);
      used = 0;
    }
    block.set(vector, used);
    vectors.set(key, block.subarray(used, used + width));
    used += width;
  }
  return {
    identity,
    size: vectors.size,
    manifest,
    has: (role, text) => vectors.has(embeddingKey(role, text)),
    get: (role, text) => {
      const found = vectors.get(embeddingKey(role, text));
      if (found !== undefined) return found;
      throw new InputError(
        `no vector of the ${role} ${shown(text)}: embed it with "hopgate embed RUN --encoder ${identity.name}" and the --claims, --claim-text and --evidence-text that are used here`,
        { file: folder },
      );
    },
  };
}

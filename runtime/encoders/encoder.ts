import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { EncoderIdentity, Role } from '../../src/core/embeddings.js';
import { InputError } from '../../src/core/errors.js';
import { cacheFolder, modelFolder } from '../../src/core/homes.js';
import type { OnProgress } from '../../src/core/progress.js';
import { planBatches } from './batches.js';
import { ENCODER_NAMES, knownEncoder } from './known-encoders.js';
import { minilmFolder } from './minilm.js';
import { describeFolder, folderName } from '../models/model-folder.js';
import { type Pooling, pooled } from './pooling.js';
import { checkPulled } from '../models/pulled-models.js';
import { type Dtype, type TokenBatch, type TokenModel, openTokenModel } from './transformers-model.js';

export interface EncodeOptions {
  /** Stops between batches by throwing the signal's reason. */
  signal?: AbortSignal | undefined;
  /** Texts done and their number. */
  onProgress?: OnProgress | undefined;
}

/** Texts to unit-length vectors of 32-bit floats, in the order of the texts. It owns a native session until it is closed. */
export interface Encoder {
  readonly identity: EncoderIdentity;
  /**
   * The role decides the prefix, so there is no default for it. A text's vector does not depend on the texts beside it. Tokens beyond
   * `identity.max_tokens` are cut off before the last special token.
   */
  encode(texts: readonly string[], role: Role, options?: EncodeOptions): Promise<Float32Array[]>;
  /** Tokens of a text with its prefix and the special tokens, before anything is cut off. */
  tokenCount(text: string, role: Role): number;
  close(): Promise<void>;
}

export interface EncoderOptions {
  /** Where known encoders are looked for. Default: core's `modelFolder`, as of the command line. */
  modelDir?: string | undefined;
  /** Where the built-in encoder is converted to. Default: core's `cacheFolder`. */
  cacheDir?: string | undefined;
  /** Default: what is known of the name, else what the folder says. */
  queryPrefix?: string | undefined;
  passagePrefix?: string | undefined;
  pooling?: Pooling | undefined;
  /** Default fp32; another one is never taken by itself. */
  dtype?: Dtype | undefined;
}

export const BUILT_IN_ENCODER = 'minilm';

/**
 * Opens `minilm` (built in), a known encoder (its folder in the model folder), or any folder with a BERT-family ONNX sentence encoder. Nothing is
 * downloaded. Throws InputError that says where was looked, or which option is missing.
 */
export async function openEncoder(nameOrFolder: string, options: EncoderOptions = {}): Promise<Encoder> {
  const dtype = options.dtype ?? 'fp32';
  const wishes = { dtype, queryPrefix: options.queryPrefix, passagePrefix: options.passagePrefix, pooling: options.pooling };
  if (nameOrFolder === BUILT_IN_ENCODER) {
    const { folder, sourceSha256, converter } = await minilmFolder(cacheFolder(options.cacheDir));
    return openFolder(folder, wishes, { name: BUILT_IN_ENCODER, model_sha256: sourceSha256, converter });
  }
  const known = knownEncoder(nameOrFolder);
  if (known === undefined) {
    if (!(await isFolder(nameOrFolder))) {
      throw new InputError(
        `no encoder ${JSON.stringify(nameOrFolder)}: expected ${[BUILT_IN_ENCODER, ...ENCODER_NAMES].join(', ')}, or a folder with an ONNX sentence encoder`,
      );
    }
    return openFolder(nameOrFolder, wishes, { name: folderName(nameOrFolder), converter: null });
  }
  const folder = join(modelFolder(options.modelDir), nameOrFolder);
  if (!(await isFolder(folder))) {
    throw new InputError(
      `encoder ${nameOrFolder}: no folder ${folder}; nothing is downloaded by itself: hopgate models pull ${nameOrFolder} fetches it, or put the files of ${known.repository} there, or name another --model-dir`,
    );
  }
  await checkPulled(nameOrFolder, folder, known);
  return openFolder(
    folder,
    {
      dtype,
      queryPrefix: wishes.queryPrefix ?? known.query_prefix,
      passagePrefix: wishes.passagePrefix ?? known.passage_prefix,
      pooling: wishes.pooling ?? known.pooling,
    },
    { name: nameOrFolder, converter: null },
  );
}

async function openFolder(
  folder: string,
  wishes: Parameters<typeof describeFolder>[1],
  origin: { name: string; converter: string | null; model_sha256?: string },
): Promise<Encoder> {
  const described = await describeFolder(folder, wishes);
  const model = await openTokenModel(described.file);
  const { pooling, maxTokens } = described;
  // The width of the graph's output, not what config.json says of it.
  const [probe] = await encodeTexts(model, ['a'], { prefix: '', pooling, maxTokens, alone: true });
  const identity: EncoderIdentity = {
    name: origin.name,
    model_sha256: origin.model_sha256 ?? described.modelSha256,
    tokenizer_sha256: described.tokenizerSha256,
    converter: origin.converter,
    query_prefix: described.queryPrefix,
    passage_prefix: described.passagePrefix,
    pooling,
    dtype: wishes.dtype,
    max_tokens: maxTokens,
    dimensions: (probe as Float32Array).length,
  };
  const prefix = (role: Role): string => (role === 'query' ? identity.query_prefix : identity.passage_prefix);
  return {
    identity,
    tokenCount: (text, role) => model.tokens(prefix(role) + text).length,
    encode: (texts, role, options) =>
      encodeTexts(model, texts, {
        prefix: prefix(role),
        pooling,
        maxTokens,
        alone: wishes.dtype === 'int8',
        ...options,
      }),
    close: () => model.close(),
  };
}

async function encodeTexts(
  model: TokenModel,
  texts: readonly string[],
  options: EncodeOptions & { prefix: string; pooling: Pooling; maxTokens: number; alone: boolean },
): Promise<Float32Array[]> {
  const tokens = texts.map((text) => truncated(model.tokens(options.prefix + text), options.maxTokens));
  const vectors = Array.from<Float32Array>({ length: texts.length });
  let done = 0;
  for (const { length, members } of planBatches(
    tokens.map((one) => one.length),
    options.alone,
  )) {
    options.signal?.throwIfAborted();
    const { values, width } = await model.hidden(
      padded(
        members.map((at) => tokens[at] as number[]),
        length,
        model.padId,
      ),
    );
    for (const [row, at] of members.entries()) {
      const states = values.subarray(row * length * width, (row + 1) * length * width);
      vectors[at] = pooled(states, (tokens[at] as number[]).length, width, options.pooling);
    }
    done += members.length;
    options.onProgress?.(done, texts.length);
  }
  return vectors;
}

/** Like the tokenizers of the models' authors: the last special token is kept (transformers.js cuts it off). */
function truncated(ids: number[], maxTokens: number): number[] {
  return ids.length <= maxTokens ? ids : [...ids.slice(0, maxTokens - 1), ids.at(-1) as number];
}

function padded(rows: readonly (readonly number[])[], length: number, padId: number): TokenBatch {
  const ids = new BigInt64Array(rows.length * length).fill(BigInt(padId));
  const mask = new BigInt64Array(rows.length * length);
  for (const [row, tokens] of rows.entries()) {
    for (const [at, id] of tokens.entries()) {
      ids[row * length + at] = BigInt(id);
      mask[row * length + at] = 1n;
    }
  }
  return { rows: rows.length, length, ids, mask };
}

async function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (entry) => entry.isDirectory(),
    () => false,
  );
}

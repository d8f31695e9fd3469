import type * as Transformers from '@huggingface/transformers';
import { join, resolve } from 'node:path';
import { InputError } from '../../src/core/errors.js';
import { textRepair } from './bert-text.js';

/** The numeric type of the weights in the ONNX file; never chosen silently. */
export const DTYPES = ['fp32', 'fp16', 'int8'] as const;
export type Dtype = (typeof DTYPES)[number];

export interface ModelFile {
  /** Folder with config.json, tokenizer.json and tokenizer_config.json. */
  folder: string;
  /** Folder of the ONNX file inside `folder`: `onnx` or ''. */
  subfolder: string;
  /** The ONNX file's name without `.onnx` and without the dtype's suffix: `model`. */
  name: string;
  /** transformers.js' name of the dtype, which decides the suffix of the file. */
  dtype: 'fp32' | 'fp16' | 'int8' | 'q8';
  /** Whether weights stand in a file of their own beside the graph (`model.onnx_data`). */
  externalData: boolean;
}

/** One padded batch, row-major [rows × length]. */
export interface TokenBatch {
  rows: number;
  length: number;
  ids: BigInt64Array;
  mask: BigInt64Array;
}

/** A tokenizer and a transformer encoder; the only door to @huggingface/transformers and the native library below it. */
export interface TokenModel {
  /** Ids of padding; its value never reaches a vector, because padding is masked. */
  readonly padId: number;
  /** Token ids with the model's special tokens, not truncated. */
  tokens(text: string): number[];
  /** Last hidden states, row-major [rows × length × hidden]. */
  hidden(batch: TokenBatch): Promise<{ values: Float32Array; width: number }>;
  close(): Promise<void>;
}

/** Threads that wait by spinning take the processor from those with work: with more programs than cores, encoding ran half as fast. */
const SESSION = { extra: { session: { intra_op: { allow_spinning: '0' } } } };

/** Loads a model from local files alone; nothing is ever fetched. Throws InputError when a library or a file cannot be loaded. */
export async function openTokenModel(file: ModelFile): Promise<TokenModel> {
  const { AutoModel, AutoTokenizer, Tensor } = await loadLibrary();
  const local = { local_files_only: true } as const;
  let tokenizer: Awaited<ReturnType<typeof AutoTokenizer.from_pretrained>>;
  let model: Awaited<ReturnType<typeof AutoModel.from_pretrained>>;
  let repair: (text: string) => string;
  try {
    repair = await textRepair(join(file.folder, 'tokenizer.json'));
    tokenizer = await AutoTokenizer.from_pretrained(file.folder, local);
    model = await AutoModel.from_pretrained(file.folder, {
      ...local,
      subfolder: file.subfolder,
      model_file_name: file.name,
      dtype: file.dtype,
      device: 'cpu',
      use_external_data_format: file.externalData,
      session_options: SESSION,
    });
  } catch (error) {
    throw new InputError(`the model cannot be loaded (${(error as Error).message})`, { file: file.folder });
  }
  return {
    padId: tokenizer.pad_token_id ?? 0,
    tokens: (text) => tokenizer.encode(repair(text)),
    hidden: async ({ rows, length, ids, mask }) => {
      const shape = [rows, length];
      const output = (await model({ input_ids: new Tensor('int64', ids, shape), attention_mask: new Tensor('int64', mask, shape) })) as {
        [name: string]: InstanceType<typeof Tensor> | undefined;
      };
      const states = output.last_hidden_state ?? output.token_embeddings;
      if (states === undefined || states.dims.length !== 3) {
        throw new InputError(`the graph gives ${Object.keys(output).join(', ')}, expected last_hidden_state`, { file: file.folder });
      }
      const floats = states.type === 'float32' ? states : states.to('float32');
      return { values: floats.data as Float32Array, width: states.dims[2] as number };
    },
    close: async () => {
      await model.dispose();
    },
  };
}

/** Imported only when an encoder is really opened: everything else works where the native library is missing. */
async function loadLibrary(): Promise<typeof Transformers> {
  try {
    return await import('@huggingface/transformers');
  } catch (error) {
    throw new InputError(missingLibrary((error as Error).message));
  }
}

function missingLibrary(reason: string): string {
  const first = reason.split('\n')[0] as string;
  return (
    `sentence encoders need @huggingface/transformers with onnxruntime-node, which cannot be loaded on ${process.platform} ${process.arch} ` +
    `(${first}): install again with "npm install --ignore-scripts hopgate" and without --omit=optional; ` +
    'onnxruntime-node has libraries for Linux, Windows and macOS on ARM, none for macOS on Intel or Alpine'
  );
}

/** A tokenizer of two texts, as a cross-encoder reads them. */
export interface PairTokenizer {
  /** As the tokenizer says; Infinity where it does not. */
  readonly maxTokens: number;
  /** Ids with the model's special tokens, and which of the two texts each belongs to; a first text that makes it longer than `most` loses its end. */
  encodePair(first: string, second: string, most: number): { ids: number[]; types: number[] };
}

/** Loads a folder's tokenizer alone. Throws InputError when a library or a file cannot be loaded. */
export async function openPairTokenizer(folder: string): Promise<PairTokenizer> {
  const { AutoTokenizer } = await loadLibrary();
  let tokenizer: Awaited<ReturnType<typeof AutoTokenizer.from_pretrained>>;
  let repair: (text: string) => string;
  try {
    // transformers.js takes a relative path for a name on the hub.
    const path = resolve(folder);
    repair = await textRepair(join(path, 'tokenizer.json'));
    tokenizer = await AutoTokenizer.from_pretrained(path, { local_files_only: true });
  } catch (error) {
    throw new InputError(`the tokenizer cannot be loaded (${(error as Error).message})`, { file: folder });
  }
  const encode = (first: string, second: string): { ids: number[]; types: number[] } => {
    const { input_ids: ids, token_type_ids: types } = tokenizer(repair(first), {
      text_pair: repair(second),
      return_tensor: false,
      return_token_type_ids: true,
    }) as {
      input_ids: number[];
      token_type_ids?: number[];
    };
    return { ids, types: types ?? ids.map(() => 0) };
  };
  const limit = (tokenizer as { model_max_length?: number }).model_max_length;
  return {
    maxTokens: limit ?? Infinity,
    encodePair: (first, second, most) => {
      const whole = encode(first, second);
      if (whole.ids.length <= most) return whole;
      const points = Array.from(first);
      let [fits, tooMany] = [0, points.length];
      while (fits + 1 < tooMany) {
        const middle = Math.floor((fits + tooMany) / 2);
        if (encode(points.slice(0, middle).join(''), second).ids.length <= most) fits = middle;
        else tooMany = middle;
      }
      return encode(points.slice(0, fits).join(''), second);
    },
  };
}

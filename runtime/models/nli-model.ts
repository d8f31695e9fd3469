import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { InputError, shown } from '../../src/core/errors.js';
import { hashFile, sha256 } from '../../src/core/hash.js';
import type { Json } from '../../src/core/manifest.js';
import { parsedJson } from '../../src/core/parse.js';
import { type GraphOptions, type OnnxTensor, openOnnxGraph } from './onnx-session.js';
import { openPairTokenizer } from '../encoders/transformers-model.js';

/** Two texts of which the first may entail the second. */
export interface NliPair {
  premise: string;
  hypothesis: string;
}

/** A sequence-classification cross-encoder. It owns a native session until it is closed. */
export interface NliModel {
  readonly identity: Json;
  /** Probabilities of all labels, in the order of the model's own. */
  probabilities(pairs: readonly NliPair[], options?: { signal?: AbortSignal | undefined }): Promise<Float64Array[]>;
  /** Position of the entailment label. */
  readonly entailment: number;
  close(): Promise<void>;
}

const config = z.object({
  id2label: z.record(z.string(), z.string()).optional(),
  max_position_embeddings: z.int().positive().optional(),
});

/** Tokens of a pair at most, where the model does not say less; a longer premise loses its end. */
const MAX_TOKENS = 512;

/**
 * Opens a folder with an ONNX sequence classifier (`model.onnx`, there or in `onnx/`), its `config.json` and its tokenizer. The entailment
 * label is found by its name in `id2label`. Throws InputError where there is none, or where the graph gives no logits of these labels.
 */
export async function openNliModel(folder: string, options: GraphOptions = {}): Promise<NliModel> {
  const configFile = join(folder, 'config.json');
  const content = await readFile(configFile, 'utf8').catch(() => {
    throw new InputError('no config.json: not the folder of a sequence classifier', { file: folder });
  });
  const { id2label = {}, max_position_embeddings: positions } = parsedJson(config, content, { file: configFile });
  const labels = Object.entries(id2label).toSorted(([a], [b]) => Number(a) - Number(b));
  const place = { file: configFile, field: 'id2label' };
  const named = labels.filter(([, label]) => isEntailment(label));
  if (named.length !== 1)
    throw new InputError(
      `got ${shown(Object.fromEntries(labels))}, expected exactly one label that is named entailment: which output says "entailed" cannot be guessed`,
      place,
    );
  if (labels.some(([id], at) => Number(id) !== at))
    throw new InputError(`got the labels ${labels.map(([id]) => id).join(', ')}, expected 0 to ${labels.length - 1}`, place);
  const entailment = Number((named[0] as [string, string])[0]);
  const file = await graphFile(folder);
  const tokenizer = await openPairTokenizer(folder);
  const graph = await openOnnxGraph(file, options);
  const inputs = new Set(graph.inputs.map(({ name }) => name));
  const unknown = [...inputs].find((name) => !['input_ids', 'attention_mask', 'token_type_ids'].includes(name));
  if (unknown !== undefined || !inputs.has('input_ids')) {
    await graph.close();
    throw new InputError(`takes ${[...inputs].join(', ')}, expected input_ids, attention_mask and perhaps token_type_ids`, { file });
  }
  const most = Math.min(MAX_TOKENS, positions ?? MAX_TOKENS, tokenizer.maxTokens);

  const one = async ({ premise, hypothesis }: NliPair): Promise<Float64Array> => {
    const { ids, types } = tokenizer.encodePair(premise, hypothesis, most);
    const integers = (values: readonly number[]): OnnxTensor => ({
      type: 'int64',
      data: BigInt64Array.from(values, BigInt),
      shape: [1, values.length],
    });
    const outputs = await graph.run({
      input_ids: integers(ids),
      ...(inputs.has('attention_mask') && { attention_mask: integers(ids.map(() => 1)) }),
      ...(inputs.has('token_type_ids') && { token_type_ids: integers(types) }),
    });
    const logits = outputs.logits ?? Object.values(outputs)[0];
    if (logits?.shape.join() !== `1,${labels.length}`)
      throw new InputError(`gives [${String(logits?.shape.join(' × '))}], expected the logits of the ${labels.length} labels`, { file });
    return softmax(logits.data as Float32Array);
  };
  const graphHash = (await hashFile(file)).sha256;
  const data = await stat(`${file}_data`).then(
    async () => (await hashFile(`${file}_data`)).sha256,
    () => null,
  );
  return {
    entailment,
    identity: {
      model_sha256: data === null ? graphHash : sha256(`${graphHash} ${data}`),
      tokenizer_sha256: (await hashFile(join(folder, 'tokenizer.json'))).sha256,
      labels: labels.map(([, label]) => label),
      entailment_label: entailment,
      max_tokens: most,
    },
    // One at a time: a pair's numbers then depend on no other's length.
    probabilities: async (pairs, { signal } = {}) => {
      const scored: Float64Array[] = [];
      for (const pair of pairs) {
        signal?.throwIfAborted();
        scored.push(await one(pair));
      }
      return scored;
    },
    close: () => graph.close(),
  };
}

function isEntailment(label: string): boolean {
  return /^(?:entailment|entail|entails|entailed)$/i.test(label.trim());
}

async function graphFile(folder: string): Promise<string> {
  const tried = [join(folder, 'onnx', 'model.onnx'), join(folder, 'model.onnx')];
  for (const file of tried) {
    const found = await stat(file).then(
      () => true,
      () => false,
    );
    if (found) return file;
  }
  throw new InputError(`no ONNX model: looked for ${tried.join(', ')}`, { file: folder });
}

function softmax(logits: Float32Array): Float64Array {
  const top = Math.max(...logits);
  const weights = Float64Array.from(logits, (one) => Math.exp(one - top));
  const sum = weights.reduce((total, one) => total + one, 0);
  return weights.map((one) => one / sum);
}

import { join } from 'node:path';
import { z } from 'zod';
import { labelSaid } from '../../src/core/class-report.js';
import { InputError } from '../../src/core/errors.js';
import { hashFile } from '../../src/core/hash.js';
import { readJsonLines } from '../../src/core/jsonl.js';
import type { Json } from '../../src/core/manifest.js';
import { readVerifierExport } from '../../src/core/verifier-export.js';
import { HEAD_LABELS } from '../../src/core/verifier-job.js';
import { cacheName } from '../../src/core/verifier-ports.js';
import { type HeadFields, type HeadTask, headContents, headEvidence, headPromptSha256, openChatEncoder } from '../../src/prompts/index.js';
import { type GraphOptions, type OnnxGraph, type OnnxTensor, openOnnxGraph } from './onnx-session.js';
import { MAY_NOT_ATTEND } from '../verifier/verifier-model.js';

/** A two-way head (V-StopRAG, V-SIMRAG), opened. It owns a native session until it is closed. */
export interface HeadModel {
  readonly task: HeadTask;
  readonly identity: Json;
  /** P(stop), and how many code points of evidence had to go. */
  score(fields: HeadFields): Promise<{ p: number; cut: number; tokens: number }>;
  close(): Promise<void>;
}

const golden = z.object({
  row: z.string(),
  prompt_ids: z.array(z.int().nonnegative()).min(1),
  onnx: z.object({ fp32: z.array(z.number()).length(2) }),
});

/** As of the import of a verifier: two orders of the same 32-bit sums differ by far less. */
const TOLERANCE = 1e-4;

/**
 * Opens a trainer's export of a two-way head: its files are those of export.json, prompts are rendered as in its training, and the golden rows
 * get the scores that the trainer had (known fault P62). Throws InputError for the first difference.
 */
export async function openHead(folder: string, task: HeadTask, options: GraphOptions = {}): Promise<HeadModel> {
  const made = await readVerifierExport(folder);
  const place = { file: join(folder, 'export.json') };
  if (made.labels.join() !== HEAD_LABELS[task].join())
    throw new InputError(`got the labels ${made.labels.join(', ')}, expected ${HEAD_LABELS[task].join(', ')}: not a head of ${task}`, {
      ...place,
      field: 'labels',
    });
  const variant = made.variants.fp32;
  if (variant === undefined) throw new InputError('has no fp32 graph', { ...place, field: 'variants' });
  for (const { path, sha256 } of made.files) {
    const needed = path === variant.path || variant.external.includes(path) || path.startsWith('tokenizer/') || path === 'golden.jsonl';
    if (needed && (await hashFile(join(folder, path))).sha256 !== sha256)
      throw new InputError('is not the file that export.json lists', { file: join(folder, path) });
  }
  const chat = await openChatEncoder(join(folder, 'tokenizer'));
  const now = { tokenizer_sha256: chat.tokenizer.sha256, template_sha256: chat.templateSha256, prompt_sha256: headPromptSha256(task) };
  for (const [field, here] of Object.entries(now) as [keyof typeof now, string][])
    if (made[field] !== here)
      throw new InputError(`got ${made[field]}, expected ${here}: it was trained with another prompt than is rendered here`, {
        ...place,
        field,
      });
  const { max_length: most } = made.settings;
  if (typeof most !== 'number') throw new InputError('expected the length in tokens', { ...place, field: 'settings.max_length' });
  const file = join(folder, variant.path);
  const graph = await openOnnxGraph(file, options);
  const logprobs = (ids: readonly number[]): Promise<readonly [number, number]> => run(graph, made.architecture, ids);
  try {
    await checkGolden(folder, logprobs);
  } catch (error) {
    await graph.close();
    throw error;
  }
  return {
    task,
    identity: { base: made.base, model_sha256: (await hashFile(file)).sha256, ...now, max_length: most, labels: [...made.labels] },
    score: async (fields) => {
      const { ids, cut } = chat.encodeWithin(headEvidence(fields), (kept) => headContents(task, fields, kept), most);
      const [, stop] = await logprobs(ids);
      return { p: Math.min(1, Math.exp(stop)), cut, tokens: ids.length };
    },
    close: () => graph.close(),
  };
}

async function run(
  graph: OnnxGraph,
  { layers, kv_heads: heads, head_dim: size }: { layers: number; kv_heads: number; head_dim: number },
  ids: readonly number[],
): Promise<readonly [number, number]> {
  const n = ids.length;
  const integers = (values: readonly number[], shape: number[]): OnnxTensor => ({
    type: 'int64',
    data: BigInt64Array.from(values, BigInt),
    shape,
  });
  const bias = Float32Array.from({ length: n * n }, (_, at) => (at % n <= Math.floor(at / n) ? 0 : MAY_NOT_ATTEND));
  const inputs: { [name: string]: OnnxTensor } = {
    input_ids: integers(ids, [1, n]),
    position_ids: integers([...ids.keys()], [1, n]),
    attention_bias: { type: 'float32', data: bias, shape: [1, 1, n, n] },
    score_positions: integers([n - 1], [1]),
  };
  for (let layer = 0; layer < layers; layer++)
    for (const part of ['key', 'value'] as const)
      inputs[cacheName('past_key_values', layer, part)] = { type: 'float32', data: new Float32Array(0), shape: [1, heads, 0, size] };
  const found = (await graph.run(inputs)).logprobs;
  if (found?.shape.join() !== '1,2')
    throw new InputError(`the graph gives [${String(found?.shape.join(' × '))}], expected a head's two log-probabilities`);
  const [goOn = NaN, stop = NaN] = found.data as Float32Array;
  return [goOn, stop];
}

async function checkGolden(folder: string, logprobs: (ids: readonly number[]) => Promise<readonly [number, number]>): Promise<void> {
  const file = join(folder, 'golden.jsonl');
  let rows = 0;
  for await (const { line, value } of readJsonLines(file, golden)) {
    rows++;
    const [here, there] = [await logprobs(value.prompt_ids), value.onnx.fp32];
    const difference = Math.max(...here.map((one, side) => Math.abs(one - (there[side] as number))));
    if (!(difference <= TOLERANCE) || labelSaid(here) !== labelSaid(there))
      throw new InputError(`got ${here.join(', ')} here, expected ${there.join(', ')} as the trainer had (row ${value.row})`, {
        file,
        line,
      });
  }
  if (rows === 0) throw new InputError('has no rows, so nothing could be compared', { file });
}

import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { type ModelProto, ModelProtoSchema, StringStringEntryProtoSchema, TensorProto_DataLocation } from 'onnx-buf';
import { copyFile, cp, mkdir, readFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openVerifierGraph, scoreNaive } from '../../runtime/index.js';
import { classReport } from '../../src/core/class-report.js';
import { hashFile, sha256 } from '../../src/core/hash.js';
import { LABELS } from '../../src/core/labels.js';
import { safetensorsBytes } from '../../src/core/safetensors.js';
import { openOutputFolder } from '../../src/core/output-folder.js';
import { type DevScores, type GoldenScores, type VerifierExport, readDevScores, readGoldenScores } from '../../src/core/verifier-export.js';
import type { JobRow, VerifierPlan } from '../../src/core/verifier-job.js';
import { VERIFIER_DEFAULTS, trainingSha256 } from '../../train/index.js';
import { type VerifierTokens, openVerifierTokens } from '../../src/prompts/index.js';
import { temporaryFolder } from './files.js';
import { smallTokenizer } from './small-tokenizer.js';
import { TINY, architectureOf, tinyVerifierOnnx } from './tiny-verifier.js';

const MAX_LENGTH = 2048;
const TARGETS = ['q_proj', 'v_proj'];
const RANK = 4;
const BASE = 'tiny/Decoder';

/**
 * A whole export as the trainer writes it, of a tiny random decoder with a small tokenizer whose labels take one and several tokens: graphs
 * fp32 (external data) and int4 (the same weights), golden rows and dev rows scored by three plain passes. Made without Python.
 */
export async function tinyExport(): Promise<string> {
  const folder = await temporaryFolder();
  const tokenizer = await smallTokenizer();
  const tokens = await openVerifierTokens(tokenizer, { maxLength: MAX_LENGTH });
  await mkdir(join(folder, 'tokenizer'));
  for (const name of ['tokenizer.json', 'tokenizer_config.json']) await copyFile(join(tokenizer, name), join(folder, 'tokenizer', name));
  const shape = { ...TINY, vocabulary: tokens.chat.tokenizer.vocabSize };
  for (const variant of ['fp32', 'int4']) await writeWithExternalData(folder, variant, tinyVerifierOnnx(shape, { seed: 27 }));
  const score = async (prompts: number[][]): Promise<number[][]> => {
    const graph = await openVerifierGraph(join(folder, 'onnx/fp32/model.onnx'), { architecture: architectureOf(shape) });
    const scored = await scoreNaive(graph, prompts, { labels: tokens.labelIds, padId: tokens.chat.padId });
    await graph.close();
    return scored.map((one) => LABELS.map((label) => one[`lp_${label}`]));
  };
  const golden = await goldenRows(tokens, score);
  const dev = await devRows(tokens, score);
  await writeLines(join(folder, 'golden.jsonl'), golden);
  await writeLines(join(folder, 'dev-scores.jsonl'), dev);
  await mkdir(join(folder, 'adapter'));
  await writeAdapter(folder, TINY.layers);
  await writeFile(join(folder, 'adapter/adapter_config.json'), JSON.stringify({ r: RANK, lora_alpha: 8, target_modules: TARGETS }));
  await writeFile(join(folder, 'model-card.md'), '# tiny\n');
  const settings = {
    ...VERIFIER_DEFAULTS,
    base: BASE,
    lora_rank: RANK,
    lora_targets: TARGETS,
    max_length: MAX_LENGTH,
    seed: 13,
    optimizer: 'adamw',
    quantisation: 'none',
    compute_dtype: 'fp32',
    variants: ['fp32', 'int4'],
  };
  await writeFile(join(folder, 'effective.json'), JSON.stringify(settings));
  const report = classReport(dev.map((row) => ({ gold: LABELS.indexOf(row.label as 'match'), probabilities: row.scores })));
  const made: VerifierExport = {
    kind: 'verifier-export',
    format: 1,
    base: BASE,
    base_sha256: sha256('tiny'),
    training_sha256: sha256('set below'),
    settings,
    labels: [...LABELS],
    label_ids: Object.fromEntries(LABELS.map((label) => [label, [...tokens.labelIds[label]]])),
    pad_id: tokens.chat.padId,
    eos_id: tokens.chat.eosId,
    vocab_size: shape.vocabulary,
    template_sha256: tokens.chat.templateSha256,
    prompt_sha256: tokens.promptSha256,
    tokenizer_sha256: tokens.chat.tokenizer.sha256,
    merge_dtype: 'float32',
    merged_into_quantised: false,
    tied_embeddings: true,
    architecture: architectureOf(shape),
    variants: {
      fp32: { path: 'onnx/fp32/model.onnx', external: ['onnx/fp32/model.onnx.data'] },
      int4: { path: 'onnx/int4/model.onnx', external: ['onnx/int4/model.onnx.data'] },
    },
    failed_variants: {},
    metrics: {
      dev: {
        rows: report.rows,
        accuracy: report.accuracy,
        macro_f1: report.macro_f1,
        confusion: report.confusion,
        per_class: { ...report.f1 },
      },
      steps: settings.max_steps,
      train_rows: 24,
    },
    files: [],
    versions: { python: '3' },
  };
  await writeFile(join(folder, 'export.json'), JSON.stringify(made));
  await listFiles(folder);
  const trained = await trainingSha256(await jobOf(folder));
  await changeExport(folder, () => ({ training_sha256: trained }));
  return folder;
}

/** The job that the export would have come from, as a finished folder; `change` alters its plan, `rows` the order of its golden rows, `train` its training rows. */
export async function jobOf(
  folder: string,
  change: (plan: VerifierPlan) => VerifierPlan = (plan) => plan,
  rows: <T>(golden: T[]) => T[] = (golden) => golden,
  train: (row: JobRow, at: number) => JobRow = (row) => row,
): Promise<string> {
  const made = JSON.parse(await readFile(join(folder, 'export.json'), 'utf8')) as VerifierExport;
  const dir = join(await temporaryFolder(), 'job');
  const out = await openOutputFolder({ dir, kind: 'verifier-job', command: 'verifier plan', options: {}, seed: 13, inputs: [] });
  const counts = { train: 24, dev: 9, golden: 6, truncated: 0, longest: 900, mean_tokens: 800 };
  const estimate = { tokens: 1, steps: 1, epochs: 1, gpu_minutes: null, memory_gib: null, assumptions: [] };
  const { base, template_sha256, prompt_sha256, tokenizer_sha256, labels, label_ids, pad_id, eos_id, vocab_size } = made;
  const identity = { base, template_sha256, prompt_sha256, tokenizer_sha256, labels, label_ids, pad_id, eos_id, vocab_size };
  const settings = made.settings as unknown as VerifierPlan['settings'];
  await out.file('plan.json', JSON.stringify(change({ format: 1, task: 'labels', settings, ...identity, counts, estimate })));
  const jobRow = ({ row, label, form, prompt_ids: ids }: Pick<DevScores, 'row' | 'label' | 'form' | 'prompt_ids'>): JobRow => ({
    row,
    label,
    form,
    ids: [...ids, 1],
    loss: [ids.length, ids.length + 1],
  });
  const trained = Array.from({ length: counts.train }, (_, at) => ({
    row: `train-${at}`,
    label: 'match',
    form: 'sentence',
    prompt_ids: [at],
  }));
  await out.jsonl('train.jsonl', trained.map(jobRow).map(train));
  await out.jsonl('golden.jsonl', rows(await readGoldenScores(folder, labels)).map(jobRow));
  await out.jsonl('dev.jsonl', (await readDevScores(folder, labels)).map(jobRow));
  await out.finish({ counts: {} });
  return dir;
}

/** A copy that a test may damage. */
export async function copyOf(folder: string): Promise<string> {
  const copy = join(await temporaryFolder(), 'export');
  await cp(folder, copy, { recursive: true });
  return copy;
}

/** Writes export.json's list of files anew, so that a fault behind it is what is found. */
export async function listFiles(folder: string): Promise<void> {
  const names = await readdir(folder, { recursive: true, withFileTypes: true });
  const files: VerifierExport['files'] = [];
  for (const one of names) {
    const path = join(one.parentPath, one.name).slice(folder.length + 1);
    if (one.isFile() && path !== 'export.json') files.push({ path, ...(await hashFile(join(folder, path))) });
  }
  await changeExport(folder, () => ({ files: files.toSorted((a, b) => (a.path < b.path ? -1 : 1)) }));
}

/** Changes fields of export.json. */
export async function changeExport(folder: string, change: (made: VerifierExport) => { [field: string]: unknown }): Promise<void> {
  const file = join(folder, 'export.json');
  const made = JSON.parse(await readFile(file, 'utf8')) as VerifierExport;
  await writeFile(file, JSON.stringify({ ...made, ...change(made) }));
}

/** Replaces a variant's graph by one of other random weights. */
export async function writeGraph(folder: string, variant: string, seed: number): Promise<void> {
  const { vocab_size: vocabulary } = JSON.parse(await readFile(join(folder, 'export.json'), 'utf8')) as VerifierExport;
  await writeWithExternalData(folder, variant, tinyVerifierOnnx({ ...TINY, vocabulary }, { seed }));
  await listFiles(folder);
}

/** Changes a graph file, and the list of files with it. */
export async function changeGraph(folder: string, variant: string, change: (model: ModelProto) => void): Promise<void> {
  const file = join(folder, 'onnx', variant, 'model.onnx');
  const model = fromBinary(ModelProtoSchema, await readFile(file));
  change(model);
  await writeFile(file, toBinary(ModelProtoSchema, model));
  await listFiles(folder);
}

/** Changes the rows of a JSON-lines file, and the list of files with it. */
export async function changeRows<T>(folder: string, name: string, change: (row: T, at: number) => T): Promise<void> {
  const rows = (await readFile(join(folder, name), 'utf8'))
    .trim()
    .split('\n')
    .map((line, at) => change(JSON.parse(line) as T, at));
  await writeLines(join(folder, name), rows);
  await listFiles(folder);
}

/** Two matrices a target and layer; `change` may leave tensors out or add some. */
export async function writeAdapter(
  folder: string,
  layers: number,
  change: (names: string[]) => string[] = (names) => names,
): Promise<void> {
  const names = Array.from({ length: layers }, (_, layer) =>
    TARGETS.flatMap((target) =>
      ['lora_A', 'lora_B'].map((part) => `base_model.model.model.layers.${layer}.self_attn.${target}.${part}.weight`),
    ),
  ).flat();
  const tensors = change(names).map((name) => ({
    name,
    shape: name.includes('lora_A') ? [RANK, 2] : [2, RANK],
    values: new Float32Array(2 * RANK),
  }));
  await writeFile(join(folder, 'adapter/adapter_model.safetensors'), safetensorsBytes(tensors));
}

async function writeWithExternalData(folder: string, variant: string, bytes: Uint8Array): Promise<void> {
  const model = fromBinary(ModelProtoSchema, bytes);
  const parts: Uint8Array[] = [];
  let offset = 0;
  for (const tensor of model.graph?.initializer ?? []) {
    // The shapes' own numbers stay: onnxruntime reads them while it plans.
    if (tensor.rawData.length < 256) continue;
    parts.push(tensor.rawData);
    const entry = (key: string, value: string | number): (typeof tensor.externalData)[number] =>
      create(StringStringEntryProtoSchema, { key, value: String(value) });
    tensor.externalData = [entry('location', 'model.onnx.data'), entry('offset', offset), entry('length', tensor.rawData.length)];
    tensor.dataLocation = TensorProto_DataLocation.EXTERNAL;
    offset += tensor.rawData.length;
    tensor.rawData = new Uint8Array();
  }
  await mkdir(join(folder, 'onnx', variant), { recursive: true });
  await writeFile(join(folder, 'onnx', variant, 'model.onnx'), toBinary(ModelProtoSchema, model));
  await writeFile(join(folder, 'onnx', variant, 'model.onnx.data'), Buffer.concat(parts));
}

async function goldenRows(tokens: VerifierTokens, score: (prompts: number[][]) => Promise<number[][]>): Promise<GoldenScores[]> {
  const rows = Array.from({ length: 6 }, (_, at) => ({
    row: `golden-${at}`,
    label: LABELS[at % 3] as string,
    form: 'sentence',
    fields: fieldsOf(at),
  }));
  const prompts = rows.map(({ fields }) => tokens.prompt(fields).ids);
  const scores = await score(prompts);
  return rows.map((row, at) => {
    const own = scores[at] as number[];
    return { ...row, prompt_ids: prompts[at] as number[], adapter: own, merged: own, onnx: { fp32: own, int4: own } };
  });
}

async function devRows(tokens: VerifierTokens, score: (prompts: number[][]) => Promise<number[][]>): Promise<DevScores[]> {
  const prompts = Array.from({ length: 9 }, (_, at) => tokens.prompt(fieldsOf(100 + at)).ids);
  const scores = await score(prompts);
  return prompts.map((ids, at) => ({
    row: `dev-${at}`,
    label: LABELS[at % 3] as string,
    form: 'sentence',
    prompt_ids: ids,
    scores: scores[at] as number[],
  }));
}

function fieldsOf(at: number): GoldenScores['fields'] {
  return {
    question: `Where was the author of book ${at} born?`,
    answer_candidate: `Town ${at * 7}`,
    expected_claim: `The author of book ${at} was born in Town ${at * 7}.`,
    expected_page: `Author ${at}`,
    expected_target: `Town ${at * 7}`,
    expected_target_role: at % 2 === 0 ? 'answer' : 'bridge',
    evidence_page: `Author ${at % 3 === 0 ? at : at + 1}`,
    evidence_sentence: `She was born in Town ${at * (at % 4)} and wrote ${at} books.`,
  };
}

async function writeLines(file: string, rows: readonly unknown[]): Promise<void> {
  await writeFile(file, rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
}

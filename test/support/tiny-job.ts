import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { sha256 } from '../../src/core/hash.js';
import { random } from '../../src/core/random.js';

export interface TinyRow {
  row: string;
  label: string | number;
  form: string;
  ids: number[];
  loss?: [number, number];
  fields?: { [name: string]: string };
}

/** A job folder before it is written; a test changes what it is about. */
export interface TinyJob {
  plan: {
    [name: string]: unknown;
    settings: { [name: string]: unknown };
    label_ids: { [label: string]: number[] };
  };
  rows: { train: TinyRow[]; dev: TinyRow[]; golden: TinyRow[] };
  /** The tokenizer's tokens; an id is its position. */
  vocabulary: string[];
}

const LABELS = ['match', 'partial', 'null'];
const FIELDS = [
  'question',
  'answer_candidate',
  'expected_claim',
  'expected_page',
  'expected_target',
  'expected_target_role',
  'evidence_page',
  'evidence_sentence',
];
const WORDS = 200;
const [PAD, END, START] = [WORDS, WORDS + 1, WORDS + 2];

/** A job for a base of 256 embeddings whose rows can be learned: the token before the last says the label, the others are drawn. */
export function tinyJob(base: string, settings: { [name: string]: unknown } = {}): TinyJob {
  // "partial" takes two tokens, the others one: both ways to score are gone.
  const labelTokens: { [label: string]: string[] } = { match: ['match'], partial: ['par', 'tial'], null: ['null'] };
  const vocabulary = Array.from({ length: WORDS }, (_, at) => `w${at}`);
  for (const [at, token] of Object.values(labelTokens).flat().entries()) vocabulary[at] = token;
  vocabulary.push('<pad>', '<end>', '<start>');
  const labelIds = Object.fromEntries(LABELS.map((label) => [label, (labelTokens[label] ?? []).map((one) => vocabulary.indexOf(one))]));
  const draw = random(13, 'tiny-job');
  const rowOf = (name: string, at: number): TinyRow => {
    const label = LABELS[at % LABELS.length] as string;
    const words = Array.from({ length: 4 + Math.floor(draw.float() * 12) }, () => 20 + Math.floor(draw.float() * (WORDS - 20)));
    const prompt = [START, ...words, 10 + (at % LABELS.length), START];
    const ids = labelIds[label] as number[];
    const fields = Object.fromEntries(FIELDS.map((field) => [field, `${field} of ${name}${at}`]));
    const loss: [number, number] = [prompt.length, prompt.length + ids.length];
    return { row: `${name}${at}`, label, form: at % 2 === 0 ? 'sentence' : 'title', ids: [...prompt, ...ids], loss, fields };
  };
  const rows = {
    train: Array.from({ length: 48 }, (_, at) => rowOf('t', at)),
    dev: Array.from({ length: 18 }, (_, at) => rowOf('d', at)),
    golden: [] as TinyRow[],
  };
  rows.golden = rows.dev.slice(0, 6).map((row) => ({ ...row }));
  for (const row of [...rows.train, ...rows.dev]) delete row.fields;
  return {
    plan: {
      format: 1,
      base,
      task: 'labels',
      settings: {
        base,
        revision: null,
        lora_rank: 8,
        lora_alpha: 16,
        lora_dropout: 0.05,
        lora_targets: ['q_proj', 'k_proj', 'v_proj', 'o_proj', 'gate_proj', 'up_proj', 'down_proj'],
        max_steps: 30,
        batch_size: 2,
        accumulation: 4,
        learning_rate: 5e-3,
        schedule: 'linear',
        warmup_ratio: 0.1,
        max_length: 64,
        optimizer: 'auto',
        quantisation: 'auto',
        double_quant: true,
        compute_dtype: 'auto',
        seed: 13,
        checkpoint_every: 3,
        eval_batch: 4,
        variants: ['fp32'],
        gradient_checkpointing: false,
        ...settings,
      },
      template_sha256: sha256('template'),
      prompt_sha256: sha256('prompt'),
      labels: LABELS,
      label_ids: labelIds,
      pad_id: PAD,
      eos_id: END,
      vocab_size: vocabulary.length,
      counts: {},
      estimate: {},
    },
    rows,
    vocabulary,
  };
}

/** A job of the same size for a two-way head: the token before the last says the side. */
export function tinyHeadJob(base: string, settings: { [name: string]: unknown } = {}): TinyJob {
  const job = tinyJob(base, settings);
  Object.assign(job.plan, { task: 'simrag', labels: ['no', 'yes'], label_ids: {} });
  for (const rows of Object.values(job.rows)) {
    for (const [at, row] of rows.entries()) {
      row.label = at % 2;
      row.ids = [...row.ids.slice(0, (row.loss?.[0] ?? 2) - 2), 10 + (at % 2), START];
      delete row.loss;
      delete row.fields;
    }
  }
  return job;
}

/** Writes the folder, its manifest last; `spoil` may change files behind the manifest's back. */
export async function writeTinyJob(folder: string, job: TinyJob, spoil?: () => Promise<void>): Promise<string> {
  const tokenizer = tokenizerFile(job.vocabulary);
  const lines = (rows: readonly TinyRow[]): string => rows.map((row) => `${JSON.stringify(row)}\n`).join('');
  const files: { [name: string]: string } = {
    'plan.json': JSON.stringify({ tokenizer_sha256: sha256(tokenizer), ...job.plan }),
    'train.jsonl': lines(job.rows.train),
    'dev.jsonl': lines(job.rows.dev),
    'golden.jsonl': lines(job.rows.golden),
    'tokenizer/tokenizer.json': tokenizer,
    'tokenizer/tokenizer_config.json': '{}',
  };
  for (const [name, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), content);
  }
  const outputs = Object.entries(files).map(([name, content]) => ({ name, sha256: sha256(content), bytes: Buffer.byteLength(content) }));
  await writeFile(join(folder, 'manifest.json'), JSON.stringify({ kind: 'verifier-job', outputs }));
  await spoil?.();
  return folder;
}

// A tokenizer whose tokens are joined as they are, as those of Qwen2.5 and SmolLM2 are.
function tokenizerFile(vocabulary: readonly string[]): string {
  const added = vocabulary.flatMap((content, id) =>
    content.startsWith('<') ? [{ id, content, special: true, single_word: false, lstrip: false, rstrip: false, normalized: false }] : [],
  );
  return JSON.stringify({
    version: '1.0',
    truncation: null,
    padding: null,
    added_tokens: added,
    normalizer: null,
    pre_tokenizer: { type: 'ByteLevel', add_prefix_space: false, trim_offsets: false, use_regex: true },
    post_processor: null,
    decoder: { type: 'ByteLevel', add_prefix_space: false, trim_offsets: false, use_regex: true },
    model: {
      type: 'BPE',
      dropout: null,
      unk_token: null,
      continuing_subword_prefix: null,
      end_of_word_suffix: null,
      fuse_unk: false,
      byte_fallback: false,
      vocab: Object.fromEntries(vocabulary.map((token, id) => [token, id])),
      merges: [],
    },
  });
}

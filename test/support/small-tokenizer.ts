import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { temporaryFolder } from './files.js';

/** Chat templates of the two families that small and large models use, in their tokens and their habits. */
const TEMPLATES = {
  /** As SmolLM2's: ChatML with a system message of its own where none is given. */
  chatml:
    "{% for message in messages %}{% if loop.first and message['role'] != 'system' %}{{ '<|im_start|>system\\nYou help.<|im_end|>\\n' }}{% endif %}" +
    "{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n' }}{% endfor %}" +
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}",
  /** As Llama 3's: a beginning token, headers, contents that are trimmed, a date where it is told none. */
  headers:
    "{{ bos_token }}{% if not date_string is defined %}{% if strftime_now is defined %}{% set date_string = strftime_now('%d %b %Y') %}" +
    "{% else %}{% set date_string = '26 Jul 2024' %}{% endif %}{% endif %}{% for message in messages %}" +
    "{{ '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n' + ('Today: ' + date_string + '\\n\\n' if loop.first else '') + message['content'] | trim + '<|eot_id|>' }}" +
    "{% endfor %}{% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}{% endif %}",
} as const;

const CONTROL = {
  chatml: ['<|endoftext|>', '<|im_start|>', '<|im_end|>', '<repo_name>'],
  headers: ['<|begin_of_text|>', '<|start_header_id|>', '<|end_header_id|>', '<|eot_id|>', '<|finetune_right_pad_id|>'],
} as const;

const MERGES = ['t h', 'Ġ th', 'e r', 'i n', 'm a', 'ma t', 'c h', 'mat ch', 'p a', 'n u', 'l l', 'Ġ <', '< |', '| >', 'i m', 'Ċ Ċ'];

export interface SmallTokenizer {
  family?: keyof typeof TEMPLATES;
  template?: string;
  /** Changes to tokenizer_config.json. */
  config?: { [name: string]: unknown };
  /** Changes to tokenizer.json. */
  tokenizer?: { [name: string]: unknown };
}

/**
 * A folder with a small byte-level BPE tokenizer whose control tokens stand in its vocabulary, first, as SmolLM2's do. `match` is one token,
 * `partial` and `null` are several. The ChatML family pads with the token that ends a turn, as SmolLM2 does.
 */
export async function smallTokenizer({ family = 'chatml', template, config, tokenizer }: SmallTokenizer = {}): Promise<string> {
  const folder = await temporaryFolder();
  const control = CONTROL[family];
  const vocab: { [token: string]: number } = {};
  for (const token of [...control, ...byteCharacters(), ...MERGES.map((one) => one.replace(' ', ''))])
    vocab[token] = Object.keys(vocab).length;
  // The pattern of Llama 3, which takes line breaks together; ByteLevel's own is GPT-2's.
  const pattern = String.raw`(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`;
  const byteLevel = { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: true };
  const json = {
    version: '1.0',
    truncation: null,
    padding: null,
    added_tokens: control.map((content, id) => ({
      id,
      content,
      single_word: false,
      lstrip: false,
      rstrip: false,
      normalized: false,
      special: true,
    })),
    normalizer: null,
    pre_tokenizer: {
      type: 'Sequence',
      pretokenizers:
        family === 'chatml'
          ? [{ type: 'Digits', individual_digits: true }, byteLevel]
          : [
              { type: 'Split', pattern: { Regex: pattern }, behavior: 'Isolated', invert: false },
              { ...byteLevel, use_regex: false },
            ],
    },
    post_processor: null,
    decoder: byteLevel,
    model: {
      type: 'BPE',
      dropout: null,
      unk_token: null,
      continuing_subword_prefix: null,
      end_of_word_suffix: null,
      fuse_unk: false,
      byte_fallback: false,
      ignore_merges: family === 'headers',
      vocab,
      merges: MERGES,
    },
    ...tokenizer,
  };
  const named =
    family === 'chatml'
      ? { bos_token: '<|im_start|>', eos_token: '<|im_end|>', pad_token: '<|im_end|>', unk_token: '<|endoftext|>' }
      : { bos_token: '<|begin_of_text|>', eos_token: '<|eot_id|>', pad_token: '<|finetune_right_pad_id|>' };
  await writeFile(join(folder, 'tokenizer.json'), JSON.stringify(json));
  await writeFile(
    join(folder, 'tokenizer_config.json'),
    JSON.stringify({ tokenizer_class: 'PreTrainedTokenizerFast', ...named, chat_template: template ?? TEMPLATES[family], ...config }),
  );
  return folder;
}

/** The printable character that stands for each byte in a byte-level vocabulary, by byte. */
function byteCharacters(): string[] {
  const printable = (byte: number): boolean => (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
  let next = 256;
  return Array.from({ length: 256 }, (_, byte) => String.fromCharCode(printable(byte) ? byte : next++));
}

import { Tokenizer } from '@huggingface/tokenizers';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { parsedJson } from '../core/parse.js';
import { InputError, fromSystem } from '../core/errors.js';
import { sha256 } from '../core/hash.js';

/** A token that a tokenizer.json adds to its vocabulary: control tokens, and in some models others that are matched whole. */
const addedToken = z.object({
  id: z.int().nonnegative(),
  content: z.string().min(1),
  lstrip: z.boolean().default(false),
  rstrip: z.boolean().default(false),
  special: z.boolean().default(false),
});
export type AddedToken = z.infer<typeof addedToken>;

const tokenizerFile = z.looseObject({
  added_tokens: z.array(addedToken),
  normalizer: z.unknown(),
  pre_tokenizer: z.unknown(),
  // A hundred thousand entries are not looked at one by one.
  model: z.looseObject({
    type: z.string(),
    vocab: z.custom<{ [token: string]: number }>(
      (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
      'expected an object',
    ),
  }),
});

const namedToken = z.union([z.string(), z.object({ content: z.string() }).transform(({ content }) => content)]).nullish();
const configFile = z.looseObject({
  bos_token: namedToken,
  eos_token: namedToken,
  pad_token: namedToken,
  unk_token: namedToken,
  chat_template: z.union([z.string(), z.array(z.object({ name: z.string(), template: z.string() }))]).nullish(),
});

/**
 * A tokenizer for text alone: whatever a text holds, none of the added tokens ever comes out of it. The added tokens are known apart, by
 * content and id. The only door to @huggingface/tokenizers.
 */
export interface TextTokenizer {
  /** Ids of a text that is all text. */
  encode(text: string): number[];
  /** The text of ids, added tokens written out; bytes that are no whole character come as U+FFFD. */
  decode(ids: readonly number[]): string;
  readonly added: readonly AddedToken[];
  /** Ids are below it. */
  readonly vocabSize: number;
  /** Contents of the named tokens; null where the folder names none. */
  readonly named: { readonly bos: string | null; readonly eos: string | null; readonly pad: string | null; readonly unk: string | null };
  /** Source of the chat template. */
  readonly template: string;
  /** sha256 of tokenizer.json. */
  readonly sha256: string;
  /** The files that it was read from, by name. */
  readonly files: { readonly [name: string]: string };
}

/**
 * Reads `tokenizer.json`, `tokenizer_config.json` and, where there is one, `chat_template.jinja` from a folder. Throws InputError for a
 * tokenizer whose text cannot be encoded piece by piece (no byte-level BPE), and for one without a chat template.
 */
export async function openTextTokenizer(folder: string): Promise<TextTokenizer> {
  const file = join(folder, 'tokenizer.json');
  const configPath = join(folder, 'tokenizer_config.json');
  const files: { [name: string]: string } = {
    'tokenizer.json': await content(file),
    'tokenizer_config.json': await content(configPath),
  };
  const json = parsedJson(tokenizerFile, files['tokenizer.json'] as string, { file });
  const config = parsedJson(configFile, files['tokenizer_config.json'] as string, { file: configPath });
  const templateFile = await readFile(join(folder, 'chat_template.jinja'), 'utf8').catch(() => undefined);
  if (templateFile !== undefined) files['chat_template.jinja'] = templateFile;
  const template = templateFile ?? defaultTemplate(config.chat_template);
  if (template === undefined)
    throw new InputError('has no chat template, expected one in tokenizer_config.json or chat_template.jinja', { file: folder });
  piecewise(json, file);
  const plain = plainTokenizer(json, config, file);
  const byId = new Map(json.added_tokens.map((token) => [token.id, token.content]));
  return {
    encode: (text) => (text === '' ? [] : plain.encode(text, { add_special_tokens: false }).ids),
    decode: (ids) => decoded(plain, byId, ids),
    added: json.added_tokens,
    vocabSize: 1 + [...Object.values(json.model.vocab), ...byId.keys()].reduce((most, id) => Math.max(most, id), 0),
    named: {
      bos: config.bos_token ?? null,
      eos: config.eos_token ?? null,
      pad: config.pad_token ?? null,
      unk: config.unk_token ?? null,
    },
    template,
    sha256: sha256(files['tokenizer.json'] as string),
    files,
  };
}

/** The same model without its added tokens: nothing that a text holds can be taken for one. */
function plainTokenizer(json: z.infer<typeof tokenizerFile>, config: z.infer<typeof configFile>, file: string): Tokenizer {
  // Where control tokens stand in the vocabulary too, `ignore_merges` could find one there.
  const vocab = { ...json.model.vocab };
  for (const { content: text } of json.added_tokens) delete vocab[text];
  try {
    return new Tokenizer(
      { ...json, added_tokens: [], model: { ...json.model, vocab } },
      { ...config, clean_up_tokenization_spaces: false },
    );
  } catch (error) {
    throw new InputError(`cannot be read as a tokenizer (${(error as Error).message})`, { file });
  }
}

function decoded(plain: Tokenizer, byId: ReadonlyMap<number, string>, ids: readonly number[]): string {
  let text = '';
  let run: number[] = [];
  const flush = (): void => {
    if (run.length > 0) text += plain.decode(run);
    run = [];
  };
  for (const id of ids) {
    const name = byId.get(id);
    if (name === undefined) run.push(id);
    else {
      flush();
      text += name;
    }
  }
  flush();
  return text;
}

/** A prefix space, or a model that is no byte-level BPE, gives a piece of text other ids than it has inside the whole. */
function piecewise({ model, normalizer, pre_tokenizer }: z.infer<typeof tokenizerFile>, file: string): void {
  const steps = JSON.stringify([normalizer ?? null, pre_tokenizer ?? null]);
  const wrong =
    model.type !== 'BPE'
      ? `a model of type ${model.type}`
      : /"type":"(Metaspace|Prepend)"/.test(steps) || /"add_prefix_space":true/.test(steps)
        ? 'a space before the text'
        : !steps.includes('"type":"ByteLevel"')
          ? 'no ByteLevel step'
          : undefined;
  if (wrong !== undefined)
    throw new InputError(`got a tokenizer with ${wrong}, expected byte-level BPE as in Qwen2.5, Llama 3 or SmolLM2`, { file });
}

function defaultTemplate(given: z.infer<typeof configFile>['chat_template']): string | undefined {
  if (given === null || given === undefined || typeof given === 'string') return given ?? undefined;
  return given.find(({ name }) => name === 'default')?.template;
}

function content(file: string): Promise<string> {
  return readFile(file, 'utf8').catch((error: unknown) => {
    throw fromSystem(error, file);
  });
}

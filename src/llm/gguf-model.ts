import { stat } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { z } from 'zod';
import { InputError, fromSystem } from '../core/errors.js';
import { canonicalJson, sha256 } from '../core/hash.js';
import { ggufSha256 } from './gguf-parts.js';
import { type ChatReply, type ChatRequest, type LanguageModel, LanguageModelError, type TokenLogprob } from './language-model.js';
import { limiter } from './limiter.js';
import {
  type Llama,
  type LlamaContext,
  type LlamaLibrary,
  type LlamaModel,
  type LlamaSequence,
  type LoadPackage,
  type Token,
  loadLlamaLibrary,
} from './llama-library.js';
import { firstStop } from './stop-strings.js';

/** What a model's chat template makes of messages with these roles: its own text, and the place of each message's content as its index. */
export type ChatLayout = (template: string, roles: readonly string[], named: { bos: string; eos: string }) => readonly (string | number)[];

export interface GgufModelOptions {
  /** How the file's chat template is rendered (`chatLayout` of src/prompts). */
  layout: ChatLayout;
  /** Tokens of prompt and reply at most; never more than the model was trained on. Default 4,096. */
  contextTokens?: number | undefined;
  /** CPU threads. Default: one a core, less one for everything else; a thread that has to wait for its core makes all of them wait. */
  threads?: number | undefined;
  /** Whether a GPU is used where there is one and the library has a build for it. Default true. */
  gpu?: boolean | undefined;
  load?: LoadPackage | undefined;
}

const BATCH_TOKENS = 512;

const metadataSchema = z.object({
  general: z.object({ architecture: z.string() }),
  tokenizer: z.object({
    chat_template: z.string().optional(),
    ggml: z.object({
      tokens: z.array(z.string()),
      bos_token_id: z.number().optional(),
      eos_token_id: z.number().optional(),
    }),
  }),
});

/**
 * A GGUF file in this process, through node-llama-cpp. Calls are queued: one context, emptied before each call, so that a reply does not hang on the
 * calls before it. The weights are loaded with the first call. The owner closes it.
 *
 * Log-probabilities are those that a token was drawn by: after the temperature, and under a JSON schema among the tokens that it allows.
 *
 * @throws InputError for a file that is no chat model, or without the library
 */
export async function openGgufModel(path: string, options: GgufModelOptions): Promise<LanguageModel> {
  await stat(path).catch((error: unknown) => {
    throw fromSystem(error, path);
  });
  const library = await loadLlamaLibrary(options.load);
  const { template, named, trained } = await describeGguf(library, path);
  const contextTokens = Math.min(options.contextTokens ?? 4096, trained);
  const llama = await openLlama(library, options.gpu ?? true);
  const modelSha256 = await ggufSha256(path);
  const inTurn = limiter(1);
  let opened: Promise<Loaded> | undefined;
  const loaded = (): Promise<Loaded> =>
    (opened ??= loadModel(llama, path, {
      contextTokens,
      threads: options.threads ?? Math.max(1, availableParallelism() - 1),
    }));
  const grammars = new Map<string, object>();

  return {
    identity: {
      door: 'gguf',
      model_sha256: modelSha256,
      library: `node-llama-cpp ${await library.getModuleVersion()}`,
      device: llama.gpu === false ? 'cpu' : llama.gpu,
      context_tokens: contextTokens,
    },
    constrains: true,
    countTokens: async (text) => (await loaded()).model.tokenize(text).length,
    chat: (request, { signal } = {}) =>
      inTurn(async () => {
        const { model, sequence } = await loaded();
        const prompt = promptTokens(library, model, { request, template, named, layout: options.layout });
        if (prompt.length + request.maxTokens > contextTokens)
          throw new LanguageModelError(
            `a prompt of ${prompt.length} tokens and a reply of ${request.maxTokens} do not fit into the context of ${contextTokens} (--llm-context)`,
          );
        const grammar = request.schema === undefined ? undefined : await grammarOf(llama, request.schema, grammars);
        await sequence.clearHistory();
        return generate({ library, model, sequence, prompt, request, grammar }, signal);
      }, signal),
    close: async () => {
      const { model, context } = (await opened?.catch(() => undefined)) ?? {};
      await context?.dispose();
      await model?.dispose();
      await llama.dispose();
    },
  };
}

interface Loaded {
  model: LlamaModel;
  context: LlamaContext;
  sequence: LlamaSequence;
}

async function openLlama(library: LlamaLibrary, gpu: boolean): Promise<Llama> {
  try {
    // A prebuilt library or none: nothing is compiled or fetched behind the user's back, nothing printed.
    return await library.getLlama({
      gpu: gpu ? 'auto' : false,
      build: 'never',
      skipDownload: true,
      progressLogs: false,
      logger: () => undefined,
    });
  } catch (error) {
    throw new InputError(`node-llama-cpp has no build for this machine (${(error as Error).message.split('\n')[0]})`);
  }
}

async function loadModel(
  llama: Llama,
  path: string,
  { contextTokens, threads }: { contextTokens: number; threads: number },
): Promise<Loaded> {
  try {
    const model = await llama.loadModel({ modelPath: path });
    const context = await model.createContext({ contextSize: contextTokens, sequences: 1, batchSize: BATCH_TOKENS, threads });
    return { model, context, sequence: context.getSequence() };
  } catch (error) {
    throw new InputError(`the model cannot be loaded (${(error as Error).message.split('\n')[0]})`, { file: path });
  }
}

async function describeGguf(
  library: LlamaLibrary,
  path: string,
): Promise<{ template: string; named: { bos: string; eos: string }; trained: number }> {
  let metadata: { [group: string]: unknown };
  try {
    ({ metadata } = await library.readGgufFileInfo(path));
  } catch (error) {
    throw new InputError(`no GGUF file (${(error as Error).message.split('\n')[0]})`, { file: path });
  }
  const parsed = metadataSchema.safeParse(metadata);
  if (!parsed.success) throw new InputError(`no language model (${parsed.error.issues[0]?.path.join('.')})`, { file: path });
  const { general, tokenizer } = parsed.data;
  if (tokenizer.chat_template === undefined)
    throw new InputError('has no chat template: a base model, expected one that was trained to chat', { file: path });
  const { context_length: trained } = (metadata[general.architecture] ?? {}) as { context_length?: unknown };
  const { tokens, bos_token_id: bos, eos_token_id: eos } = tokenizer.ggml;
  return {
    template: tokenizer.chat_template,
    named: { bos: tokens[bos ?? -1] ?? '', eos: tokens[eos ?? -1] ?? '' },
    trained: typeof trained === 'number' && trained > 0 ? trained : Infinity,
  };
}

/** Contents are tokenised apart from the template's text, so that nothing in them is taken for one of its control tokens. */
function promptTokens(
  { LlamaText, SpecialTokensText }: LlamaLibrary,
  model: LlamaModel,
  { request, template, named, layout }: { request: ChatRequest; template: string; named: { bos: string; eos: string }; layout: ChatLayout },
): Token[] {
  const { messages, parts } = laidOut(request.messages, (roles) => layout(template, roles, named));
  const text = parts.map((part) => (typeof part === 'string' ? new SpecialTokensText(part) : (messages[part]?.content ?? '')));
  const tokens = new LlamaText(...text).tokenize(model.tokenizer);
  const { bos, shouldPrependBosToken } = model.tokens;
  return shouldPrependBosToken && bos !== null && tokens[0] !== bos ? [bos, ...tokens] : tokens;
}

/** Where a template knows no system message, its text goes before the first user turn's. */
function laidOut(
  messages: ChatRequest['messages'],
  layout: (roles: readonly string[]) => readonly (string | number)[],
): { messages: ChatRequest['messages']; parts: readonly (string | number)[] } {
  try {
    return { messages, parts: layout(messages.map(({ role }) => role)) };
  } catch (error) {
    const [system, user, ...rest] = messages;
    if (system?.role !== 'system' || user?.role !== 'user') throw error;
    const joined = [{ role: 'user' as const, content: `${system.content}\n\n${user.content}` }, ...rest];
    return { messages: joined, parts: layout(joined.map(({ role }) => role)) };
  }
}

async function grammarOf(llama: Llama, schema: NonNullable<ChatRequest['schema']>, grammars: Map<string, object>): Promise<object> {
  const key = canonicalJson(schema);
  const known = grammars.get(key);
  if (known !== undefined) return known;
  try {
    const made = await llama.createGrammarForJsonSchema(schema);
    grammars.set(key, made);
    return made;
  } catch (error) {
    throw new LanguageModelError(`the JSON schema cannot be made a grammar (${(error as Error).message.split('\n')[0]})`);
  }
}

interface Generation {
  library: LlamaLibrary;
  model: LlamaModel;
  sequence: LlamaSequence;
  prompt: readonly Token[];
  request: ChatRequest;
  grammar: object | undefined;
}

async function generate(
  { library, model, sequence, prompt, request, grammar }: Generation,
  signal: AbortSignal | undefined,
): Promise<ChatReply> {
  const { stop = [], logprobs, maxTokens, temperature = 0 } = request;
  const tokens: Token[] = [];
  const entries: TokenLogprob[] = [];
  let [text, steps] = ['', 0];
  let finish: ChatReply['finish'] = 'length';
  const drawn = sequence.evaluateWithMetadata(
    prompt,
    { confidence: logprobs !== undefined, probabilities: (logprobs ?? 0) > 0 },
    {
      temperature,
      topK: 0,
      topP: 1,
      minP: 0,
      // Of the request, so that a reply that is drawn is the same every time too.
      seed: Number.parseInt(sha256(canonicalJson(request)).slice(0, 8), 16) >>> 1,
      yieldEogToken: true,
      grammarEvaluationState: grammar === undefined ? undefined : new library.LlamaGrammarEvaluationState({ model, grammar }),
    },
  );
  for await (const { token, confidence, probabilities } of drawn) {
    signal?.throwIfAborted();
    steps++;
    if (model.isEogToken(token)) {
      finish = 'stop';
      break;
    }
    tokens.push(token);
    // The last bytes may be a part of a character yet.
    const whole = model.detokenize(tokens).replace(/\ufffd+$/, '');
    if (logprobs !== undefined)
      entries.push({
        token: whole.slice(text.length),
        logprob: Math.log(confidence as number),
        top: topOf(model, probabilities, logprobs),
      });
    text = whole;
    const end = grammar === undefined ? firstStop(text, stop) : jsonEnd(text);
    if (end !== undefined) {
      text = text.slice(0, end);
      finish = 'stop';
      break;
    }
    if (steps >= maxTokens) break;
  }
  return {
    text,
    finish,
    usage: { promptTokens: prompt.length, completionTokens: steps },
    logprobs: logprobs === undefined ? null : within(entries, text),
  };
}

/** Where the JSON value that a grammar lets the model write is whole. */
function jsonEnd(text: string): number | undefined {
  const json = text.trimEnd();
  if (!/[\]}"\w]$/.test(json)) return undefined;
  try {
    JSON.parse(json);
  } catch {
    return undefined;
  }
  // A number or a word may go on.
  return /[\]}"]$/.test(json) || json.length < text.length ? json.length : undefined;
}

function topOf(model: LlamaModel, probabilities: Map<Token, number> | undefined, count: number): TokenLogprob['top'] {
  return [...(probabilities ?? [])]
    .slice(0, count)
    .filter(([, probability]) => probability > 0)
    .map(([token, probability]) => ({ token: model.detokenize([token], true), logprob: Math.log(probability) }));
}

/** The entries whose texts are `text`; the one that a stop string cut keeps what is left of it. */
function within(entries: readonly TokenLogprob[], text: string): TokenLogprob[] {
  const kept: TokenLogprob[] = [];
  let length = 0;
  for (const entry of entries) {
    if (length >= text.length) break;
    kept.push({ ...entry, token: entry.token.slice(0, text.length - length) });
    length += entry.token.length;
  }
  return kept;
}

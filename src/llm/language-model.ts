import type { Json } from '../core/manifest.js';

export interface ChatMessage {
  role: 'system' | 'user' | 'assistant';
  content: string;
}

/** Everything that determines a reply besides the model: the reply cache hashes it whole. */
export interface ChatRequest {
  messages: readonly ChatMessage[];
  /** New tokens at most. */
  maxTokens: number;
  /** 0 (default) is greedy decoding. */
  temperature?: number | undefined;
  /** The reply ends before the first of these. */
  stop?: readonly string[] | undefined;
  /**
   * Asks for the log-probability of every new token, with this many of the most probable tokens at its place (0: its own alone). A model
   * that cannot give them throws NoLogprobsError.
   */
  logprobs?: number | undefined;
  /** JSON schema that the reply has to follow, where the model can constrain its output (`LanguageModel.constrains`); elsewhere it is passed over. */
  schema?: { readonly [field: string]: Json } | undefined;
}

export interface TokenLogprob {
  token: string;
  /** Natural logarithm. */
  logprob: number;
  /** The most probable tokens at this place, most probable first. */
  top: readonly { token: string; logprob: number }[];
}

export interface ChatReply {
  text: string;
  /** `length`: cut off after `maxTokens`. */
  finish: 'stop' | 'length';
  /** As the model counts them, prompt with its chat template. */
  usage: { promptTokens: number; completionTokens: number };
  /** Null unless asked for; else one entry a new token, those of the stop string left out, and their texts joined are `text`. */
  logprobs: readonly TokenLogprob[] | null;
}

export interface ChatOptions {
  signal?: AbortSignal | undefined;
}

/** A language model behind any door. Safe for several calls at once. */
export interface LanguageModel {
  /** Everything that moves its replies (name on the server, GGUF sha256, chat template, context length); no address and no key. */
  readonly identity: Json;
  /** Whether `ChatRequest.schema` binds its replies. */
  readonly constrains: boolean;
  /** @throws LanguageModelError when this call failed for good; BudgetError when nothing more may be spent; the signal's reason */
  chat(request: ChatRequest, options?: ChatOptions): Promise<ChatReply>;
  /** Tokens of a plain text by the model's own tokenizer, without its chat template; left out where that cannot be known. */
  countTokens?: ((text: string) => Promise<number>) | undefined;
  close(): Promise<void>;
}

/** One call failed for good, after its retries. It belongs to the question that asked; other questions go on. */
export class LanguageModelError extends Error {
  /** What the call took all the same: null nothing, `unknown` where the server worked and does not say. */
  readonly took: ChatReply['usage'] | 'unknown' | null;

  constructor(message: string, took: ChatReply['usage'] | 'unknown' | null = null) {
    super(message);
    this.name = 'LanguageModelError';
    this.took = took;
  }
}

/** The model gives no log-probabilities though asked for them: no call of this kind to it will ever do. */
export class NoLogprobsError extends LanguageModelError {
  constructor(message: string, took: LanguageModelError['took'] = null) {
    super(message, took);
    this.name = 'NoLogprobsError';
  }
}

/** What some calls took; equal whether they were made or came from the cache. */
export interface Usage {
  calls: number;
  prompt_tokens: number;
  completion_tokens: number;
}

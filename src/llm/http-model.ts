import { z } from 'zod';
import { shown } from '../core/errors.js';
import { type ChatReply, type ChatRequest, type LanguageModel, LanguageModelError, NoLogprobsError } from './language-model.js';
import { PostError, type PostOptions, postJson, serviceAddress } from './post-json.js';
import { type ServerToken, alignedLogprobs } from './reply-tokens.js';
import { firstStop } from './stop-strings.js';

export interface HttpModelOptions extends Omit<PostOptions, 'signal'> {
  /** Address of an OpenAI-compatible server (vLLM, SGLang, Ollama, llama.cpp, hosted), with or without `/v1`. */
  url: string;
  /** The model's name on the server. */
  model: string;
  /**
   * Part of the identity beside the name: another one where the model behind a name has changed, which the name does not tell. Default null.
   */
  revision?: string | undefined;
  /** Whether the server takes a JSON schema (`response_format`). Default true; one that refuses it says so in the error. */
  schema?: boolean | undefined;
}

const FINISHES: { readonly [reason: string]: 'stop' | 'length' } = {
  stop: 'stop',
  eos: 'stop',
  eos_token: 'stop',
  stop_sequence: 'stop',
  length: 'length',
};

/** What rounding may put above 0; more is no log-probability. */
const ROUNDING = 1e-3;
const logprob = z
  .number('expected a log-probability')
  .max(ROUNDING, 'expected a log-probability, at most 0')
  .transform((value) => Math.min(0, value));
const token = z.object({ token: z.string(), logprob, bytes: z.nullish(z.array(z.int().min(0).max(255))) });
const completion = z.object({
  choices: z.tuple(
    [
      z.object({
        message: z.object({ content: z.nullish(z.string()) }),
        finish_reason: z.nullish(z.string()),
        logprobs: z.nullish(z.object({ content: z.nullish(z.array(token.extend({ top_logprobs: z.nullish(z.array(token)) }))) })),
      }),
    ],
    z.unknown(),
  ),
  usage: z.object(
    { prompt_tokens: z.int().nonnegative(), completion_tokens: z.int().nonnegative() },
    'the server gives no usage, which the budget and the cost ledger need',
  ),
});

/** A model behind `/v1/chat/completions`. Nothing is sent before the first call, nothing is kept between calls, and `paidModel` limits how many are under way. */
export function openHttpModel(options: HttpModelOptions): LanguageModel {
  const address = serviceAddress('--llm-url', options.url, 'chat/completions');
  const schema = options.schema ?? true;
  // Newer hosted models know only the second name; which one is learnt from the first refusal.
  let limitName: 'max_tokens' | 'max_completion_tokens' = 'max_tokens';

  const ask = async (request: ChatRequest, signal: AbortSignal | undefined): Promise<unknown> => {
    const sent = limitName;
    try {
      return await postJson(address, bodyOf(request, { model: options.model, schema, limitName: sent }), { ...options, signal });
    } catch (error) {
      if (!(error instanceof PostError)) throw error;
      if (error.status === 400 && sent === 'max_tokens' && error.message.includes('max_completion_tokens')) {
        limitName = 'max_completion_tokens';
        return ask(request, signal);
      }
      if (request.logprobs !== undefined && (error.status === 400 || error.status === 422) && /logprob/i.test(error.message))
        throw new NoLogprobsError(error.message);
      const refused = schema && request.schema !== undefined && (error.status === 400 || error.status === 422);
      throw new LanguageModelError(
        refused && /response_format|json_schema|schema|grammar|guided/i.test(error.message)
          ? `${error.message} (asked with a JSON schema; --no-llm-schema asks without one)`
          : error.message,
        error.worked ? 'unknown' : null,
      );
    }
  };
  return {
    identity: { door: 'openai', model: options.model, revision: options.revision ?? null, schema },
    constrains: schema,
    chat: async (request, { signal } = {}) => paidReply(address, request, await ask(request, signal)),
    close: async () => undefined,
  };
}

function bodyOf(
  request: ChatRequest,
  { model, schema, limitName }: { model: string; schema: boolean; limitName: string },
): { [field: string]: unknown } {
  return {
    model,
    messages: request.messages,
    [limitName]: request.maxTokens,
    temperature: request.temperature ?? 0,
    stream: false,
    ...(request.stop !== undefined && request.stop.length > 0 && { stop: request.stop }),
    ...(request.logprobs !== undefined && { logprobs: true, top_logprobs: request.logprobs }),
    ...(schema &&
      request.schema !== undefined && {
        response_format: { type: 'json_schema', json_schema: { name: 'reply', strict: true, schema: request.schema } },
      }),
  };
}

/** A reply of no use was made all the same, and is paid for. */
function paidReply(address: string, request: ChatRequest, answer: unknown): ChatReply {
  try {
    return replyOf(address, request, answer);
  } catch (error) {
    if (!(error instanceof LanguageModelError)) throw error;
    const { success, data } = completion.pick({ usage: true }).safeParse(answer);
    const took = success ? usageOf(data) : 'unknown';
    throw error instanceof NoLogprobsError ? new NoLogprobsError(error.message, took) : new LanguageModelError(error.message, took);
  }
}

function usageOf({ usage }: Pick<z.infer<typeof completion>, 'usage'>): ChatReply['usage'] {
  return { promptTokens: usage.prompt_tokens, completionTokens: usage.completion_tokens };
}

function replyOf(address: string, request: ChatRequest, answer: unknown): ChatReply {
  const parsed = completion.safeParse(answer);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    throw new LanguageModelError(`${address}: no chat completion (${issue?.path.join('.')}: ${issue?.message})`);
  }
  const { choices, usage } = parsed.data;
  const { message, finish_reason: reason, logprobs } = choices[0];
  const finish = FINISHES[reason ?? 'stop'];
  if (finish === undefined)
    throw new LanguageModelError(`${address}: the reply ended with finish_reason ${shown(reason)}, expected stop or length`);
  const whole = message.content ?? '';
  // Some servers leave the stop string in, or know none.
  const cut = firstStop(whole, request.stop ?? []);
  const text = cut === undefined ? whole : whole.slice(0, cut);
  return {
    text,
    finish: cut === undefined ? finish : 'stop',
    usage: usageOf({ usage }),
    logprobs: request.logprobs === undefined ? null : alignedLogprobs(address, text, tokensOf(address, whole, request.logprobs, logprobs)),
  };
}

function tokensOf(
  address: string,
  text: string,
  top: number,
  logprobs: z.infer<typeof completion>['choices'][0]['logprobs'],
): readonly ServerToken[] {
  const content = logprobs?.content ?? [];
  if (content.length === 0 && text !== '')
    throw new NoLogprobsError(
      `${address}: a reply without log-probabilities of its tokens, which were asked for; not every server gives them`,
    );
  if (top > 0 && content.some((one) => (one.top_logprobs ?? []).length === 0))
    throw new NoLogprobsError(`${address}: a reply without the ${top} most probable tokens at each place, which were asked for`);
  return content.map((one) => ({
    token: one.token,
    bytes: one.bytes ?? null,
    logprob: one.logprob,
    top: (one.top_logprobs ?? [])
      .map(({ token: text, logprob }) => ({ token: text, logprob }))
      .toSorted((a, b) => b.logprob - a.logprob)
      .slice(0, top),
  }));
}

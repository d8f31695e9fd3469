import { z } from 'zod';
import { InputError } from '../../src/core/errors.js';
import { PostError, type PostOptions, postJson, serviceAddress } from '../../src/llm/index.js';

export interface CompletionsOptions extends Omit<PostOptions, 'signal'> {
  /** Address of the server, with or without `/v1`. */
  url: string;
  /** The model's name on the server (with vLLM also that of a LoRA adapter). */
  model: string;
}

/** Log-probabilities of token ids from an OpenAI-compatible server's `/v1/completions` (vLLM, SGLang). */
export interface CompletionsClient {
  /** The most probable next tokens of each prompt, by their text, or as `token_id:N` where the server names them so (vLLM). */
  nextTokens(prompts: readonly (readonly number[])[], options?: { signal?: AbortSignal | undefined }): Promise<Map<string, number>[]>;
  /** For each prompt the log-probability of each of its tokens given those before it; null for the first. */
  promptTokens(prompts: readonly (readonly number[])[], options?: { signal?: AbortSignal | undefined }): Promise<(number | null)[][]>;
  /** Requests that were answered. */
  requests(): number;
}

/** How many next tokens are asked for: what vLLM gives at most unless it is told otherwise. */
const NEXT_TOKENS = 20;

const answer = z.object({
  choices: z.array(
    z.object({
      index: z.int().nonnegative(),
      logprobs: z.object({
        token_logprobs: z.array(z.nullable(z.number())),
        top_logprobs: z.nullish(z.array(z.nullable(z.record(z.string(), z.number())))),
      }),
    }),
  ),
});
type Choice = z.infer<typeof answer>['choices'][number];

/** Nothing is sent before the first call. Errors name the address, the status and what the server said. */
export function completionsClient(options: CompletionsOptions): CompletionsClient {
  const address = serviceAddress('--server', options.url, 'completions');
  let answered = 0;
  const ask = async (
    prompts: readonly (readonly number[])[],
    more: { [field: string]: unknown },
    signal: AbortSignal | undefined,
  ): Promise<Choice[]> => {
    const body = { model: options.model, prompt: prompts, max_tokens: 1, temperature: 0, ...more };
    const reply = await postJson(address, body, { ...options, signal }).catch((error: unknown) => {
      throw error instanceof PostError ? new InputError(error.message) : error;
    });
    const parsed = answer.safeParse(reply);
    if (!parsed.success) {
      const issue = parsed.error.issues[0];
      throw new InputError(`${address}: not an answer with log-probabilities (${issue?.path.join('.')}: ${issue?.message})`);
    }
    const choices = parsed.data.choices.toSorted((a, b) => a.index - b.index);
    if (choices.length !== prompts.length)
      throw new InputError(`${address}: got ${choices.length} choices for ${prompts.length} prompts of token ids, expected one each`);
    answered++;
    return choices;
  };
  return {
    nextTokens: async (prompts, { signal } = {}) => {
      const choices = await ask(prompts, { logprobs: NEXT_TOKENS, return_tokens_as_token_ids: true }, signal);
      return choices.map(({ logprobs }) => new Map(Object.entries(logprobs.top_logprobs?.[0] ?? {})));
    },
    promptTokens: async (prompts, { signal } = {}) => {
      const choices = await ask(prompts, { logprobs: 1, echo: true }, signal);
      return choices.map(({ logprobs }, at) => {
        const length = (prompts[at] as readonly number[]).length;
        if (logprobs.token_logprobs.length < length)
          throw new InputError(
            `${address}: got log-probabilities of ${logprobs.token_logprobs.length} tokens for a prompt of ${length}; ` +
              'the server has to give those of the prompt (echo)',
          );
        return logprobs.token_logprobs.slice(0, length);
      });
    },
    requests: () => answered,
  };
}

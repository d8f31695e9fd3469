import { setTimeout as wait } from 'node:timers/promises';
import { z } from 'zod';
import { InputError, shown } from '../src/core/errors.js';

export interface CompletionsOptions {
  /** Address of the server, with or without `/v1`. */
  url: string;
  /** The model's name on the server (with vLLM also that of a LoRA adapter). */
  model: string;
  /** Sent as a bearer token, never shown. */
  apiKey?: string | undefined;
  /** Milliseconds that one request may take. Default 60,000. */
  timeoutMs?: number | undefined;
  /** How often a request is sent again after 429 or 5xx. Default 4. */
  retries?: number | undefined;
  /** First pause before it; each further one is twice as long, and at least what `Retry-After` asks for. Default 500 ms. */
  backoffMs?: number | undefined;
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
  const address = completionsAddress(options.url);
  let answered = 0;
  const ask = async (
    prompts: readonly (readonly number[])[],
    more: { [field: string]: unknown },
    signal: AbortSignal | undefined,
  ): Promise<Choice[]> => {
    const body = JSON.stringify({ model: options.model, prompt: prompts, max_tokens: 1, temperature: 0, ...more });
    const parsed = answer.safeParse(await post(address, body, { ...options, signal }));
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

function completionsAddress(url: string): string {
  let parsed: URL;
  try {
    parsed = new URL(url);
  } catch {
    throw new InputError(`--server: got ${shown(url)}, expected an address such as http://localhost:8000`);
  }
  if (!/^https?:$/.test(parsed.protocol)) throw new InputError(`--server: got ${shown(url)}, expected http or https`);
  if (parsed.username !== '' || parsed.password !== '')
    throw new InputError('--server: got an address with a password in it, expected the key in the environment');
  return `${parsed.origin}${parsed.pathname.replace(/\/+$/, '').replace(/\/v1$/, '')}/v1/completions`;
}

/** Sends a request until it is answered. Only 429 and 5xx are sent again. */
async function post(
  address: string,
  body: string,
  {
    apiKey,
    timeoutMs = 60_000,
    retries = 4,
    backoffMs = 500,
    signal,
  }: Omit<CompletionsOptions, 'url' | 'model'> & { signal: AbortSignal | undefined },
): Promise<unknown> {
  for (let failures = 0; ; failures++) {
    signal?.throwIfAborted();
    const timeout = AbortSignal.timeout(timeoutMs);
    let response: Response;
    let text: string;
    try {
      response = await fetch(address, {
        method: 'POST',
        body,
        headers: { 'content-type': 'application/json', ...(apiKey !== undefined && { authorization: `Bearer ${apiKey}` }) },
        redirect: 'error',
        signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
      });
      text = await response.text();
    } catch (error) {
      signal?.throwIfAborted();
      if (timeout.aborted) throw new InputError(`${address}: no answer within ${timeoutMs / 1000} s`);
      const cause = (error as { cause?: { code?: string; message?: string } }).cause;
      throw new InputError(`${address}: ${cause?.code ?? cause?.message ?? (error as Error).message}`);
    }
    if (response.ok) {
      try {
        return JSON.parse(text);
      } catch {
        throw new InputError(`${address}: got ${shown(text, 60)}, expected JSON`);
      }
    }
    const again = response.status === 429 || response.status >= 500;
    if (!again || failures >= retries) {
      // A server may repeat the key that it refuses.
      const said = apiKey === undefined || apiKey === '' ? text : text.replaceAll(apiKey, '…');
      const tries = failures === 0 ? '' : ` after ${failures + 1} tries`;
      throw new InputError(`${address}: status ${response.status}${tries}: ${shown(said, 200)}`);
    }
    const asked = Number(response.headers.get('retry-after') ?? 0) * 1000;
    await wait(Math.min(30_000, Math.max(Number.isFinite(asked) ? asked : 0, backoffMs * 2 ** failures)), undefined, { signal });
  }
}

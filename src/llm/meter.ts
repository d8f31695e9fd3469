import type { LanguageModel, Usage } from './language-model.js';

/** The model with the sum of what the calls through it took, cached ones counted like others: what one question costs. */
export function metered(model: LanguageModel): { model: LanguageModel; usage(): Usage } {
  const sum: Usage = noUsage();
  return {
    usage: () => ({ ...sum }),
    model: {
      identity: model.identity,
      constrains: model.constrains,
      chat: async (request, options) => {
        const reply = await model.chat(request, options);
        addUsage(sum, { calls: 1, prompt_tokens: reply.usage.promptTokens, completion_tokens: reply.usage.completionTokens });
        return reply;
      },
      countTokens: model.countTokens?.bind(model),
      close: () => model.close(),
    },
  };
}

export function noUsage(): Usage {
  return { calls: 0, prompt_tokens: 0, completion_tokens: 0 };
}

/** Adds to `sum` in place. */
export function addUsage(sum: Usage, more: Usage): void {
  sum.calls += more.calls;
  sum.prompt_tokens += more.prompt_tokens;
  sum.completion_tokens += more.completion_tokens;
}

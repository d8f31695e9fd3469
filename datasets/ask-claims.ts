import type { ChatReply, LanguageModel } from '../src/llm/index.js';
import {
  CLAIM_SCHEMA,
  CLAIM_TOKENS,
  EXTRACTION_INPUT_TOKENS,
  TEMPLATE_TOKENS,
  claimContents,
  cutToFit,
  estimateTokens,
} from '../src/prompts/index.js';

export interface AskClaimsOptions {
  /** What was found so far, as lines; default: the question alone is read. */
  evidence?: string | undefined;
  /** Bind the reply to a JSON schema where the model can. Default false, as the papers ask. */
  constrained?: boolean | undefined;
  signal?: AbortSignal | undefined;
}

/** The one call that has a language model write a question's hop claims (method.md §2): greedy, at most 256 tokens. `parseClaims` reads the reply. */
export async function askClaims(
  model: LanguageModel,
  question: string,
  { evidence, constrained = false, signal }: AskClaimsOptions = {},
): Promise<ChatReply> {
  const { system, user } = await promptOf(question, evidence, model);
  return model.chat(
    {
      messages: [
        { role: 'system', content: system },
        { role: 'user', content: user },
      ],
      maxTokens: CLAIM_TOKENS,
      ...(constrained && { schema: CLAIM_SCHEMA }),
    },
    { signal },
  );
}

async function promptOf(question: string, evidence: string | undefined, model: LanguageModel): Promise<{ system: string; user: string }> {
  if (evidence === undefined) return claimContents(question);
  const count = (text: string): number | Promise<number> => model.countTokens?.(text) ?? estimateTokens(text);
  const fitted = await cutToFit(evidence, EXTRACTION_INPUT_TOKENS, async (some) => {
    const { system, user } = claimContents(question, some);
    return (await count(system)) + (await count(user)) + TEMPLATE_TOKENS;
  });
  return claimContents(question, fitted);
}

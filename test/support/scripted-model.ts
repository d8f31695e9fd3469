import type { ChatReply, ChatRequest, LanguageModel } from '../../src/llm/index.js';
import type { Json } from '../../src/core/manifest.js';

/** What a scripted model says: its text, or parts of the reply. An Error is thrown. */
export type Scripted = string | Partial<ChatReply> | Error;

export interface ScriptedModel extends LanguageModel {
  /** Every request that reached it, in order. */
  readonly requests: ChatRequest[];
  /** The largest number of calls that were open at once. */
  readonly mostAtOnce: () => number;
}

/** A language model that answers by a function. It counts words as tokens, and a reply of more words than may be is cut off. */
export function scriptedModel(
  say: (request: ChatRequest) => Scripted | Promise<Scripted>,
  options: { identity?: Json; constrains?: boolean } = {},
): ScriptedModel {
  const requests: ChatRequest[] = [];
  let [open, most] = [0, 0];
  return {
    identity: options.identity ?? { model: 'scripted' },
    constrains: options.constrains ?? false,
    requests,
    mostAtOnce: () => most,
    chat: async (request, { signal } = {}) => {
      signal?.throwIfAborted();
      requests.push(request);
      most = Math.max(most, ++open);
      try {
        const said = await say(request);
        if (said instanceof Error) throw said;
        const parts = typeof said === 'string' ? { text: said } : said;
        const pieces = (parts.text ?? '').match(/\s*\S+/g) ?? [];
        const whole = parts.finish !== 'length' && pieces.length <= request.maxTokens;
        const text = whole ? (parts.text ?? '') : pieces.slice(0, request.maxTokens).join('');
        return {
          text,
          finish: whole ? 'stop' : 'length',
          usage: {
            promptTokens: wordsIn(request.messages.map(({ content }) => content).join(' ')),
            completionTokens: Math.min(pieces.length, request.maxTokens),
          },
          logprobs: null,
          ...(parts.usage && { usage: parts.usage }),
          ...(parts.logprobs && { logprobs: parts.logprobs }),
        };
      } finally {
        open--;
      }
    },
    close: async () => undefined,
  };
}

function wordsIn(text: string): number {
  return text.match(/\S+/g)?.length ?? 0;
}

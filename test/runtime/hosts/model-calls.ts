import type { ModelRequest } from '../../support/host-matrix.js';

/** What a language model of the Vercel AI SDK is called with, in all its versions; Mastra calls the same. */
export interface CallOptions {
  prompt: readonly { role: string; content: string | readonly { type: string; text?: string }[] }[];
  tools?: readonly unknown[];
  toolChoice?: { type: string };
}

export function requestOf({ prompt, tools = [], toolChoice }: CallOptions): ModelRequest {
  return {
    messages: prompt.map(({ role, content }) => ({
      role,
      text: typeof content === 'string' ? content : content.map((part) => part.text ?? JSON.stringify(part)).join('\n'),
    })),
    tools: tools.length > 0 && toolChoice?.type !== 'none',
    listed: tools.length,
  };
}

/** A text as it is streamed, word by word. */
export function textParts(text: string): object[] {
  const deltas = text.split(/(?<= )/).map((delta) => ({ type: 'text-delta', id: '1', delta }));
  return [{ type: 'text-start', id: '1' }, ...deltas, { type: 'text-end', id: '1' }];
}

import type { Evidence, EvidenceItem } from '../session/evidence.js';

export interface ToolCall {
  readonly name: string;
  readonly args: unknown;
  readonly id?: string | undefined;
}

/** What is read of a message of @langchain/core: an AIMessage, a ToolMessage, or any other. */
export interface ChatMessage {
  readonly content: unknown;
  readonly tool_calls?: readonly ToolCall[] | undefined;
  readonly usage_metadata?:
    | {
        readonly total_tokens?: number | undefined;
        readonly input_tokens?: number | undefined;
        readonly output_tokens?: number | undefined;
      }
    | undefined;
  readonly artifact?: unknown;
  /** Of a tool's message: `error` where the tool failed or there is none of that name. */
  readonly status?: unknown;
  getType?(): string;
}

/** What the adapters for LangChain.js and LangGraph.js read of their options alike. */
export interface MessageReading {
  /** The tools that search. Default: the only tool there is; of several the searching ones have to be named. */
  search?: readonly string[] | undefined;
  /** What of a search tool's message is evidence. Default: see `evidenceOf`. */
  evidence?: ((message: ChatMessage, input: unknown) => Evidence) | undefined;
  /** The follow-up query in a search tool's input. Default: its field `query`. */
  query?: ((input: unknown) => string | undefined) | undefined;
}

export function textOf({ content }: Pick<ChatMessage, 'content'>): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content.map((block: { type?: string; text?: unknown }) => (typeof block.text === 'string' ? block.text : '')).join('');
}

export function callsOf({ tool_calls: calls }: ChatMessage): readonly ToolCall[] {
  return calls ?? [];
}

/** What the provider says the request took; nothing where it does not say. */
export function tokensOf({ usage_metadata: usage }: ChatMessage): number {
  return usage?.total_tokens ?? (usage?.input_tokens ?? 0) + (usage?.output_tokens ?? 0);
}

/**
 * Evidence in a search tool's message: its artifact (`responseFormat: 'content_and_artifact'`) where that is a text or a list of sentences,
 * the list where the tool returned one (the host writes it as JSON into the content), else the content's text.
 */
export function evidenceOf(message: ChatMessage): Evidence {
  const { artifact } = message;
  if (typeof artifact === 'string' || isSentences(artifact)) return artifact;
  const text = textOf(message);
  if (!text.startsWith('[')) return text;
  try {
    const parsed: unknown = JSON.parse(text);
    return isSentences(parsed) ? parsed : text;
  } catch {
    return text;
  }
}

/** LangGraph's signals to itself, such as an interrupt, travel as errors: they are not a tool's failure. */
export function isBubbling(error: unknown): boolean {
  return typeof error === 'object' && error !== null && (error as { is_bubble_up?: unknown }).is_bubble_up === true;
}

/** What a tool's failure is told to the model as, in the host's own words. */
export function failureText(error: unknown): string {
  return `${String(error)}\n Please fix your mistakes.`;
}

function isSentences(value: unknown): value is readonly EvidenceItem[] {
  return (
    Array.isArray(value) &&
    value.every(
      (item) =>
        typeof item === 'string' || (typeof item === 'object' && item !== null && typeof (item as { text?: unknown }).text === 'string'),
    )
  );
}

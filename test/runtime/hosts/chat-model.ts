import type { z as Zod } from 'zod';
import type { Evidence } from '../../../runtime/index.js';
import type { ModelRequest, Turn } from '../../support/host-matrix.js';
import type { HostPackages } from '../../support/host-packages.js';

/** As the matrix has it, or a call of another tool. */
export type AnyModel = (request: ModelRequest, at: number) => Turn | { call: string; args: object };

/** Messages of the real @langchain/core, as far as the tests read them. */
export interface Message {
  text: string;
  content: unknown;
  tool_calls?: readonly { name: string; args: unknown; id?: string }[];
  getType: () => string;
}

export interface Core {
  AIMessage: new (fields: object) => Message;
  HumanMessage: new (text: string) => Message;
  tool: (run: (input: never) => unknown, fields: object) => { name: string; invoke: (call: never) => Promise<unknown> };
  z: typeof Zod;
  chatModel: (model: AnyModel) => ChatModel;
}

export interface ChatModel {
  invoke: (messages: never, config?: never) => Promise<Message>;
  bindTools: (tools: readonly object[]) => ChatModel;
}

export const TOKENS_OF_REQUEST = 10;

/** The real packages, and a chat model over their base class that a function answers for. */
export async function openCore(packages: HostPackages): Promise<Core> {
  const { AIMessage, HumanMessage } = await packages.load<Pick<Core, 'AIMessage' | 'HumanMessage'>>('@langchain/core/messages');
  const { tool } = await packages.load<Pick<Core, 'tool'>>('@langchain/core/tools');
  const { BaseChatModel } = await packages.load<{ BaseChatModel: new (fields: object) => { withConfig: (config: object) => ChatModel } }>(
    '@langchain/core/language_models/chat_models',
  );
  const { z } = await packages.load<{ z: typeof Zod }>('zod');

  class ScriptedChatModel extends BaseChatModel {
    readonly model: AnyModel;
    at = 0;

    constructor(model: AnyModel) {
      super({});
      this.model = model;
    }
    _llmType(): string {
      return 'scripted';
    }
    bindTools(tools: readonly object[], settings: object = {}): ChatModel {
      return this.withConfig({ tools, ...settings });
    }
    _generate(messages: readonly Message[], options: { tools?: readonly object[]; tool_choice?: unknown }): Promise<object> {
      const request: ModelRequest = {
        messages: messages.map((message) => ({ role: message.getType(), text: message.text })),
        tools: (options.tools ?? []).length > 0 && options.tool_choice !== 'none',
      };
      const turn = this.model(request, this.at++);
      const message = new AIMessage({
        content: 'text' in turn ? turn.text : '',
        tool_calls: callsOf(turn).map((call, nth) => ({ ...call, id: `call-${this.at}-${nth}`, type: 'tool_call' })),
        usage_metadata: { input_tokens: 7, output_tokens: 3, total_tokens: TOKENS_OF_REQUEST },
      });
      return Promise.resolve({ generations: [{ text: message.text, message }] });
    }
  }
  return { AIMessage, HumanMessage, tool, z, chatModel: (model) => new ScriptedChatModel(model) as unknown as ChatModel };
}

export function searchTool({ tool, z }: Core, search: (query: string) => Promise<Evidence>): ReturnType<Core['tool']> {
  return tool(({ query }: { query: string }) => search(query), {
    name: 'search',
    description: 'Searches the corpus.',
    schema: z.object({ query: z.string() }),
  });
}

function callsOf(turn: ReturnType<AnyModel>): { name: string; args: object }[] {
  if ('text' in turn) return [];
  if ('search' in turn) return turn.search.map((query) => ({ name: 'search', args: { query } }));
  return [{ name: turn.call, args: turn.args }];
}

import { type CoverageSettings, coverageMiddleware, invokeWithCoverageStop } from '../../../runtime/hosts/langchain.js';
import type { HostUnderTest } from '../../support/host-matrix.js';
import type { HostPackages } from '../../support/host-packages.js';
import { type Message, TOKENS_OF_REQUEST, openCore, searchTool } from './chat-model.js';
import type { LangGraph } from './langgraph-host.js';

/** What the tests use of langchain. */
export interface LangChain extends Pick<LangGraph, 'core' | 'MemorySaver' | 'interrupt' | 'Command'> {
  createAgent: (options: object) => Agent;
  createMiddleware: (hooks: object) => object;
  toolStrategy: (schema: object) => object;
}

export interface Agent {
  stream: (input: object, config?: object) => Promise<AsyncIterable<{ messages: Message[] }>>;
  invoke: (input: object, config?: object) => Promise<{ messages: Message[] }>;
  graph: { nodes: object };
}

export async function openLangChain(packages: HostPackages): Promise<LangChain> {
  const core = await openCore(packages);
  const { MemorySaver, interrupt, Command } = await packages.load<LangGraph>('@langchain/langgraph');
  return { ...(await packages.load<LangChain>('langchain')), MemorySaver, interrupt, Command, core };
}

export function langChainHost(
  { core, createAgent, createMiddleware }: LangChain,
  {
    settings,
    version = 'v2',
    others = (own) => [own],
  }: { settings?: CoverageSettings; version?: 'v1' | 'v2'; others?: (own: object) => readonly object[] } = {},
): HostUnderTest {
  return {
    tokensOfRequest: TOKENS_OF_REQUEST,
    run: async ({ session, question, model, search }) => {
      const agent = createAgent({
        model: core.chatModel(model),
        tools: [searchTool(core, search)],
        middleware: others(createMiddleware(coverageMiddleware(session, settings))),
        version,
      });
      return invokeWithCoverageStop(agent, { messages: [new core.HumanMessage(question)] }, session);
    },
  };
}

import { type CoverageSettings, coverageMiddleware, invokeWithCoverageStop } from '../../../runtime/hosts/langchain.js';
import type { HostUnderTest } from '../../support/host-matrix.js';
import type { HostPackages } from '../../support/host-packages.js';
import { type Core, type Message, TOKENS_OF_REQUEST, openCore, searchTool } from './chat-model.js';

/** What the tests use of langchain. */
export interface LangChain {
  core: Core;
  createAgent: (options: object) => Agent;
  createMiddleware: (hooks: object) => object;
}

export interface Agent {
  invoke: (input: object, config?: object) => Promise<{ messages: Message[] }>;
  graph: { nodes: object };
}

export async function openLangChain(packages: HostPackages): Promise<LangChain> {
  const core = await openCore(packages);
  return { ...(await packages.load<LangChain>('langchain')), core };
}

export function langChainHost(
  { core, createAgent, createMiddleware }: LangChain,
  { settings, version = 'v2' }: { settings?: CoverageSettings; version?: 'v1' | 'v2' } = {},
): HostUnderTest {
  return {
    tokensOfRequest: TOKENS_OF_REQUEST,
    run: async ({ session, question, model, search }) => {
      const agent = createAgent({
        model: core.chatModel(model),
        tools: [searchTool(core, search)],
        middleware: [createMiddleware(coverageMiddleware(session, settings))],
        version,
      });
      return invokeWithCoverageStop(agent, { messages: [new core.HumanMessage(question)] }, session);
    },
  };
}

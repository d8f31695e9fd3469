import { type CoverageNodesOptions, coverageNodes, invokeWithCoverageStop } from '../../../runtime/hosts/langgraph.js';
import type { HostUnderTest } from '../../support/host-matrix.js';
import type { HostPackages } from '../../support/host-packages.js';
import { type Core, type Message, TOKENS_OF_REQUEST, openCore, searchTool } from './chat-model.js';

export interface State {
  messages: Message[];
}
export interface Compiled {
  invoke: (input: object, config?: object) => Promise<State>;
}
export interface Graph {
  addNode: (name: string, node: unknown) => Graph;
  addEdge: (from: string, to: string) => Graph;
  addConditionalEdges: (from: string, edge: unknown, to: readonly string[]) => Graph;
  compile: (options?: object) => Compiled;
}

/** What the tests use of @langchain/langgraph. */
export interface LangGraph {
  core: Core;
  StateGraph: new (state: unknown) => Graph;
  MessagesAnnotation: unknown;
  MemorySaver: new () => object;
  Annotation: { Root: (fields: object) => unknown } & (() => unknown);
  interrupt: (value: unknown) => unknown;
  Command: new (fields: object) => object;
}

export async function openLangGraph(packages: HostPackages): Promise<LangGraph> {
  const core = await openCore(packages);
  return { ...(await packages.load<LangGraph>('@langchain/langgraph')), core };
}

export function searchGraph(
  { StateGraph, MessagesAnnotation }: LangGraph,
  sessions: Parameters<typeof coverageNodes>[0],
  options: CoverageNodesOptions,
): Graph {
  const { agent, tools, answer, afterAgent, afterTools } = coverageNodes(sessions, options);
  return new StateGraph(MessagesAnnotation)
    .addNode('agent', agent)
    .addNode('tools', tools)
    .addNode('answer', answer)
    .addEdge('__start__', 'agent')
    .addConditionalEdges('agent', afterAgent, ['agent', 'tools', 'answer', '__end__'])
    .addConditionalEdges('tools', afterTools, ['agent', 'answer'])
    .addEdge('answer', '__end__');
}

export function langGraphHost(host: LangGraph, settings: Partial<CoverageNodesOptions> = {}): HostUnderTest {
  const { core } = host;
  return {
    tokensOfRequest: TOKENS_OF_REQUEST,
    run: async ({ session, question, model, search }) => {
      const answerModel = core.chatModel(model);
      const tools = [searchTool(core, search)];
      const graph = searchGraph(host, session, { model: answerModel.bindTools(tools), answerModel, tools, ...settings }).compile();
      return invokeWithCoverageStop(graph, { messages: [new core.HumanMessage(question)] }, session);
    },
  };
}

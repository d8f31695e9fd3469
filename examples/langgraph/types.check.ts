// Compiled by a test, never run: the adapter's structural types against those of @langchain/langgraph.
import { type BaseMessage, HumanMessage } from '@langchain/core/messages';
import { fakeModel } from '@langchain/core/testing';
import { tool } from '@langchain/core/tools';
import { Annotation, END, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
import { type CoverageResult, coverageEdge, coverageNodes, coverageSearch, invokeWithCoverageStop } from 'hopgate/langgraph';
import { type GateSession, anyOf, stopped, tokensAtLeast } from 'hopgate/runtime';
import { z } from 'zod';

declare const session: GateSession;
declare const sessions: Map<string, GateSession>;

const search = tool(({ query }) => [query], { name: 'search', description: 'Searches.', schema: z.object({ query: z.string() }) });
const model = fakeModel();

const { agent, tools, answer, afterAgent, afterTools } = coverageNodes(
  ({ configurable }) => sessions.get(String(configurable?.thread_id)),
  {
    model: model.bindTools([search]),
    answerModel: model,
    tools: [search],
    stopWhen: anyOf(stopped, tokensAtLeast(1000)),
  },
);
const graph = new StateGraph(MessagesAnnotation)
  .addNode('agent', agent)
  .addNode('tools', tools)
  .addNode('answer', answer)
  .addEdge(START, 'agent')
  .addConditionalEdges('agent', afterAgent)
  .addConditionalEdges('tools', afterTools)
  .addEdge('answer', END)
  .compile();

export async function ends(): Promise<string> {
  const end = await invokeWithCoverageStop(graph, { messages: [new HumanMessage('q')] }, session, { configurable: { thread_id: 't' } });
  const messages: BaseMessage[] = end.result.messages;
  const any: CoverageResult<unknown> = end;
  return any.answer + messages.length;
}

const State = Annotation.Root({ query: Annotation<string>(), documents: Annotation<string[]>() });

/** A graph without tool calls, whose search is a node. */
export const plain = new StateGraph(State)
  .addNode(
    'retrieve',
    coverageSearch(session, (state: typeof State.State) => ({ documents: [state.query] }), {
      evidence: ({ documents }) => documents,
      query: ({ query }) => query,
    }),
  )
  .addNode('respond', () => ({}))
  .addEdge(START, 'retrieve')
  .addConditionalEdges('retrieve', coverageEdge(session, { search: 'retrieve', answer: 'respond' }))
  .addEdge('respond', END)
  .compile();

// @ts-expect-error a session, not a question
coverageNodes('q', { model, answerModel: model, tools: [search] });
// @ts-expect-error a model is needed for the answer
coverageNodes(session, { model, tools: [search] });

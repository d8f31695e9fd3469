import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { coverageEdge, coverageSearch, invokeWithCoverageStop } from '../../../runtime/hosts/langgraph.js';
import { type StopCondition, allOf, anyOf, covered, finalInstruction, not, stepsAtLeast, tokensAtLeast } from '../../../runtime/index.js';
import { type HostUnderTest, hostMatrix, runHost } from '../../support/host-matrix.js';
import { hostPackagesOrSkip } from '../../support/host-packages.js';
import { scriptedGate } from '../../support/scripted-gate.js';
import { type GraphHost, graphCases } from './graph-cases.js';
import { type Compiled, type LangGraph, langGraphHost, openLangGraph, searchGraph } from './langgraph-host.js';

const open = async (t: TestContext): Promise<LangGraph | undefined> => {
  const packages = hostPackagesOrSkip(t, 'langgraph');
  return packages && openLangGraph(packages);
};

hostMatrix('LangGraph.js', async (t): Promise<HostUnderTest | undefined> => {
  const host = await open(t);
  return host && langGraphHost(host);
});

graphCases('LangGraph.js', async (t): Promise<GraphHost | undefined> => {
  const host = await open(t);
  if (!host) return undefined;
  return {
    ...host,
    agent: ({ sessions, model, checkpointer, tools, ...settings }) => {
      let graph: Compiled | undefined;
      return async (input, session, config) => {
        const answerModel = host.core.chatModel(model);
        graph ??= searchGraph(host, sessions, { ...settings, model: answerModel.bindTools(tools), answerModel, tools }).compile({
          checkpointer,
        });
        return invokeWithCoverageStop(graph, input, session, config);
      };
    },
  };
});

test('P90: LangGraph.js: joined conditions in the conditional edge end the search, and the run still answers', async (t) => {
  const host = await open(t);
  if (!host) return;
  const enough = anyOf(covered, allOf(stepsAtLeast(2), not(covered)), tokensAtLeast(1000));
  const ran = await runHost(langGraphHost(host, { stopWhen: enough }), { decider: () => false });
  assert.deepEqual([ran.session.stoppedBy, ran.searches.length, ran.answer], ['hostFinished', 2, 'In Lyon, as found.']);
  assert.ok(ran.requests.at(-1)?.messages.some(({ text }) => text === finalInstruction({ stoppedBy: 'hostFinished' })));
  // A condition that never holds does not keep the gate from stopping.
  const never: StopCondition = () => false;
  const stopped = await runHost(langGraphHost(host, { stopWhen: never }), { decider: ({ loop }) => loop === 2 });
  assert.deepEqual([stopped.session.stoppedBy, stopped.searches.length], ['covered', 2]);
});

test('P80: LangGraph.js: in a graph without tool calls the searching node does nothing after the stop, and the edge leads to the answer', async (t) => {
  const host = await open(t);
  if (!host) return;
  const { StateGraph, Annotation } = host;
  const session = await scriptedGate(({ loop }) => loop === 2, { mode: 'shadow' }).gate.open('Who?');
  let searches = 0;
  const retrieve = coverageSearch(session, (state: { query: string }) => ({ documents: [`${state.query} ${++searches} 1,0,0`] }), {
    evidence: ({ documents }) => documents,
    query: ({ query }) => query,
  });
  const visits: string[] = [];
  const graph = new StateGraph(Annotation.Root({ query: Annotation(), documents: Annotation() }))
    .addNode('retrieve', retrieve)
    .addNode('again', retrieve)
    .addNode('respond', () => {
      visits.push('respond');
      return {};
    })
    .addEdge('__start__', 'retrieve')
    .addConditionalEdges('retrieve', coverageEdge(session, { search: 'retrieve', answer: 'again' }), ['retrieve', 'again'])
    .addEdge('again', 'respond')
    .addEdge('respond', '__end__')
    .compile();
  const state = (await graph.invoke({ query: 'q' })) as unknown as { documents: string[] };
  assert.deepEqual([session.stoppedBy, searches, state.documents, visits], ['covered', 2, ['q 2 1,0,0'], ['respond']]);
});

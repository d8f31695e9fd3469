import assert from 'node:assert/strict';
import { test } from 'node:test';
import { coverageEdge, invokeWithCoverageStop } from '../../../runtime/hosts/langgraph.js';
import { hostPackagesOrSkip } from '../../support/host-packages.js';
import { scriptedGate } from '../../support/scripted-gate.js';
import { openLangGraph } from './langgraph-host.js';

test('P87: LangGraph.js: a graph that goes round without a search is led to its answer by the edge, not ended by the host', async (t) => {
  const packages = hostPackagesOrSkip(t, 'langgraph');
  if (!packages) return;
  const { core, StateGraph, MessagesAnnotation } = await openLangGraph(packages);
  // 20 turns where nothing is said, each behind the visit that it leads from.
  for (const [maxTurns, visits] of [
    [undefined, 21],
    [3, 4],
  ] as const) {
    const session = await scriptedGate(() => false).gate.open('Who?');
    let seen = 0;
    const graph = new StateGraph(MessagesAnnotation)
      .addNode('think', () => {
        seen++;
        return { messages: [] };
      })
      .addNode('answer', () => ({ messages: [{ role: 'assistant', content: 'Unknown.' }] }))
      .addEdge('__start__', 'think')
      .addConditionalEdges('think', coverageEdge(session, { search: 'think', answer: 'answer', maxTurns }), ['think', 'answer'])
      .addEdge('answer', '__end__')
      .compile();
    const end = await invokeWithCoverageStop(graph, { messages: [new core.HumanMessage('Who?')] }, session);
    assert.deepEqual([end.answer, end.stoppedBy, seen], ['Unknown.', 'hostFinished', visits]);
  }
});

// A search agent in LangGraph.js that stops when its evidence covers the question, and still answers.
//   node examples/install.mjs langgraph && node examples/langgraph/agent.mjs
import { AIMessage, HumanMessage } from '@langchain/core/messages';
import { fakeModel } from '@langchain/core/testing';
import { tool } from '@langchain/core/tools';
import { END, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
import { coverageNodes, invokeWithCoverageStop } from 'hopgate/langgraph';
import { allOf, anyOf, covered, not, stepsAtLeast, tokensAtLeast } from 'hopgate/runtime';
import { z } from 'zod';
import { search } from '../corpus.mjs';
import { openGate, show } from '../gate.mjs';
import { QUESTION, reply } from '../scripted-agent.mjs';

const searchTool = tool(async ({ query }) => search(query), {
  name: 'search',
  description: 'Searches the corpus for sentences.',
  schema: z.object({ query: z.string() }),
});

/** The host's own fake model, with its turns queued: one with the tool bound, one for the answer. @param {boolean} tools */
function model(tools) {
  const fake = fakeModel();
  for (let turn = 1; turn <= 10; turn++)
    fake.respond((messages) => {
      const said = reply({ text: messages.map(({ text }) => text).join('\n'), tools });
      const usage_metadata = { input_tokens: 100, output_tokens: 20, total_tokens: 120 };
      if ('answer' in said) return new AIMessage({ content: said.answer, usage_metadata });
      const call = { name: 'search', args: said, id: `call-${turn}`, type: /** @type {const} */ ('tool_call') };
      return new AIMessage({ content: '', tool_calls: [call], usage_metadata });
    });
  return fake;
}

const { gate, log, close } = await openGate();
const session = await gate.open(QUESTION);
const { agent, tools, answer, afterAgent, afterTools } = coverageNodes(session, {
  model: model(true).bindTools([searchTool]),
  answerModel: model(false),
  tools: [searchTool],
  // Covered, five searches that were not, or 5,000 tokens. The gate's own bounds hold beside it.
  stopWhen: anyOf(covered, allOf(stepsAtLeast(5), not(covered)), tokensAtLeast(5000)),
});
const graph = new StateGraph(MessagesAnnotation)
  .addNode('agent', agent)
  .addNode('tools', tools)
  .addNode('answer', answer)
  .addEdge(START, 'agent')
  .addConditionalEdges('agent', afterAgent, ['agent', 'tools', 'answer', END])
  .addConditionalEdges('tools', afterTools, ['agent', 'answer'])
  .addEdge('answer', END)
  .compile();
show(log, await invokeWithCoverageStop(graph, { messages: [new HumanMessage(QUESTION)] }, session));
await close();

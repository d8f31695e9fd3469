// A search agent of LangChain.js that stops when its evidence covers the question, and still answers.
//   node examples/install.mjs langchain && node examples/langchain/agent.mjs
import { fakeModel } from '@langchain/core/testing';
import { coverageMiddleware, invokeWithCoverageStop } from 'hopgate/langchain';
import { AIMessage, HumanMessage, createAgent, createMiddleware, tool } from 'langchain';
import { z } from 'zod';
import { search } from '../corpus.mjs';
import { openGate, show } from '../gate.mjs';
import { QUESTION, reply } from '../scripted-agent.mjs';

const searchTool = tool(async ({ query }) => search(query), {
  name: 'search',
  description: 'Searches the corpus for sentences.',
  schema: z.object({ query: z.string() }),
});

// The host's own fake model, with its turns queued. It is not told which tools it may call, so it goes by the instruction.
const model = fakeModel();
for (let turn = 1; turn <= 10; turn++)
  model.respond((messages) => {
    const text = messages.map((message) => message.text).join('\n');
    const said = reply({ text, tools: !text.includes('Do not search again.') });
    const usage_metadata = { input_tokens: 100, output_tokens: 20, total_tokens: 120 };
    if ('answer' in said) return new AIMessage({ content: said.answer, usage_metadata });
    const call = { name: 'search', args: said, id: `call-${turn}`, type: /** @type {const} */ ('tool_call') };
    return new AIMessage({ content: '', tool_calls: [call], usage_metadata });
  });

const { gate, log, close } = await openGate();
const session = await gate.open(QUESTION);
const agent = createAgent({ model, tools: [searchTool], middleware: [createMiddleware(coverageMiddleware(session))] });
show(log, await invokeWithCoverageStop(agent, { messages: [new HumanMessage(QUESTION)] }, session));
await close();

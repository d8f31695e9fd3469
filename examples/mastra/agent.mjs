// A Mastra agent that stops searching when its evidence covers the question, and still answers.
//   node examples/install.mjs mastra && node examples/mastra/agent.mjs
import { Agent } from '@mastra/core/agent';
import { MastraLanguageModelV2Mock } from '@mastra/core/test-utils/llm-mock';
import { createTool } from '@mastra/core/tools';
import { generateWithCoverageStop } from 'hopgate/mastra';
import { z } from 'zod';
import { search } from '../corpus.mjs';
import { openGate, show } from '../gate.mjs';
import { QUESTION, reply } from '../scripted-agent.mjs';

const model = new MastraLanguageModelV2Mock({
  doGenerate: async ({ prompt, tools, toolChoice }) => {
    const said = reply({ text: JSON.stringify(prompt), tools: tools !== undefined && toolChoice?.type !== 'none' });
    const usage = { inputTokens: 100, outputTokens: 20, totalTokens: 120 };
    if ('answer' in said) return { content: [{ type: 'text', text: said.answer }], finishReason: 'stop', usage, warnings: [] };
    const call = { toolCallId: said.query, toolName: 'search', input: JSON.stringify(said) };
    return { content: [{ type: 'tool-call', ...call }], finishReason: 'tool-calls', usage, warnings: [] };
  },
});

const agent = new Agent({
  id: 'searcher',
  name: 'Searcher',
  instructions: 'Search for what the question needs, then answer it.',
  model,
  tools: {
    search: createTool({
      id: 'search',
      description: 'Searches the corpus for sentences.',
      inputSchema: z.object({ query: z.string() }),
      execute: async ({ query }) => search(query),
    }),
  },
});

const { gate, log, close } = await openGate();
const session = await gate.open(QUESTION);
const end = await generateWithCoverageStop((options) => agent.generate(QUESTION, options), {}, session);
show(log, end);
await close();

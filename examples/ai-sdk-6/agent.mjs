// A search agent of the Vercel AI SDK (ai 6) that stops when its evidence covers the question, and still answers.
//   node examples/install.mjs ai-sdk-6 && node examples/ai-sdk-6/agent.mjs
import { generateText, tool } from 'ai';
import { MockLanguageModelV3 } from 'ai/test';
import { generateWithCoverageStop } from 'hopgate/ai-sdk';
import { z } from 'zod';
import { search } from '../corpus.mjs';
import { openGate, show } from '../gate.mjs';
import { QUESTION, reply } from '../scripted-agent.mjs';

const model = new MockLanguageModelV3({
  doGenerate: async ({ prompt, tools, toolChoice }) => {
    const said = reply({ text: JSON.stringify(prompt), tools: tools !== undefined && toolChoice?.type !== 'none' });
    const usage = {
      inputTokens: { total: 100, noCache: 100, cacheRead: 0, cacheWrite: 0 },
      outputTokens: { total: 20, text: 20, reasoning: 0 },
    };
    if ('answer' in said)
      return { content: [{ type: 'text', text: said.answer }], finishReason: { unified: 'stop', raw: 'stop' }, usage, warnings: [] };
    const call = { toolCallId: said.query, toolName: 'search', input: JSON.stringify(said) };
    return { content: [{ type: 'tool-call', ...call }], finishReason: { unified: 'tool-calls', raw: 'tool_calls' }, usage, warnings: [] };
  },
});

const { gate, log, close } = await openGate();
const session = await gate.open(QUESTION);
const end = await generateWithCoverageStop(
  (options) => generateText(options),
  {
    model,
    prompt: QUESTION,
    tools: {
      search: tool({
        description: 'Searches the corpus for sentences.',
        inputSchema: z.object({ query: z.string() }),
        execute: async ({ query }) => search(query),
      }),
    },
  },
  session,
);
show(log, end);
await close();

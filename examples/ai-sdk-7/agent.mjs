// A search agent of the Vercel AI SDK (ai 7) that stops when its evidence covers the question, and still answers. The gate's decider is asked as a
// decision model: any of ai 7 can stand in its place, and it in any's.
//   node examples/install.mjs ai-sdk-7 && node examples/ai-sdk-7/agent.mjs
import { experimental_decide, generateText, tool } from 'ai';
import { MockLanguageModelV4 } from 'ai/test';
import { decisionDecider, generateWithCoverageStop, verifierModel } from 'hopgate/ai-sdk';
import { z } from 'zod';
import { search } from '../corpus.mjs';
import { decider, openGate, show } from '../gate.mjs';
import { QUESTION, reply } from '../scripted-agent.mjs';

const model = new MockLanguageModelV4({
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

const asked = decisionDecider((options) => experimental_decide(options), { model: verifierModel(decider), identity: decider.name });
const { gate, log, close } = await openGate({ decider: asked });
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

import type { TestContext } from 'node:test';
import type { z as Zod } from 'zod';
import { generateWithCoverageStop, streamWithCoverageStop } from '../../../runtime/hosts/mastra.js';
import { type HostUnderTest, type Model, type ModelRequest, hostMatrix } from '../../support/host-matrix.js';
import { type HostPackages, hostPackagesOrSkip } from '../../support/host-packages.js';

interface Agent {
  generate: (question: string, options: object) => Promise<never>;
  stream: (question: string, options: object) => Promise<never>;
}

interface CallOptions {
  prompt: readonly { role: string; content: string | readonly { type: string; text?: string }[] }[];
  tools?: readonly unknown[];
  toolChoice?: { type: string };
}

const TOKENS = { inputTokens: 7, outputTokens: 3, totalTokens: 10 };

/** The matrix's agent, made of the real package and its own mock model. */
async function mastraHost(packages: HostPackages, by: 'generate' | 'stream'): Promise<HostUnderTest> {
  const { Agent } = await packages.load<{ Agent: new (config: object) => Agent }>('@mastra/core/agent');
  const { createTool } = await packages.load<{ createTool: (tool: object) => object }>('@mastra/core/tools');
  const { MastraLanguageModelV2Mock: Mock } = await packages.load<{ MastraLanguageModelV2Mock: new (config: object) => object }>(
    '@mastra/core/test-utils/llm-mock',
  );
  const { noopLogger } = await packages.load<{ noopLogger: object }>('@mastra/core/logger');
  const { z } = await packages.load<{ z: typeof Zod }>('zod');
  return {
    tokensOfRequest: TOKENS.totalTokens,
    run: async ({ session, question, model, search }) => {
      const tool = createTool({
        id: 'search',
        description: 'Searches the corpus.',
        inputSchema: z.object({ query: z.string() }),
        execute: ({ query }: { query: string }) => search(query),
      });
      const agent = new Agent({
        id: 'searcher',
        name: 'Searcher',
        instructions: 'Search, then answer.',
        model: mockModel(Mock, model),
        tools: { search: tool },
      });
      (agent as unknown as { __setLogger: (logger: object) => void }).__setLogger(noopLogger);
      if (by === 'generate') return generateWithCoverageStop((options) => agent.generate(question, options), {}, session);
      const { textStream, done } = streamWithCoverageStop((options) => agent.stream(question, options), {}, session);
      let shown = '';
      for await (const text of textStream) shown += text;
      await done;
      return { answer: shown };
    },
  };
}

function mockModel(Mock: new (config: object) => object, model: Model): object {
  let at = 0;
  const next = (options: CallOptions): { content: object[]; finishReason: string } => {
    const turn = model(requestOf(options), at++);
    if ('text' in turn) return { content: [{ type: 'text', text: turn.text }], finishReason: 'stop' };
    const content = turn.search.map((query, nth) => ({
      type: 'tool-call',
      toolCallId: `call-${at}-${nth}`,
      toolName: turn.call ?? 'search',
      input: JSON.stringify({ query }),
    }));
    return { content, finishReason: 'tool-calls' };
  };
  return new Mock({
    doGenerate: (options: CallOptions) => Promise.resolve({ ...next(options), usage: TOKENS, warnings: [] }),
    doStream: (options: CallOptions) => {
      const { content, finishReason } = next(options);
      const parts = content.flatMap((part) => ('text' in part ? textParts(part.text as string) : [part]));
      return Promise.resolve({
        stream: ReadableStream.from([{ type: 'stream-start', warnings: [] }, ...parts, { type: 'finish', finishReason, usage: TOKENS }]),
      });
    },
  });
}

function textParts(text: string): object[] {
  const deltas = text.split(/(?<= )/).map((delta) => ({ type: 'text-delta', id: '1', delta }));
  return [{ type: 'text-start', id: '1' }, ...deltas, { type: 'text-end', id: '1' }];
}

function requestOf({ prompt, tools = [], toolChoice }: CallOptions): ModelRequest {
  return {
    messages: prompt.map(({ role, content }) => ({
      role,
      text: typeof content === 'string' ? content : content.map((part) => part.text ?? JSON.stringify(part)).join('\n'),
    })),
    tools: tools.length > 0 && toolChoice?.type !== 'none',
  };
}

for (const by of ['generate', 'stream'] as const) {
  hostMatrix(`Mastra, ${by}`, async (t: TestContext) => {
    const packages = hostPackagesOrSkip(t, 'mastra');
    return packages && mastraHost(packages, by);
  });
}

import type { z as Zod } from 'zod';
import { generateWithCoverageStop, streamWithCoverageStop } from '../../../runtime/hosts/mastra.js';
import type { HostUnderTest, Model } from '../../support/host-matrix.js';
import type { HostPackages } from '../../support/host-packages.js';
import { type CallOptions, requestOf, textParts } from './model-calls.js';

export interface Agent {
  generate: (question: string, options: object) => Promise<never>;
  stream: (question: string, options: object) => Promise<never>;
}

export interface Mastra {
  z: typeof Zod;
  createTool: (tool: object) => object;
  /** An agent with Mastra's own mock model, which logs nothing. */
  agent: (model: Model, tools: object) => Agent;
}

const TOKENS = { inputTokens: 7, outputTokens: 3, totalTokens: 10 };

type Made<T> = new (config: object) => T;

/** The real package, and its own mock model. */
export async function openMastra(packages: HostPackages): Promise<Mastra> {
  process.env.MASTRA_TELEMETRY_DISABLED = '1';
  const { Agent } = await packages.load<{ Agent: Made<Agent> }>('@mastra/core/agent');
  const { createTool } = await packages.load<Mastra>('@mastra/core/tools');
  const { MastraLanguageModelV2Mock: Mock } = await packages.load<{ MastraLanguageModelV2Mock: Made<object> }>(
    '@mastra/core/test-utils/llm-mock',
  );
  const { Mastra: Registry } = await packages.load<{ Mastra: Made<{ getAgent: (name: string) => Agent }> }>('@mastra/core');
  const { noopLogger } = await packages.load<{ noopLogger: object }>('@mastra/core/logger');
  const { z } = await packages.load<{ z: typeof Zod }>('zod');
  return {
    z,
    createTool,
    agent: (model, tools) => {
      const settings = { id: 'searcher', name: 'Searcher', instructions: 'Search, then answer.' };
      const agent = new Agent({ ...settings, model: new Mock(mockModel(model)), tools });
      return new Registry({ agents: { agent }, logger: noopLogger }).getAgent('agent');
    },
  };
}

/** The matrix's agent. */
export function mastraHost({ z, createTool, agent: made }: Mastra, by: 'generate' | 'stream'): HostUnderTest {
  return {
    tokensOfRequest: TOKENS.totalTokens,
    run: async ({ session, question, model, search }) => {
      const tool = createTool({
        id: 'search',
        description: 'Searches the corpus.',
        inputSchema: z.object({ query: z.string() }),
        execute: ({ query }: { query: string }) => search(query),
      });
      const agent = made(model, { search: tool });
      if (by === 'generate') return generateWithCoverageStop((options) => agent.generate(question, options), {}, session);
      const { textStream, done } = streamWithCoverageStop((options) => agent.stream(question, options), {}, session);
      let shown = '';
      for await (const text of textStream) shown += text;
      await done;
      return { answer: shown };
    },
  };
}

function mockModel(model: Model): object {
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
  return {
    doGenerate: (options: CallOptions) => Promise.resolve({ ...next(options), usage: TOKENS, warnings: [] }),
    doStream: (options: CallOptions) => {
      const { content, finishReason } = next(options);
      const parts = content.flatMap((part) => ('text' in part ? textParts(part.text as string) : [part]));
      return Promise.resolve({
        stream: ReadableStream.from([{ type: 'stream-start', warnings: [] }, ...parts, { type: 'finish', finishReason, usage: TOKENS }]),
      });
    },
  };
}

import type { z as Zod } from 'zod';
import type { Turn, ModelRequest, HostUnderTest } from '../../support/host-matrix.js';
import { type CoverageSettings, generateWithCoverageStop, streamWithCoverageStop } from '../../../runtime/hosts/ai-sdk.js';
import type { HostPackages } from '../../support/host-packages.js';
import { type CallOptions, requestOf, textParts } from './model-calls.js';

type Options = { [name: string]: unknown };

/** What the tests use of ai 6 or ai 7. */
export interface Ai {
  generateText: (options: Options) => Promise<never>;
  streamText: (options: Options) => never;
  stepCountIs: (count: number) => unknown;
  tool: (tool: object) => object;
  ToolLoopAgent: new (settings: Options) => { generate: (options: object) => Promise<never> };
}

export type MockModel = (answer: (request: ModelRequest, at: number) => Turn) => unknown;

const TOKENS = { input: 7, output: 3 };

/** The real package, and its own mock model. */
export async function openAi(packages: HostPackages, mock: string): Promise<{ ai: Ai; mockModel: MockModel; z: typeof Zod }> {
  const ai = await packages.load<Ai>('ai');
  const { [mock]: Mock } = await packages.load<{ [name: string]: new (options: object) => unknown }>('ai/test');
  const { z } = await packages.load<{ z: typeof Zod }>('zod');
  const mockModel: MockModel = (answer) => {
    let at = 0;
    const next = (options: CallOptions): { content: object[]; searches: boolean } => {
      const turn = answer(requestOf(options), at++);
      const content =
        'text' in turn
          ? [{ type: 'text', text: turn.text }]
          : turn.search.map((query, nth) => ({
              type: 'tool-call',
              toolCallId: `call-${at}-${nth}`,
              toolName: turn.call ?? 'search',
              input: JSON.stringify({ query }),
            }));
      return { content, searches: 'search' in turn };
    };
    const usage = { inputTokens: { total: TOKENS.input }, outputTokens: { total: TOKENS.output } };
    return new (Mock as new (options: object) => unknown)({
      doGenerate: (options: CallOptions) => {
        const { content, searches } = next(options);
        return Promise.resolve({
          content,
          finishReason: { unified: searches ? 'tool-calls' : 'stop', raw: undefined },
          usage,
          warnings: [],
        });
      },
      doStream: (options: CallOptions) => {
        const { content, searches } = next(options);
        const parts = [
          { type: 'stream-start', warnings: [] },
          ...content.flatMap((part) => ('text' in part ? textParts(part.text as string) : [part])),
          { type: 'finish', finishReason: { unified: searches ? 'tool-calls' : 'stop', raw: undefined }, usage },
        ];
        return Promise.resolve({ stream: ReadableStream.from(parts) });
      },
    });
  };
  return { ai, mockModel, z };
}

/** The agent of the matrix, by `generateText`, `streamText` or an agent built from the options. */
export function aiHost(
  { ai, mockModel, z }: Awaited<ReturnType<typeof openAi>>,
  by: 'generateText' | 'streamText' | 'ToolLoopAgent',
  settings: CoverageSettings = {},
): HostUnderTest {
  return {
    tokensOfRequest: TOKENS.input + TOKENS.output,
    run: async ({ session, question, model, search }) => {
      const tool = ai.tool({
        description: 'Searches the corpus.',
        inputSchema: z.object({ query: z.string() }),
        execute: ({ query }: { query: string }) => search(query),
      });
      const options = { model: mockModel(model), prompt: question, tools: { search: tool } };
      if (by === 'generateText') return generateWithCoverageStop(ai.generateText, options, session, settings);
      if (by === 'ToolLoopAgent') {
        const generate = ({ prompt, messages, ...agent }: Options): Promise<never> =>
          new ai.ToolLoopAgent(agent).generate(messages === undefined ? { prompt } : { messages });
        return generateWithCoverageStop(generate, options, session, settings);
      }
      const { textStream, done } = streamWithCoverageStop(ai.streamText, { ...options, onError: () => undefined }, session, settings);
      let shown = '';
      for await (const text of textStream) shown += text;
      await done;
      return { answer: shown };
    },
  };
}

// Compiled by a test, never run: the adapter's structural types against those of ai 6.
import { Output, type ToolSet, ToolLoopAgent, generateText, stepCountIs, streamText, tool } from 'ai';
import { MockLanguageModelV3 } from 'ai/test';
import { type CoverageResult, generateWithCoverageStop, streamWithCoverageStop, withCoverageStop } from 'hopgate/ai-sdk';
import type { GateSession } from 'hopgate/runtime';
import { z } from 'zod';

declare const session: GateSession;

const model = new MockLanguageModelV3();
const search = tool({ inputSchema: z.object({ query: z.string() }), execute: ({ query }) => Promise.resolve([query]) });
const tools = { search } satisfies ToolSet;

/** The options keep their types, and with them the host's result. */
export async function optionsAlone(): Promise<string[] | undefined> {
  const { toolResults } = await generateText(withCoverageStop({ model, tools, prompt: 'q' }, session, { finalStep: 'noTools' }));
  const [result] = toolResults;
  return result?.dynamic === true ? undefined : result?.output;
}

export const stream: ReturnType<typeof streamText<typeof tools>> = streamText(withCoverageStop({ model, tools, prompt: 'q' }, session));

export const agent = new ToolLoopAgent(withCoverageStop({ model, tools, stopWhen: stepCountIs(3) }, session));

export async function calls(): Promise<string> {
  const passed = await generateWithCoverageStop(generateText, { model, tools, prompt: 'q' }, session);
  const called = await generateWithCoverageStop((options) => generateText(options), { model, tools, prompt: 'q' }, session);
  const end: CoverageResult<unknown> = called;
  const shaped = await generateWithCoverageStop(
    (options) => generateText(options),
    { model, tools, prompt: 'q', output: Output.object({ schema: z.object({ place: z.string() }) }) },
    session,
  );
  const { textStream, done } = streamWithCoverageStop((options) => streamText(options), { model, tools, prompt: 'q' }, session);
  for await (const text of textStream) passed.answer += text;
  return passed.answer + end.answer + called.result.text + shaped.result.output.place + (await (await done).result.text);
}

// @ts-expect-error finalStep is one of three
withCoverageStop({ model, tools, prompt: 'q' }, session, { finalStep: 'none' });
// @ts-expect-error a session, not a question
withCoverageStop({ model, tools, prompt: 'q' }, 'q');

// Compiled by a test, never run: the adapter's structural types against those of Mastra.
import type { Agent } from '@mastra/core/agent';
import { type CoverageResult, generateWithCoverageStop, streamWithCoverageStop, withCoverageStop } from 'hopgate/mastra';
import type { GateSession } from 'hopgate/runtime';

declare const session: GateSession;
declare const agent: Agent;

export async function optionsAlone(): Promise<string> {
  const { text } = await agent.generate('q', withCoverageStop({ maxSteps: 4 }, session, { search: ['search'] }));
  return text;
}

export async function calls(): Promise<string> {
  const end: CoverageResult<unknown> = await generateWithCoverageStop((options) => agent.generate('q', options), {}, session);
  const { textStream, done } = streamWithCoverageStop((options) => agent.stream('q', options), { maxSteps: 4 }, session);
  for await (const text of textStream) end.answer += text;
  return end.answer + (await done).result.text;
}

// @ts-expect-error finalStep is one of two
withCoverageStop({}, session, { finalStep: 'noTools' });

// Compiled by a test, never run: the adapter's structural types against those of langchain.
import { fakeModel } from '@langchain/core/testing';
import { type CoverageResult, coverageMiddleware, invokeWithCoverageStop } from 'hopgate/langchain';
import type { GateSession } from 'hopgate/runtime';
import { type BaseMessage, HumanMessage, createAgent, createMiddleware, tool } from 'langchain';
import { z } from 'zod';

declare const session: GateSession;
declare const sessions: Map<string, GateSession>;

const search = tool(({ query }) => [query], { name: 'search', description: 'Searches.', schema: z.object({ query: z.string() }) });
const model = fakeModel();

const agent = createAgent({
  model,
  tools: [search],
  middleware: [
    createMiddleware(coverageMiddleware(({ configurable }) => sessions.get(String(configurable?.thread_id)), { search: ['search'] })),
    createMiddleware({ name: 'other', afterAgent: () => undefined }),
  ],
  responseFormat: z.object({ place: z.string() }),
});

export async function ends(): Promise<string> {
  const end = await invokeWithCoverageStop(agent, { messages: [new HumanMessage('q')] }, session, { configurable: { thread_id: 't' } });
  const messages: BaseMessage[] = end.result.messages;
  const any: CoverageResult<unknown> = end;
  return any.answer + messages.length;
}

// @ts-expect-error finalStep is one of three
coverageMiddleware(session, { finalStep: 'none' });
// @ts-expect-error a session, not a question
coverageMiddleware('q');

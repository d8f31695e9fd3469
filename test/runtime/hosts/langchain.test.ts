import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type CoverageSettings, EmptyAnswerError, coverageMiddleware, invokeWithCoverageStop } from '../../../runtime/hosts/langchain.js';
import { type HostUnderTest, hostMatrix, runHost } from '../../support/host-matrix.js';
import { hostPackagesOrSkip } from '../../support/host-packages.js';
import { scriptedGate } from '../../support/scripted-gate.js';
import { searchTool } from './chat-model.js';
import { type GraphHost, graphCases } from './graph-cases.js';
import { type Agent, type LangChain, langChainHost, openLangChain } from './langchain-host.js';

const open = async (t: TestContext): Promise<LangChain | undefined> => {
  const packages = hostPackagesOrSkip(t, 'langchain');
  return packages && openLangChain(packages);
};
const by =
  (options: Parameters<typeof langChainHost>[1]) =>
  async (t: TestContext): Promise<HostUnderTest | undefined> => {
    const host = await open(t);
    return host && langChainHost(host, options);
  };

hostMatrix('LangChain.js', by({}));
hostMatrix('LangChain.js, tools in one node', by({ version: 'v1' }));
hostMatrix('LangChain.js, no tools listed', by({ settings: { finalStep: 'noTools' } }));

graphCases('LangChain.js', async (t): Promise<GraphHost | undefined> => {
  const host = await open(t);
  if (!host) return undefined;
  const { core, createAgent, createMiddleware } = host;
  return {
    ...host,
    agent: ({ sessions, model, checkpointer, tools, ...settings }) => {
      let agent: Agent | undefined;
      return async (input, session, config) => {
        const middleware = [createMiddleware(coverageMiddleware(sessions, settings satisfies CoverageSettings))];
        agent ??= createAgent({ model: core.chatModel(model), tools, middleware, ...(checkpointer && { checkpointer }) });
        return invokeWithCoverageStop(agent, input, session, config);
      };
    },
  };
});

for (const place of ['first', 'last'] as const)
  test(`P86: LangChain.js: the hooks of others run at the end of the agent whatever stopped it, our middleware being the ${place}`, async (t) => {
    const host = await open(t);
    if (!host) return;
    let hooks: string[] = [];
    const others = ['one', 'two'].map((name) =>
      host.createMiddleware({
        name,
        beforeModel: () => void hooks.push(`${name} before`),
        afterModel: () => void hooks.push(`${name} after`),
        afterAgent: () => void hooks.push(`${name} end`),
      }),
    );
    const under = langChainHost(host, { others: (own) => (place === 'first' ? [own, ...others] : [...others, own]) });
    const ends = async (...how: Parameters<typeof runHost> extends [unknown, ...infer Rest] ? Rest : never): Promise<unknown[]> => {
      hooks = [];
      const { session, answer } = await runHost(under, ...how);
      return [session.stoppedBy, answer, ...hooks.filter((hook) => hook.endsWith('end')).toSorted()];
    };
    const answer = 'In Lyon, as found.';
    assert.deepEqual(await ends({ decider: () => true }), ['covered', answer, 'one end', 'two end']);
    assert.deepEqual(await ends({ decider: () => false, options: { bounds: { maxSteps: 2 } } }), [
      'maxSteps',
      answer,
      'one end',
      'two end',
    ]);
    const failing = (): never => {
      throw new Error('no connection');
    };
    assert.deepEqual(await ends({ decider: failing, options: { onError: 'stop' } }), ['error', answer, 'one end', 'two end']);
    const own = { decider: () => false, model: () => ({ text: 'My own end.' }) };
    assert.deepEqual(await ends(own), ['hostFinished', 'My own end.', 'one end', 'two end']);
    const told = await ends({ ...own, options: { forceContinue: true } });
    assert.deepEqual(told, ['hostFinished', 'My own end.', 'one end', 'two end']);
    // The continue message leads back to the model by a jump, which the host does not lead through the hooks before it (P85).
    assert.equal(hooks.filter((hook) => hook === 'one before').length, 1);
  });

test('LangChain.js: a provider that refuses a choice of no tool is asked by the instruction alone', async (t) => {
  const host = await open(t);
  if (!host) return;
  const ran = await runHost(langChainHost(host, { settings: { finalStep: 'instruction' } }), {
    decider: () => true,
    model: ({ messages, tools }) => {
      assert.equal(tools, true);
      return messages[0]?.role === 'system' ? { text: 'As found.' } : { search: ['q'] };
    },
  });
  assert.deepEqual([ran.session.stoppedBy, ran.answer, ran.searches], ['covered', 'As found.', ['q']]);
});

test('LangChain.js: an answer of a given form is the answer; one of another form twice is none', async (t) => {
  const host = await open(t);
  if (!host) return;
  const { core, createAgent, createMiddleware, toolStrategy } = host;
  const run = async (answers: readonly object[]): Promise<{ place: unknown; requests: number; stoppedBy: unknown; tokens: number }> => {
    const session = await scriptedGate(() => true, { mode: 'shadow' }).gate.open('Where?');
    let requests = 0;
    const agent = createAgent({
      model: core.chatModel(() => (requests++ === 0 ? { search: ['q'] } : { call: 'place', args: answers[requests - 2] ?? {} })),
      tools: [searchTool(core, () => Promise.resolve(['1,1,0']))],
      middleware: [createMiddleware(coverageMiddleware(session))],
      responseFormat: toolStrategy({
        title: 'place',
        type: 'object',
        properties: { name: { type: 'string' } },
        required: ['name'],
      }),
    });
    const { result, stoppedBy } = await invokeWithCoverageStop(agent, { messages: [new core.HumanMessage('Where?')] }, session);
    const { structuredResponse: place } = result as { structuredResponse?: unknown };
    return { place, requests, stoppedBy, tokens: session.state.tokens };
  };
  const place = { name: 'Lyon' };
  assert.deepEqual(await run([place]), { place, requests: 2, stoppedBy: 'covered', tokens: 20 });
  assert.deepEqual(await run([{}, place]), { place, requests: 3, stoppedBy: 'covered', tokens: 30 });
  await assert.rejects(run([{}, {}, place]), EmptyAnswerError);
});

test('P79: LangChain.js: streamed by the host itself, an agent with the middleware stops and answers, and its session ends', async (t) => {
  const host = await open(t);
  if (!host) return;
  const { core, createAgent, createMiddleware } = host;
  const { gate, read } = scriptedGate(() => true, { mode: 'shadow' });
  const session = await gate.open('Where?');
  const agent = createAgent({
    model: core.chatModel(({ tools }) => (tools ? { search: ['q'] } : { text: 'As found.' })),
    tools: [searchTool(core, () => Promise.resolve(['1,1,0']))],
    middleware: [createMiddleware(coverageMiddleware(session))],
  });
  let last = '';
  for await (const { messages } of await agent.stream({ messages: [new core.HumanMessage('Where?')] }, { streamMode: 'values' }))
    last = messages.at(-1)?.text ?? '';
  assert.equal(last, 'As found.');
  assert.deepEqual(
    read().sessions.map(({ end }) => end?.stopped_by),
    ['covered'],
  );
});

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { coverageMiddleware, invokeWithCoverageStop } from '../../../runtime/hosts/langchain.js';
import { CONTINUE_MESSAGE, GateDeciderError, type GateSession } from '../../../runtime/index.js';
import { hostPackagesOrSkip } from '../../support/host-packages.js';
import { scriptedGate } from '../../support/scripted-gate.js';
import { type Message, TOKENS_OF_REQUEST, searchTool } from './chat-model.js';
import { type LangChain, openLangChain } from './langchain-host.js';

/** Calls the search, a tool that there is not, or gives an answer of the form that was asked for, or a text. */
type Turn = { call: string } | { place: unknown } | { text: string };

interface Opened extends LangChain {
  ToolMessage: new (fields: object) => Message;
  /** An agent over a chat model that answers with these turns, one a request, and what it was last told at each. */
  agentOf: (
    session: GateSession,
    turns: readonly Turn[],
    options?: object,
  ) => { agent: ReturnType<LangChain['createAgent']>; told: string[] };
  /** Asks for `{ place }`. */
  form: unknown;
}

async function open(t: TestContext): Promise<Opened | undefined> {
  const packages = hostPackagesOrSkip(t, 'langchain');
  if (!packages) return undefined;
  const host = await openLangChain(packages);
  const { core, createAgent, createMiddleware } = host;
  const { ToolMessage } = await packages.load<Pick<Opened, 'ToolMessage'>>('@langchain/core/messages');
  const { toolStrategy } = await packages.load<{ toolStrategy: (schema: unknown) => unknown }>('langchain');
  const { BaseChatModel } = await packages.load<{ BaseChatModel: new (fields: object) => { withConfig: (config: object) => object } }>(
    '@langchain/core/language_models/chat_models',
  );

  class TurnsModel extends BaseChatModel {
    readonly turns: readonly Turn[];
    readonly told: string[] = [];

    constructor(turns: readonly Turn[]) {
      super({});
      this.turns = turns;
    }
    _llmType(): string {
      return 'turns';
    }
    bindTools(tools: readonly object[], settings: object = {}): object {
      return this.withConfig({ tools, ...settings });
    }
    _generate(
      messages: readonly Message[],
      { tools = [] }: { tools?: readonly { function?: { name: string }; name?: string }[] },
    ): Promise<object> {
      const at = this.told.push(messages.at(-1)?.text ?? '') - 1;
      const turn = this.turns[at] ?? { text: '' };
      const form = tools.map(({ name, function: own }) => name ?? own?.name).find((name) => name?.startsWith('extract-'));
      const call =
        'call' in turn ? { name: turn.call, args: { query: `q${at}` } } : 'place' in turn && { name: form, args: { place: turn.place } };
      const message = new core.AIMessage({
        content: 'text' in turn ? turn.text : '',
        tool_calls: call ? [{ ...call, id: `call-${at}`, type: 'tool_call' }] : [],
        usage_metadata: { input_tokens: 7, output_tokens: 3, total_tokens: TOKENS_OF_REQUEST },
      });
      return Promise.resolve({ generations: [{ text: message.text, message }] });
    }
  }

  return {
    ...host,
    ToolMessage,
    form: toolStrategy(core.z.object({ place: core.z.string() })),
    agentOf: (session, turns, { search, ...options }: { search?: object } = {}) => {
      const model = new TurnsModel(turns);
      let searches = 0;
      const tools = [search ?? searchTool(core, () => Promise.resolve([`sentence ${++searches} 1,0,0`]))];
      const agent = createAgent({ model, tools, middleware: [createMiddleware(coverageMiddleware(session))], ...options });
      return { agent, told: model.told };
    },
  };
}

const start = ({ core }: Opened): object => ({ messages: [new core.HumanMessage('Who?')] });

test('LangChain.js: an answer of the form that was asked for ends the run, and its tokens are counted', async (t) => {
  const host = await open(t);
  if (!host) return;
  const session = await scriptedGate(() => true, { mode: 'shadow' }).gate.open('Who?');
  const { agent, told } = host.agentOf(session, [{ call: 'search' }, { place: 'Lyon' }], { responseFormat: host.form });
  const { stoppedBy, answer, result } = await invokeWithCoverageStop(agent, start(host), session);
  assert.deepEqual([stoppedBy, told.length, session.state.tokens], ['covered', 2, 2 * TOKENS_OF_REQUEST]);
  assert.deepEqual((result as { structuredResponse?: unknown }).structuredResponse, { place: 'Lyon' });
  assert.ok(answer.includes('Lyon'));
});

test('LangChain.js: an answer that does not have the form is corrected, before the stop and after it', async (t) => {
  const host = await open(t);
  if (!host) return;
  const corrected = async (opened: Opened, covers: boolean): Promise<unknown[]> => {
    const session = await scriptedGate(() => covers, { mode: 'shadow' }).gate.open('Who?');
    const { agent, told } = opened.agentOf(session, [{ call: 'search' }, { place: 3 }, { place: 'Lyon' }], { responseFormat: opened.form });
    const { stoppedBy, result } = await invokeWithCoverageStop(agent, start(opened), session);
    return [stoppedBy, told.length, session.state.loops, (result as { structuredResponse?: unknown }).structuredResponse];
  };
  assert.deepEqual(await corrected(host, true), ['covered', 3, 1, { place: 'Lyon' }]);
  assert.deepEqual(await corrected(host, false), ['hostFinished', 3, 1, { place: 'Lyon' }]);
});

test('P85: LangChain.js: a model that ends by a structured answer before coverage is told once to go on', async (t) => {
  const host = await open(t);
  if (!host) return;
  const session = await scriptedGate(({ loop }) => loop === 2, { mode: 'shadow', forceContinue: true }).gate.open('Who?');
  const turns = [{ call: 'search' }, { place: 'Too early' }, { call: 'search' }, { place: 'Lyon' }];
  const { agent, told } = host.agentOf(session, turns, { responseFormat: host.form });
  const { stoppedBy, result } = await invokeWithCoverageStop(agent, start(host), session);
  assert.deepEqual([stoppedBy, session.state.loops, told.length], ['covered', 2, 4]);
  assert.deepEqual(
    told.map((text) => text === CONTINUE_MESSAGE),
    [false, false, true, false],
  );
  assert.deepEqual((result as { structuredResponse?: unknown }).structuredResponse, { place: 'Lyon' });
});

test('LangChain.js: what the host says of a tool that there is not is no search and no evidence, nor is a tool’s own failure message', async (t) => {
  const host = await open(t);
  if (!host) return;
  const { core } = host;
  const session = await scriptedGate(({ loop }) => loop === 1, { mode: 'shadow' }).gate.open('Who?');
  const { agent, told } = host.agentOf(session, [{ call: 'lookup' }, { call: 'search' }, { text: 'In Lyon.' }]);
  const { answer } = await invokeWithCoverageStop(agent, start(host), session);
  assert.deepEqual([answer, session.state.loops, session.evidence.map(({ text }) => text)], ['In Lyon.', 1, ['sentence 1 1,0,0']]);
  assert.equal(told[1], 'Error: lookup is not a valid tool, try one of [search].');

  const failed = await scriptedGate(() => true, { mode: 'shadow' }).gate.open('Who?');
  const search = core.tool(() => new host.ToolMessage({ content: 'no index', tool_call_id: 'call-0', name: 'search', status: 'error' }), {
    name: 'search',
    description: 'Fails.',
    schema: core.z.object({ query: core.z.string() }),
  });
  const other = host.agentOf(failed, [{ call: 'search' }, { text: 'Unknown.' }], { search });
  await invokeWithCoverageStop(other.agent, start(host), failed);
  assert.deepEqual([failed.state.loops, failed.evidence, other.told[1]], [1, [], 'no index']);
});

test('P95: LangChain.js: under onError throw the failure comes out of a tool that returns directly too, typed', async (t) => {
  const host = await open(t);
  if (!host) return;
  const { core } = host;
  const failing = (): never => {
    throw new Error('no connection');
  };
  const session = await scriptedGate(failing, { mode: 'shadow', onError: 'throw' }).gate.open('Who?');
  const search = core.tool(() => '1,0,0', {
    name: 'search',
    description: 'Searches.',
    schema: core.z.object({ query: core.z.string() }),
    returnDirect: true,
  });
  const { agent } = host.agentOf(session, [{ call: 'search' }], { search });
  await assert.rejects(
    invokeWithCoverageStop(agent, start(host), session),
    (error) => error instanceof GateDeciderError && error.message === 'decider failed: no connection',
  );
  assert.equal(session.stoppedBy, 'error');
});

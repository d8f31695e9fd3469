import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { CoverageResult, RunContext, Sessions } from '../../../runtime/hosts/langgraph.js';
import { type GateSession, finalInstruction } from '../../../runtime/index.js';
import { InputError } from '../../../src/core/errors.js';
import type { Model } from '../../support/host-matrix.js';
import { scriptedGate } from '../../support/scripted-gate.js';
import { type Core, type Message, searchTool } from './chat-model.js';

export interface AgentParts {
  sessions: Sessions;
  model: Model;
  tools: readonly ReturnType<Core['tool']>[];
  search?: readonly string[];
  maxTurns?: number;
  checkpointer?: object;
}

export interface GraphHost {
  core: Core;
  MemorySaver: new () => object;
  interrupt: (value: unknown) => unknown;
  Command: new (fields: object) => object;
  /** Returns how to invoke it to its answer. */
  agent: (
    parts: AgentParts,
  ) => (input: object, session: GateSession, config?: object) => Promise<CoverageResult<{ messages: readonly Message[] }>>;
}

const ANSWER = 'In Lyon, as found.';
const searching: Model = ({ tools }, at) => (tools ? { search: [`query ${at + 1}`] } : { text: ANSWER });
const byThread =
  (sessions: Map<unknown, GateSession>) =>
  ({ configurable }: RunContext): GateSession | undefined =>
    sessions.get(configurable?.thread_id);

/** What holds for LangGraph.js and for LangChain.js, which runs on it, beside the matrix. */
export function graphCases(name: string, open: (t: TestContext) => Promise<GraphHost | undefined>): void {
  const check = (title: string, body: (host: GraphHost) => Promise<void>): void => {
    test(title, async (t) => {
      const host = await open(t);
      if (host) await body(host);
    });
  };
  const found = (): (() => Promise<string[]>) => {
    let searches = 0;
    return () => Promise.resolve([`sentence ${++searches} 1,0,0`]);
  };

  check(`P87: ${name}: thirty searches are not ended by the host's recursion limit, which nobody set`, async (host) => {
    const session = await scriptedGate(() => false, { mode: 'shadow', bounds: { maxSteps: 30 } }).gate.open('Who?');
    const invoke = host.agent({
      sessions: session,
      model: (request, at) => searching(request, at),
      tools: [searchTool(host.core, found())],
    });
    const { answer, stoppedBy } = await invoke({ messages: [new host.core.HumanMessage('Who?')] }, session);
    assert.deepEqual([answer, stoppedBy, session.state.loops], [ANSWER, 'maxSteps', 30]);
  });

  check(`P87: ${name}: a recursion limit that would come before the gate's bound is refused before the run`, async (host) => {
    const session = await scriptedGate(() => false).gate.open('Who?');
    let requests = 0;
    const invoke = host.agent({
      sessions: session,
      model: (request, at) => {
        requests++;
        return searching(request, at);
      },
      tools: [searchTool(host.core, found())],
    });
    const start = { messages: [new host.core.HumanMessage('Who?')] };
    const refusal = await invoke(start, session, { recursionLimit: 9 }).catch((error: unknown) => error);
    assert.ok(refusal instanceof InputError);
    const least = Number(/at least (\d+)/.exec(refusal.message)?.[1]);
    assert.equal(
      refusal.message,
      `recursionLimit: got 9, expected at least ${least}, or none: the host would end the run before its 6 searches (maxSteps) and the answer`,
    );
    assert.equal(requests, 0);
    // The least that it names is enough.
    const { answer, stoppedBy } = await invoke(start, session, { recursionLimit: least });
    assert.deepEqual([answer, stoppedBy], [ANSWER, 'maxSteps']);
  });

  check(`P87: ${name}: a model that calls other tools without end is asked for its answer after its turns`, async (host) => {
    const { core } = host;
    const session = await scriptedGate(() => false).gate.open('Who?');
    let noted = 0;
    const note = core.tool(() => `note ${++noted}`, {
      name: 'search',
      description: 'Notes.',
      schema: core.z.object({ query: core.z.string() }),
    });
    const look = core.tool(() => '1,0,0', { name: 'look', description: 'Searches.', schema: core.z.object({ query: core.z.string() }) });
    const invoke = host.agent({ sessions: session, model: searching, tools: [note, look], search: ['look'], maxTurns: 4 });
    const { answer, stoppedBy } = await invoke({ messages: [new core.HumanMessage('Who?')] }, session);
    assert.deepEqual([answer, stoppedBy, noted, session.state.loops], [ANSWER, 'hostFinished', 4, 0]);
  });

  check(`${name}: of several tools the searching ones have to be named, and exist`, async (host) => {
    const { core } = host;
    const session = await scriptedGate(() => false).gate.open('Who?');
    const look = core.tool(() => '1,0,0', { name: 'look', description: 'Looks.', schema: core.z.object({}) });
    const run = async (search?: readonly string[]): Promise<unknown> =>
      host.agent({
        sessions: session,
        model: searching,
        tools: [searchTool(core, found()), look],
        ...(search && { search }),
      })({ messages: [new core.HumanMessage('Who?')] }, session);
    await assert.rejects(
      run(),
      new InputError('search: got nothing, expected the names of the tools that search, since there are several: search, look'),
    );
    await assert.rejects(run(['find']), new InputError('search: got "find", expected a tool that the host runs: search, look'));
  });

  check(`${name}: a search that fails is told to the model, counts as one that brought nothing, and the run goes on`, async (host) => {
    const session = await scriptedGate(({ loop }) => loop === 2, { mode: 'shadow' }).gate.open('Who?');
    let searches = 0;
    const tool = searchTool(host.core, () => (++searches === 1 ? Promise.reject(new Error('no index')) : Promise.resolve(['1,1,0'])));
    const told: string[] = [];
    const model: Model = (request, at) => {
      told.push(request.messages.at(-1)?.text ?? '');
      return searching(request, at);
    };
    const { answer, stoppedBy } = await host.agent({ sessions: session, model, tools: [tool] })(
      { messages: [new host.core.HumanMessage('Who?')] },
      session,
    );
    assert.deepEqual([answer, stoppedBy, session.state.loops, session.state.sentences], [ANSWER, 'covered', 2, 1]);
    assert.equal(told[1], 'Error: no index\n Please fix your mistakes.');
  });

  check(`${name}: one agent serves threads at once, each with the session of its own`, async (host) => {
    const { gate } = scriptedGate(({ texts }) => texts.length === 3, { mode: 'shadow' });
    const sessions = new Map<unknown, GateSession>();
    for (const thread of ['a', 'b', 'c']) sessions.set(thread, await gate.open(`Who is ${thread}?`));
    const tool = searchTool(host.core, (query) => Promise.resolve([`${query} 1,0,0`]));
    // The question is the first message behind an instruction of the system's.
    const model: Model = ({ messages, tools }) => {
      const question = messages.find(({ role }) => role === 'human')?.text ?? '';
      return tools ? { search: [`${question} ${messages.length}`] } : { text: `Of ${question}` };
    };
    const invoke = host.agent({ sessions: byThread(sessions), model, tools: [tool] });
    const ends = await Promise.all(
      [...sessions].map(([thread, session]) =>
        invoke({ messages: [new host.core.HumanMessage(session.question)] }, session, { configurable: { thread_id: thread } }),
      ),
    );
    assert.deepEqual(
      ends.map(({ answer }) => answer),
      ['Of Who is a?', 'Of Who is b?', 'Of Who is c?'],
    );
    for (const session of sessions.values()) {
      assert.deepEqual([session.stoppedBy, session.state.loops], ['covered', 3]);
      assert.ok(session.evidence.every(({ text }) => text.includes(session.question)));
    }
  });

  check(
    `${name}: a thread that goes on with another question has a session for it, and nothing of the last one's instruction`,
    async (host) => {
      const { gate } = scriptedGate(() => true, { mode: 'shadow' });
      const sessions = new Map<unknown, GateSession>();
      const seen: string[] = [];
      const model: Model = (request, at) => {
        seen.push(request.messages.map(({ text }) => text).join('\n'));
        return searching(request, at);
      };
      const invoke = host.agent({
        sessions: byThread(sessions),
        model,
        tools: [searchTool(host.core, found())],
        checkpointer: new host.MemorySaver(),
      });
      const config = { configurable: { thread_id: 't' } };
      for (const question of ['Who?', 'Where?']) {
        const session = await gate.open(question);
        sessions.set('t', session);
        const { answer, stoppedBy } = await invoke({ messages: [new host.core.HumanMessage(question)] }, session, config);
        assert.deepEqual([answer, stoppedBy, session.state.loops], [ANSWER, 'covered', 1]);
      }
      const instruction = finalInstruction({ stoppedBy: 'covered' });
      assert.deepEqual(
        seen.map((text) => text.split(instruction).length - 1),
        [0, 1, 0, 1],
      );
      sessions.clear();
      const orphan = await gate.open('When?');
      await assert.rejects(
        invoke({ messages: [new host.core.HumanMessage('When?')] }, orphan, config),
        new InputError(
          'session: got none for thread "t", expected an open one: sessions are not part of a thread\'s checkpoints, open one for it and observe what the thread has found',
        ),
      );
    },
  );

  check(`${name}: a run that a tool interrupts is open, and its session goes on when the thread is resumed`, async (host) => {
    const { core } = host;
    const session = await scriptedGate(({ texts }) => texts.length === 1, { mode: 'shadow', bounds: { noProgress: null } }).gate.open(
      'Who?',
    );
    const tool = searchTool(core, () => Promise.resolve([`${String(host.interrupt('May I?'))} 1,0,0`]));
    const invoke = host.agent({ sessions: session, model: searching, tools: [tool], checkpointer: new host.MemorySaver() });
    const config = { configurable: { thread_id: 't' } };
    const first = await invoke({ messages: [new core.HumanMessage('Who?')] }, session, config);
    assert.deepEqual([first.open, first.stoppedBy], [true, null]);
    const { open: isOpen, answer, stoppedBy } = await invoke(new host.Command({ resume: 'allowed' }), session, config);
    assert.deepEqual([isOpen, answer, stoppedBy], [false, ANSWER, 'covered']);
    assert.deepEqual(
      session.evidence.map(({ text }) => text),
      ['allowed 1,0,0'],
    );
  });
}

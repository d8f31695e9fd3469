import type { Evidence } from '../session/evidence.js';
import { type StopCondition, stopped } from '../session/conditions.js';
import { finalInstruction } from '../session/final-instruction.js';
import { EmptyAnswerError } from '../session/gate-errors.js';
import type { GateSession } from '../session/session.js';
import { type ChatMessage, type MessageReading, type ToolCall, callsOf, failureText, isBubbling, textOf } from './chat-messages.js';
import { type GraphRun, type RunContext, type RunOf, type Sessions, graphRuns, mostTurns } from './graph-run.js';
import { searchingTools } from './searching-tools.js';
import { type CoverageResult, type Invocable, invokeToAnswer } from './invoke-graph.js';
import { MOST_FINALS } from './step-loop.js';

// The door `hopgate/langgraph`: graphs of @langchain/langgraph. Nothing of it is imported; models and tools are passed in.
export type { ChatMessage, MessageReading } from './chat-messages.js';
export type { RunContext, Sessions } from './graph-run.js';
export type { CoverageResult } from './invoke-graph.js';
export { EmptyAnswerError, GateDeciderError } from '../session/gate-errors.js';

/** LangGraph's `END`. */
const END = '__end__';

/** A chat model of LangChain.js, or any other runnable from messages to a message. */
export interface GraphModel {
  invoke(messages: never, config?: never): PromiseLike<ChatMessage>;
}

export interface GraphTool {
  readonly name: string;
  invoke(call: never, config?: never): PromiseLike<unknown>;
}

export interface CoverageNodesOptions extends MessageReading {
  /** The agent's model, its tools bound. */
  model: GraphModel;
  /** Asked for the final answer: the same model with no tools bound. */
  answerModel: GraphModel;
  tools: readonly GraphTool[];
  /** When the search ends, asked after every step of tools. Default `stopped`; the gate's own stops end it in any case. */
  stopWhen?: StopCondition | undefined;
  /** Requests to the model before its final answer is asked for. Default 20, or two for every search that is allowed and two more. */
  maxTurns?: number | undefined;
}

interface MessagesState {
  readonly messages: readonly ChatMessage[];
}
type Update = { messages: never[] };
type Node = (state: MessagesState, config?: RunContext) => Promise<Update>;

export interface CoverageNodes {
  /** Asks the model for its next step; one that ends before coverage is told to go on (`forceContinue`). */
  agent: Node;
  /** Runs the tools that the model called: searches in the session's turn, and none once the run has stopped. */
  tools: Node;
  /** Asks for the final answer, with no tools, and once more where it is empty or a tool call. Throws EmptyAnswerError. */
  answer: Node;
  /** The edge behind `agent`: to `tools`, again to `agent`, to `answer`, or the end. */
  afterAgent: (state: MessagesState, config?: RunContext) => 'agent' | 'tools' | 'answer' | typeof END;
  /** The edge behind `tools`: back to `agent`, or to `answer`. */
  afterTools: (state: unknown, config?: RunContext) => Promise<'agent' | 'answer'>;
}

/**
 * The nodes and edges of a search agent over messages, with the gate in it: `agent` → `tools` → `agent` … → `answer`. A stop leads to `answer`,
 * so every run ends in one answer. Throws InputError where it is not plain which tool searches.
 */
export function coverageNodes(sessions: Sessions, options: CoverageNodesOptions): CoverageNodes {
  const { tools, stopWhen } = options;
  const searching = searchingTools(
    tools.map(({ name }) => name),
    options.search,
  );
  const runOf = graphRuns(sessions, options);
  return {
    agent: (state, config) => agentStep(runOf(config), state, { ...options, config }),
    tools: async ({ messages }, config) => {
      const run = runOf(config);
      const calls = callsOf(messages.at(-1) ?? { content: '' });
      const done = await Promise.all(calls.map((call) => runTool(run, call, { tools, searching, config })));
      run.guard.rethrow();
      run.tell();
      return update(done);
    },
    answer: async ({ messages }, config) => update([await finalReply(runOf(config), messages, { model: options.answerModel, config })]),
    afterAgent: ({ messages }, config) => {
      const last = messages.at(-1);
      if (last?.getType?.() === 'ai') return callsOf(last).length > 0 ? 'tools' : END;
      return runOf(config).session.stoppedBy === null ? 'agent' : 'answer';
    },
    afterTools: edgeOf(runOf, { search: 'agent', answer: 'answer', when: stopWhen }),
  };
}

export interface CoverageEdgeOptions<S extends string, A extends string> {
  /** The node that goes on searching, and the one that answers. */
  search: S;
  answer: A;
  /** Default `stopped`. The gate's own stops lead to the answer in any case. */
  when?: StopCondition | undefined;
  /** Times that the edge leads to the search. Default 20, or two for every search that is allowed and two more. */
  maxTurns?: number | undefined;
}

/** The conditional edge alone, behind the node that searches. A condition of the user's that holds ends the search by `hostFinished`. */
export function coverageEdge<S extends string, A extends string>(
  sessions: Sessions,
  options: CoverageEdgeOptions<S, A>,
): (state: unknown, config?: RunContext) => Promise<S | A> {
  const runOf = graphRuns(sessions, {});
  const edge = edgeOf(runOf, options);
  return async (state, config) => {
    const run = runOf(config);
    // A graph that goes round without a search reaches none of the gate's bounds on searches.
    if (run.session.stoppedBy === null && run.turns >= mostTurns(run.session, options.maxTurns)) run.session.finish('hostFinished');
    const next = await edge(state, config);
    if (next === options.search) run.turns++;
    return next;
  };
}

export interface SearchNodeOptions<State, Found> {
  /** What of the search's update of the state is evidence. */
  evidence: (found: Found) => Evidence;
  query?: ((state: State) => string | undefined) | undefined;
}

/** A node that searches by itself, in a graph without tool calls: it runs in the session's turn, or changes nothing once the run has stopped. */
export function coverageSearch<State, Found extends object>(
  sessions: Sessions,
  search: (state: State, config?: RunContext) => Promise<Found> | Found,
  { evidence, query }: SearchNodeOptions<State, Found>,
): (state: State, config?: RunContext) => Promise<Found | Partial<Found>> {
  const runOf = graphRuns(sessions, {});
  return async (state, config) => {
    const { session } = runOf(config);
    const done = await session.search(() => search(state, config), { evidence, query: query?.(state), signal: config?.signal });
    return done.ran ? done.result : {};
  };
}

/**
 * Runs a compiled graph with the gate in it to its one final answer, and finishes the session. Throws InputError for a `recursionLimit` that would
 * end the run before the gate's bounds do, EmptyAnswerError, GateDeciderError once under `onError: 'throw'`, and what the host throws.
 */
export function invokeWithCoverageStop<G extends Invocable>(
  graph: G,
  input: Parameters<G['invoke']>[0],
  session: GateSession,
  config?: Parameters<G['invoke']>[1],
): Promise<CoverageResult<Awaited<ReturnType<G['invoke']>>>> {
  return invokeToAnswer((given) => graph.invoke(input, given as never), session, {
    config,
    steps: { turn: 2, answer: 1, once: 0 },
  });
}

interface Asking {
  config: RunContext | undefined;
}

async function agentStep(
  run: GraphRun,
  { messages }: MessagesState,
  { model, maxTurns, config }: CoverageNodesOptions & Asking,
): Promise<Update> {
  const { session } = run;
  run.tell();
  if (run.turns >= mostTurns(session, maxTurns)) session.finish('hostFinished');
  if (session.stoppedBy !== null) return update([]);
  run.turns++;
  const reply = await ask(model, messages, config);
  run.took(reply);
  if (callsOf(reply).length > 0) return update([reply]);
  run.tell();
  const message = session.nativeStop();
  if (message !== null) return update([reply, { role: 'user', content: message }]);
  if (textOf(reply).trim() !== '') return update([reply]);
  // It ended by itself and said nothing: its first empty answer.
  run.failed = new EmptyAnswerError(session.id);
  return update([]);
}

async function finalReply(
  run: GraphRun,
  messages: readonly ChatMessage[],
  { model, config }: { model: GraphModel } & Asking,
): Promise<ChatMessage> {
  const { session } = run;
  session.finish('hostFinished');
  for (let tries = run.failed ? 1 : 0; tries < MOST_FINALS; tries++) {
    const reply = await ask(model, [...messages, { role: 'user', content: finalInstruction(session) }], config);
    run.took(reply);
    run.tell();
    if (callsOf(reply).length === 0 && textOf(reply).trim() !== '') return reply;
  }
  throw new EmptyAnswerError(session.id);
}

interface Tools extends Asking {
  tools: readonly GraphTool[];
  searching: readonly string[];
}

async function runTool({ guard }: GraphRun, call: ToolCall, { tools, searching, config }: Tools): Promise<unknown> {
  const { name, args, id } = call;
  const say = (content: string, status: 'success' | 'error' = 'success'): object => ({
    role: 'tool',
    content,
    tool_call_id: id ?? '',
    name,
    status,
  });
  const tool = tools.find((one) => one.name === name);
  if (!tool) return say(`Error: ${name} is not a tool, there are: ${tools.map((one) => one.name).join(', ')}`, 'error');
  const run = (): PromiseLike<unknown> => tool.invoke({ ...call, type: 'tool_call' } as never, config as never);
  try {
    const done = searching.includes(name) ? await guard.search(args, run, config?.signal) : await guard.other(run);
    return typeof done === 'string' ? say(done) : done;
  } catch (error) {
    if (isBubbling(error) || config?.signal?.aborted) throw error;
    return say(failureText(error), 'error');
  }
}

function edgeOf<S extends string, A extends string>(
  runOf: RunOf,
  { search, answer, when = stopped }: CoverageEdgeOptions<S, A>,
): (state: unknown, config?: RunContext) => Promise<S | A> {
  return async (_state, config) => {
    const { session } = runOf(config);
    if (session.stoppedBy !== null) return answer;
    if (!(await when(session))) return search;
    session.finish('hostFinished');
    return answer;
  };
}

function ask(model: GraphModel, messages: readonly unknown[], config: RunContext | undefined): PromiseLike<ChatMessage> {
  return model.invoke(messages as never, config as never);
}

/** The host makes messages of plain ones. */
function update(messages: readonly unknown[]): Update {
  return { messages: messages as never[] };
}

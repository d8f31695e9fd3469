import { InputError } from '../../src/core/errors.js';
import { finalInstruction } from '../session/final-instruction.js';
import { EmptyAnswerError } from '../session/gate-errors.js';
import type { GateSession } from '../session/session.js';
import { type ChatMessage, type MessageReading, type ToolCall, callsOf, failureText, isBubbling, textOf } from './chat-messages.js';
import { type GraphRun, type RunContext, type Sessions, graphRuns, mostTurns } from './graph-run.js';
import { searchingTools } from './searching-tools.js';
import { type CoverageResult, type GraphSteps, type Invocable, invokeToAnswer } from './invoke-graph.js';
import { MOST_FINALS } from './step-loop.js';

// The door `hopgate/langchain`: agents of LangChain.js (`createAgent`, langchain 1). Nothing of it is imported.
export type { ChatMessage, MessageReading } from './chat-messages.js';
export type { RunContext, Sessions } from './graph-run.js';
export type { CoverageResult } from './invoke-graph.js';
export { EmptyAnswerError, GateDeciderError } from '../session/gate-errors.js';

/** How the model is kept from searching when it has to answer. */
export type FinalStep =
  /** `toolChoice: 'none'`, the tools stay listed; where it calls one all the same, none are listed when it is asked again. */
  | 'toolChoice'
  /** No tools are listed. */
  | 'noTools'
  /** Neither: the instruction alone, and the guard of the tools. For providers that refuse `toolChoice: 'none'` (known fault P82). */
  | 'instruction';

export interface CoverageSettings extends MessageReading {
  /** Default `toolChoice`. Whatever it is, no tool runs after the stop. */
  finalStep?: FinalStep | undefined;
  /** Requests to the model before its final answer is asked for. Default 20, or two for every search that is allowed and two more. */
  maxTurns?: number | undefined;
}

/** What is read of a request to the model. */
interface ModelRequest {
  readonly tools: readonly unknown[];
  readonly systemMessage: { concat(text: string): unknown };
  readonly responseFormat?: unknown;
  readonly runtime: RunContext;
}

interface ToolRequest {
  readonly toolCall: ToolCall;
  /** Left out where the agent has none of the name that was called. */
  readonly tool?: unknown;
  readonly runtime: RunContext;
}

type Handler<R> = (request: never) => PromiseLike<R> | R;

/** Hooks for the host's `createMiddleware`. */
export interface CoverageHooks {
  name: 'CoverageStop';
  beforeModel: (state: unknown, runtime: RunContext) => undefined;
  wrapModelCall: <R>(request: ModelRequest, handler: Handler<R>) => Promise<R>;
  afterModel: { canJumpTo: ['model']; hook: (state: unknown, runtime: RunContext) => { messages: never[]; jumpTo: 'model' } | undefined };
  wrapToolCall: <R>(request: ToolRequest, handler: Handler<R>) => Promise<R>;
}

/**
 * The gate as a middleware of `createAgent`: `createMiddleware(coverageMiddleware(session))`. Searches run in the session's turn and none once it has
 * stopped; the stop leads into a last request with tools off that asks for the answer, once more where it brought none. A model that ends before
 * coverage is told to go on (`forceContinue`), by a jump to it. No jump to the end is made, since that skips the `afterAgent` hooks of others (known
 * fault P86). Hooks of others `beforeModel` do not run before the request behind the continue message (P85). Without `invokeWithCoverageStop` the session
 * is the caller's to `finish`.
 */
export function coverageMiddleware(sessions: Sessions, settings: CoverageSettings = {}): CoverageHooks {
  const runOf = graphRuns(sessions, settings);
  return {
    name: 'CoverageStop',
    beforeModel: (_state, runtime) => {
      const run = runOf(runtime);
      run.guard.rethrow();
      run.tell();
      return undefined;
    },
    wrapModelCall: (request, handler) => modelCall(runOf(request.runtime), request, { handler, settings }),
    afterModel: {
      canJumpTo: ['model'],
      hook: (_state, runtime) => {
        const run = runOf(runtime);
        // Thrown here, since the host would wrap it where the model is called.
        if (run.failed) throw run.failed;
        const { message } = run;
        run.message = null;
        return message === null ? undefined : { messages: [{ role: 'user', content: message } as never], jumpTo: 'model' };
      },
    },
    // No `afterAgent`: beside an `afterModel` that may jump, the host fails where it lets the model correct a structured answer.
    wrapToolCall: (request, handler) => toolCall(runOf(request.runtime), request, { handler, settings }),
  };
}

/**
 * Runs an agent with the middleware in it to its one final answer, and finishes the session. Throws InputError for a `recursionLimit` that would end
 * the run before the gate's bounds do, EmptyAnswerError, GateDeciderError once under `onError: 'throw'`, and what the host throws.
 */
export function invokeWithCoverageStop<G extends Invocable & { graph?: unknown }>(
  agent: G,
  input: Parameters<G['invoke']>[0],
  session: GateSession,
  config?: Parameters<G['invoke']>[1],
): Promise<CoverageResult<Awaited<ReturnType<G['invoke']>>>> {
  const { nodes = {} } = (agent.graph ?? {}) as { nodes?: object };
  return invokeToAnswer((given) => agent.invoke(input, given as never), session, { config, steps: stepsOf(Object.keys(nodes)) });
}

interface Calling<R> {
  handler: Handler<R>;
  settings: CoverageSettings;
}

async function modelCall<R>(run: GraphRun, request: ModelRequest, { handler, settings }: Calling<R>): Promise<R> {
  const { session } = run;
  searchingTools(
    request.tools.map((tool) => (tool as { name?: unknown }).name).filter((name) => typeof name === 'string'),
    settings.search,
  );
  run.tell();
  const ask = async (changed: object): Promise<R & ChatMessage> => {
    const reply = (await handler(changed as never)) as R & ChatMessage;
    // A structured answer comes with the messages that it was made of.
    run.took(isStructured(reply) ? ((reply as { messages?: readonly ChatMessage[] }).messages?.[0] ?? reply) : reply);
    return reply;
  };
  let tries = 0;
  if (run.turns >= mostTurns(session, settings.maxTurns)) session.finish('hostFinished');
  if (session.stoppedBy === null) {
    run.turns++;
    const reply = await ask(request);
    if (callsOf(reply).length > 0) return reply;
    run.tell();
    run.message = session.nativeStop();
    if (run.message !== null || isStructured(reply) || textOf(reply).trim() !== '') return reply;
    // It ended by itself and said nothing: its first empty answer.
    tries = 1;
  }
  for (;;) {
    const reply = await ask(
      finalRequest(request, session, tries > 0 && settings.finalStep !== 'instruction' ? 'noTools' : settings.finalStep),
    );
    run.tell();
    if (isStructured(reply) || (callsOf(reply).length === 0 && textOf(reply).trim() !== '')) return reply;
    if (++tries < MOST_FINALS) continue;
    run.failed = new EmptyAnswerError(session.id);
    return reply;
  }
}

/** The instruction stands in the request alone: in a thread that goes on with another question it would be out of place. */
function finalRequest(request: ModelRequest, session: GateSession, finalStep: FinalStep = 'toolChoice'): object {
  const systemMessage = request.systemMessage.concat(`\n\n${finalInstruction(session)}`);
  switch (finalStep) {
    case 'toolChoice':
      // An answer of a given form may be a tool call of the host's own.
      return { ...request, systemMessage, ...(request.responseFormat === undefined && { toolChoice: 'none' }) };
    case 'noTools':
      return { ...request, systemMessage, tools: [], toolChoice: undefined };
    case 'instruction':
      return { ...request, systemMessage, toolChoice: undefined };
    default:
      throw new InputError(`finalStep: got ${JSON.stringify(finalStep)}, expected toolChoice, noTools or instruction`);
  }
}

async function toolCall<R>(run: GraphRun, request: ToolRequest, { handler, settings }: Calling<R>): Promise<R> {
  const { toolCall: call, runtime } = request;
  // The host makes a message of what a tool returns, so a tool stands in for a text.
  const say = (text: string): PromiseLike<R> | R =>
    handler({ ...request, tool: { name: call.name, invoke: () => Promise.resolve(text) } } as never);
  const own = (): PromiseLike<R> | R => handler(request as never);
  let done: unknown;
  try {
    const searches = settings.search?.includes(call.name) ?? request.tool !== undefined;
    done = searches ? await run.guard.search(call.args, own, runtime.signal) : await run.guard.other(own);
  } catch (error) {
    // Beside a middleware the host lets a tool's failure end the run; without one it tells the model, as is done here.
    if (isBubbling(error) || runtime.signal?.aborted) throw error;
    return say(failureText(error));
  }
  // A tool that returns directly is followed by no request to throw it before.
  run.guard.rethrow();
  return typeof done === 'string' ? say(done) : (done as R);
}

/** An answer of the form that `responseFormat` asks for; where it has another, the host hands on the call alone. */
function isStructured(reply: ChatMessage): boolean {
  return 'structuredResponse' in reply;
}

/** The agent's graph: hooks before and behind each request to the model, and those that run once. */
function stepsOf(nodes: readonly string[]): GraphSteps {
  const request = nodes.filter((name) => /\.(before|after)_model$/.test(name)).length + 1;
  return { turn: request + 1, answer: request, once: nodes.filter((name) => /\.(before|after)_agent$/.test(name)).length };
}

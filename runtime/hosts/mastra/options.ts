import { finalInstruction } from '../../session/final-instruction.js';
import type { GateSession } from '../../session/session.js';
import type { Evidence } from '../../session/evidence.js';
import type { SearchReading } from '../guarded-search.js';
import { guardedTools, runnableTools } from '../guarded-tools.js';
import { DEFAULT_MAX_TURNS, MOST_FINALS, type Step, type StepLoop, type StopWhen, asList, stepLoop, stopCondition } from '../step-loop.js';

/** Options of an agent's `generate` and `stream`; what is read of them is read by name. */
export type AgentOptions = object;

export interface CoverageSettings extends SearchReading {
  /** The agent's tools that search. Default: its only tool; of several the searching ones have to be named. */
  search?: readonly string[] | undefined;
  /** `toolChoice` (default): the final request lists no tools. `instruction`: it does, and the instruction and the guards alone keep the model from searching. */
  finalStep?: 'toolChoice' | 'instruction' | undefined;
  /** Requests to the model before its final answer is asked for. Default: the options' `maxSteps`, else 20. */
  maxTurns?: number | undefined;
}

interface Loop {
  maxSteps?: number | undefined;
  stopWhen?: StopWhen | readonly StopWhen[] | undefined;
  prepareStep?: ((step: PreparedStep) => unknown) | undefined;
  onIterationComplete?: ((iteration: Iteration) => unknown) | undefined;
}

interface PreparedStep {
  steps: readonly Step[];
  tools?: object;
  systemMessages: readonly unknown[];
  messageList: { add: (message: { role: 'user'; content: string }, source: 'context') => unknown };
  rotateResponseMessageId?: () => string;
}

interface Iteration {
  text: string;
  toolCalls: readonly unknown[];
  isFinal: boolean;
  finishReason: string;
}

interface IterationResult {
  continue?: boolean;
  feedback?: string;
}

/**
 * The options with everything of ours in them; see `withCoverageStop`.
 *
 * @param onKept `end` where the caller throws what the gate had to keep; else it is thrown before the next request
 */
export function guardedOptions<O extends AgentOptions>(
  options: O,
  session: GateSession,
  { onKept, ...settings }: CoverageSettings & { onKept: 'end' | 'goOn' },
): { options: O; loop: StepLoop } {
  const { maxSteps, stopWhen, prepareStep, onIterationComplete } = options as O & Loop;
  const loop = stepLoop(session, { ...settings, evidence: evidenceOf(settings) });
  const maxTurns = settings.maxTurns ?? maxSteps ?? DEFAULT_MAX_TURNS;
  const state: State = { loop, settings, guarded: [], message: null };
  return {
    loop,
    options: {
      ...options,
      // Mastra ends on a tool call at `maxSteps`, and takes 5 where neither that nor a condition is given. Ours asks for the answer first;
      // told to go on is every step once at most.
      maxSteps: 2 * maxTurns + MOST_FINALS,
      // It does not throw: that leaves the readers of Mastra's fullStream waiting for ever.
      stopWhen: stopCondition(loop, { own: asList(stopWhen), maxTurns, guarded: () => state.guarded, onKept }),
      prepareStep: preparation(state, prepareStep),
      onIterationComplete: completion(state, onIterationComplete),
    },
  };
}

interface State {
  loop: StepLoop;
  settings: CoverageSettings;
  /** Names of the guarded tools of the last request. */
  guarded: readonly string[];
  /** To be said in the next request. */
  message: string | null;
}

/** Asked before every request. An agent's tools are guarded here, since it is made once and a session belongs to one question. */
function preparation(state: State, own: Loop['prepareStep']): (step: PreparedStep) => Promise<unknown> {
  const { loop, settings } = state;
  return async (step) => {
    loop.guard.rethrow();
    loop.spend(step.steps);
    const prepared = ((await own?.(step)) ?? {}) as { tools?: object; systemMessages?: readonly unknown[]; messageId?: string };
    const tools = prepared.tools ?? step.tools ?? {};
    state.guarded = runnableTools(tools);
    const ours: { [name: string]: unknown } = { tools: guardedTools(tools, loop.guard, settings.search) };
    if (state.message !== null) {
      // Behind what the model said last, which another message id closes; and not into the agent's memory.
      const messageId = step.rotateResponseMessageId?.();
      if (messageId !== undefined) ours.messageId = messageId;
      step.messageList.add({ role: 'user', content: state.message }, 'context');
      state.message = null;
    }
    if (loop.guard.session.stoppedBy !== null) {
      loop.finals++;
      ours.toolChoice = settings.finalStep === 'instruction' ? 'auto' : 'none';
      const instruction = { role: 'system', content: finalInstruction(loop.guard.session) };
      ours.systemMessages = [...(prepared.systemMessages ?? step.systemMessages), instruction];
    }
    return { ...prepared, ...ours };
  };
}

/**
 * Told after every step, its tools included. Mastra drops `feedback` where the model ended by itself (known fault P85), so the step is continued here
 * and the message said in the next one's preparation.
 */
function completion(state: State, own: Loop['onIterationComplete']): (iteration: Iteration) => Promise<IterationResult | undefined> {
  const { loop } = state;
  return async (iteration) => {
    const wished = (await own?.(iteration)) as IterationResult | undefined;
    const { session } = loop.guard;
    if (loop.guard.kept() || iteration.finishReason === 'suspended' || wished?.continue === true) return wished;
    const calledTools = iteration.toolCalls.length > 0;
    if (calledTools) {
      if (wished?.continue !== false || session.stoppedBy !== null) return wished;
      // The user's hook ends the search, not the answer.
      session.finish('hostFinished');
      return wished.feedback === undefined ? undefined : { feedback: wished.feedback };
    }
    state.message = session.nativeStop();
    if (state.message !== null) return { continue: true };
    if (iteration.text.trim() !== '') return wished;
    // An end of the model's own without a text was its first empty answer.
    if (loop.finals === 0) loop.finals = 1;
    return loop.finals < MOST_FINALS ? { continue: true } : wished;
  };
}

/** An input that a tool refuses comes back as its result, `{ error: true, message }`: no evidence. */
function evidenceOf({ evidence }: CoverageSettings): (result: unknown, input: unknown) => Evidence {
  return (result, input) => {
    const { error, validationErrors } = (typeof result === 'object' ? (result ?? {}) : {}) as {
      error?: unknown;
      validationErrors?: unknown;
    };
    if (error === true && validationErrors !== undefined) return [];
    return evidence ? evidence(result, input) : (result as Evidence);
  };
}

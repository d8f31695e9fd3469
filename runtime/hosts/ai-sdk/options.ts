import { InputError } from '../../../src/core/errors.js';
import { finalInstruction } from '../../session/final-instruction.js';
import type { GateSession } from '../../session/session.js';
import type { SearchReading } from '../guarded-search.js';
import { guardedTools, runnableTools } from '../guarded-tools.js';
import { DEFAULT_MAX_TURNS, type Step, type StepLoop, type StopWhen, asList, stepLoop, stopCondition } from '../step-loop.js';

/** What is read of the options of `generateText`, `streamText` and `ToolLoopAgent` (ai 6 and ai 7). */
export interface HostOptions {
  tools?: object | undefined;
}

/** How the model is kept from searching when it has to answer. */
export type FinalStep =
  /** `toolChoice: 'none'`, the tools stay listed. */
  | 'toolChoice'
  /** `activeTools: []`: for providers that still call listed tools. */
  | 'noTools'
  /** Neither: the instruction alone, and the tools' guards. For providers that refuse `toolChoice: 'none'` (known fault P82). */
  | 'instruction';

export interface CoverageSettings extends SearchReading {
  /** The tools that search. Default: the only tool with an `execute`; of several the searching ones have to be named. */
  search?: readonly string[] | undefined;
  /** Default `toolChoice`. Whatever it is, no tool runs after the stop: its `execute` is guarded. */
  finalStep?: FinalStep | undefined;
  /** Requests to the model before its final answer is asked for; the host's own limit is replaced by this one. Default 20. */
  maxTurns?: number | undefined;
}

export interface Message {
  role: string;
  content: unknown;
}

/** One question's run at the host, over all its calls of `generateText`. */
export interface CoverageCalls extends StepLoop {
  /** Messages of the last request. */
  messages: readonly Message[] | undefined;
  /** Asks without tools now, unless `finalStep` is `instruction`. */
  withoutTools: boolean;
}

export function coverageCalls(session: GateSession, settings: CoverageSettings): CoverageCalls {
  return { ...stepLoop(session, settings), messages: undefined, withoutTools: false };
}

/** The host's options with everything of ours in them; see `withCoverageStop`. */
export function guardedOptions<O extends HostOptions>(options: O, calls: CoverageCalls, settings: CoverageSettings): O {
  const { tools, stopWhen, prepareStep } = options as O & Loop;
  const runnable = runnableTools(tools ?? {});
  return {
    ...options,
    ...(tools === undefined ? {} : { tools: guardedTools(tools, calls.guard, settings.search) }),
    stopWhen: stopCondition(calls, {
      own: asList(stopWhen),
      maxTurns: settings.maxTurns ?? DEFAULT_MAX_TURNS,
      guarded: () => runnable,
      onKept: 'throw',
    }),
    prepareStep: preparation(calls, prepareStep, settings.finalStep ?? 'toolChoice'),
  };
}

interface Loop {
  stopWhen?: StopWhen | readonly StopWhen[] | undefined;
  prepareStep?: ((step: PreparedStep) => unknown) | undefined;
}
interface PreparedStep {
  steps: readonly Step[];
  messages: readonly Message[];
}

/** Asked by the host before every request: once the run has stopped, the request is for the final answer. */
function preparation(calls: CoverageCalls, own: Loop['prepareStep'], finalStep: FinalStep): (step: PreparedStep) => Promise<unknown> {
  const { guard } = calls;
  return async (step) => {
    guard.rethrow();
    calls.spend(step.steps);
    const prepared = (await own?.(step)) as { messages?: readonly Message[] } | undefined;
    calls.messages = prepared?.messages ?? step.messages;
    if (guard.session.stoppedBy === null) return prepared;
    calls.finals++;
    calls.messages = withInstruction(calls.messages, finalInstruction(guard.session));
    return { ...prepared, ...toolsOff(calls.withoutTools && finalStep === 'toolChoice' ? 'noTools' : finalStep), messages: calls.messages };
  };
}

function toolsOff(finalStep: FinalStep): object {
  switch (finalStep) {
    case 'toolChoice':
      return { toolChoice: 'none' };
    // A choice of the user's that forces a call has to go as well.
    case 'noTools':
      return { activeTools: [], toolChoice: 'auto' };
    case 'instruction':
      return { toolChoice: 'auto' };
    default:
      throw new InputError(`finalStep: got ${JSON.stringify(finalStep)}, expected toolChoice, noTools or instruction`);
  }
}

/** A later request of ai 7 already has it, one of ai 6 does not. */
function withInstruction(messages: readonly Message[], instruction: string): readonly Message[] {
  if (messages.some(({ role, content }) => role === 'user' && content === instruction)) return messages;
  return [...messages, { role: 'user', content: instruction }];
}

import { InputError } from '../../src/core/errors.js';
import type { StoppedBy } from '../../src/core/gate-log.js';
import { EmptyAnswerError, GateDeciderError } from '../session/gate-errors.js';
import type { GateSession } from '../session/session.js';
import { type ChatMessage, textOf } from './chat-messages.js';
import { mostTurns } from './graph-run.js';

/** What is read of an agent or a compiled graph. */
export interface Invocable {
  invoke: (input: never, config?: never) => PromiseLike<unknown>;
}

export interface CoverageResult<R> {
  /** The one final answer; never empty unless the run is `open`. */
  answer: string;
  /** What ended the search; null while the run is `open`. */
  stoppedBy: StoppedBy | null;
  /** The graph was interrupted: the session goes on when the thread is resumed with it. */
  open: boolean;
  /** The graph's last state. */
  result: R;
}

/** How many of the host's steps a run takes. */
export interface GraphSteps {
  /** For one request to the model and the tools it calls. */
  turn: number;
  /** For the answer. */
  answer: number;
  /** Once a run, beside those. */
  once: number;
}

/** Where no limit is given, the host's stands far behind ours, for what may go round in circles beside the agent. */
const SAFE_TURNS = 1000;

interface Config {
  recursionLimit?: number | undefined;
}

/**
 * Runs a graph with the gate in it to its one final answer, and finishes the session. A recursion limit that would end the run before the gate's bound on
 * searches does is refused beforehand; without one, it is set so that it cannot.
 *
 * Throws Error where the run ends without an answer in its last message, InputError, and once under `onError: 'throw'` GateDeciderError.
 */
export async function invokeToAnswer<R>(
  invoke: (config: object) => PromiseLike<unknown>,
  session: GateSession,
  { config = {}, steps }: { config?: Config | undefined; steps: GraphSteps },
): Promise<CoverageResult<R>> {
  const recursionLimit = limitOf(session, steps, config.recursionLimit);
  try {
    const result = await invoke({ ...config, recursionLimit });
    const state = result as { messages?: readonly ChatMessage[]; __interrupt__?: unknown };
    const last = state.messages?.at(-1);
    const answer = last?.getType?.() === 'ai' ? textOf(last) : '';
    if (state.__interrupt__ !== undefined) return { answer, stoppedBy: session.stoppedBy, open: true, result: result as R };
    session.finish();
    if (answer.trim() === '')
      throw new Error(`session ${session.id}: the run ended without an answer, its last message is of type ${last?.getType?.() ?? 'none'}`);
    return { answer, stoppedBy: session.stoppedBy, open: false, result: result as R };
  } catch (error) {
    session.finish('error');
    throw ownError(error) ?? error;
  }
}

function limitOf(session: GateSession, { turn, answer, once }: GraphSteps, given: number | undefined): number {
  const { maxSteps } = session.bounds;
  // The host wants one more than it takes.
  const beside = answer + once + 1;
  if (given === undefined) return turn * Math.max(mostTurns(session, undefined), SAFE_TURNS) + beside;
  if (maxSteps === null) return given;
  const needed = turn * maxSteps + beside;
  if (given < needed)
    throw new InputError(
      `recursionLimit: got ${given}, expected at least ${needed}, or none: the host would end the run before its ${maxSteps} searches (maxSteps) and the answer`,
    );
  return given;
}

/** LangChain.js wraps what its hooks throw. */
function ownError(error: unknown): unknown {
  for (let one = error; one instanceof Error; one = one.cause)
    if (one instanceof GateDeciderError || one instanceof EmptyAnswerError || one instanceof InputError) return one;
  return undefined;
}

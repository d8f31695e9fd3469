import type { StoppedBy } from '../../../src/core/gate-log.js';
import { EmptyAnswerError } from '../../session/gate-errors.js';
import type { GateSession } from '../../session/session.js';
import { MOST_FINALS, type Step, isWaiting } from '../step-loop.js';
import { type CoverageCalls, type CoverageSettings, type HostOptions, type Message, coverageCalls, guardedOptions } from './options.js';

/** What is read of what `generateText` returns (ai 6 and ai 7). */
export interface HostResult {
  readonly text: string;
  readonly steps: readonly Step[];
  /** ai 7. */
  readonly responseMessages?: readonly Message[];
  /** ai 6: of all steps; ai 7: of the last. */
  readonly response: { readonly messages: readonly Message[] };
}

export interface CoverageResult<R> {
  /** The one final answer; never empty unless the run is `open`. */
  answer: string;
  /** What ended the search; null while the run is `open`. */
  stoppedBy: StoppedBy | null;
  /** The model called a tool that the host does not run itself, or that waits for approval: the session goes on with the next call. */
  open: boolean;
  /** Of the host's last call. */
  result: R;
  /** Of all of the host's calls. */
  steps: readonly Step[];
}

/** One call of the host, as both ways of calling it end. */
export interface Called<R> {
  result: R;
  text: string;
  steps: readonly Step[];
  /** What the model and its tools said in this call. */
  said: readonly Message[];
}

export function called<R extends HostResult>(result: R): Called<R> {
  return { result, text: result.text, steps: result.steps, said: result.responseMessages ?? result.response.messages };
}

/**
 * Calls the host until there is one non-empty final answer: again with the continue message where the model ended before coverage, and once more
 * where it called a tool in place of its answer or gave none. Throws EmptyAnswerError where that brought none either, GateDeciderError
 * under `onError: 'throw'`, and whatever the host throws.
 */
export async function runToAnswer<O extends HostOptions, R>(
  call: (options: O, calls: CoverageCalls) => Promise<Called<R>>,
  options: O,
  session: GateSession,
  settings: CoverageSettings,
): Promise<CoverageResult<R>> {
  const calls = coverageCalls(session, settings);
  let next = guardedOptions(options, calls, settings);
  let messages = givenMessages(options);
  const again = (said: readonly Message[], message?: string): void => {
    messages = message === undefined ? said : [...said, { role: 'user', content: message }];
    next = { ...guardedOptions(options, calls, settings), prompt: undefined, messages };
  };
  try {
    for (;;) {
      let done: Called<R>;
      try {
        done = await call(next, calls);
      } catch (error) {
        calls.guard.rethrow();
        if (!isToolChoiceViolation(error) || session.stoppedBy === null || calls.messages === undefined) throw error;
        if (calls.finals >= MOST_FINALS) throw new EmptyAnswerError(session.id);
        // The model called a tool although it may not: it is asked once more, with none in sight.
        calls.withoutTools = true;
        calls.endCall();
        again(calls.messages);
        continue;
      }
      calls.guard.rethrow();
      calls.spend(done.steps);
      calls.endCall();
      const steps = calls.before;
      if (isWaiting(done.steps.at(-1))) return { answer: done.text, stoppedBy: session.stoppedBy, open: true, result: done.result, steps };
      const said = [...messages, ...done.said];
      const message = session.nativeStop();
      if (message !== null) {
        again(said, message);
        continue;
      }
      if (done.text.trim() !== '') {
        session.finish();
        return { answer: done.text, stoppedBy: session.stoppedBy, open: false, result: done.result, steps };
      }
      // An end of the model's own without a text was its first empty answer.
      if (calls.finals === 0) calls.finals = 1;
      if (calls.finals >= MOST_FINALS) throw new EmptyAnswerError(session.id);
      calls.withoutTools = true;
      again(said);
    }
  } catch (error) {
    session.finish('error');
    throw error;
  }
}

export function isToolChoiceViolation(error: unknown): boolean {
  return error instanceof Error && error.name === 'AI_ToolChoiceViolationError';
}

function givenMessages(options: object): readonly Message[] {
  const { prompt, messages } = options as { prompt?: string | readonly Message[]; messages?: readonly Message[] };
  if (typeof prompt === 'string') return [{ role: 'user', content: prompt }];
  return prompt ?? messages ?? [];
}

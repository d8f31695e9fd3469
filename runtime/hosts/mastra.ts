import type { StoppedBy } from '../../src/core/gate-log.js';
import { EmptyAnswerError } from '../session/gate-errors.js';
import type { GateSession } from '../session/session.js';
import { answerStream } from './answer-stream.js';
import { type AgentOptions, type CoverageSettings, guardedOptions } from './mastra/options.js';
import type { Step, StepLoop } from './step-loop.js';

// The door `hopgate/mastra`: agents of @mastra/core. Nothing of it is imported; the agent is passed in.
export type { AgentOptions, CoverageSettings } from './mastra/options.js';
export { EmptyAnswerError, GateDeciderError } from '../session/gate-errors.js';

/** What is read of what `agent.generate` returns, and of `getFullOutput()` of a stream. */
export interface AgentResult {
  readonly steps: readonly Pick<Step, 'text' | 'content' | 'usage'>[];
  readonly finishReason?: string | undefined;
  readonly error?: unknown;
}

/** What is read of what `agent.stream` returns. */
export interface AgentStream<R extends AgentResult> {
  readonly fullStream: AsyncIterable<unknown>;
  getFullOutput(): Promise<R>;
}

export interface CoverageResult<R> {
  /** The one final answer, which the host's `text` runs together with what the model said before; never empty unless the run is `open`. */
  answer: string;
  /** What ended the search; null while the run is `open`. */
  stoppedBy: StoppedBy | null;
  /** A tool waits for someone: the session goes on with the host's next call. */
  open: boolean;
  result: R;
}

export interface CoverageStream<R> {
  /** The final answer alone, as it comes where tools are off by then; a text that may not be the last word is held back until it is. */
  textStream: ReadableStream<string>;
  /** How the run ended; it does not need to be awaited for the stream to go on. */
  done: Promise<CoverageResult<R>>;
}

/**
 * Options of `agent.generate` or `agent.stream` with the gate in them, for one question: the agent's search tool runs through the session, and no tool
 * runs once it has stopped; the stop leads into one last request with tools off that asks for the answer, and only then the loop ends
 * (`maxSteps`, `stopWhen` and `onIterationComplete` of the user's too lead there). A model that ends before coverage is told to go on
 * (`forceContinue`), one that answers nothing is asked once more. The session is the caller's to `finish`.
 *
 * Where it is not plain which tool searches the agent's call fails, and under `onError: 'throw'` too; Mastra hands on such an error's message, not its type,
 * which `generateWithCoverageStop` keeps.
 */
export function withCoverageStop<O extends AgentOptions>(options: O, session: GateSession, settings: CoverageSettings = {}): O {
  return guardedOptions(options, session, { ...settings, onKept: 'goOn' }).options;
}

/**
 * Runs an agent with the gate in it to its one final answer, and finishes the session.
 *
 * Throws EmptyAnswerError where the answer was empty twice (none is made up), GateDeciderError once under `onError: 'throw'`, and what the host throws.
 *
 * @param generate calls the agent: `(options) => agent.generate(question, options)`
 */
export async function generateWithCoverageStop<O extends AgentOptions, R extends AgentResult>(
  generate: (options: O) => PromiseLike<R>,
  options: O,
  session: GateSession,
  settings: CoverageSettings = {},
): Promise<CoverageResult<R>> {
  const { options: guarded, loop } = guardedOptions(options, session, { ...settings, onKept: 'end' });
  return ended(session, loop, async () => generate(guarded));
}

/**
 * `generateWithCoverageStop` for streams. Cancelling `textStream` aborts the agent's call.
 *
 * @param stream calls the agent: `(options) => agent.stream(question, options)`
 */
export function streamWithCoverageStop<O extends AgentOptions, R extends AgentResult>(
  stream: (options: O) => PromiseLike<AgentStream<R>>,
  options: O,
  session: GateSession,
  settings: CoverageSettings = {},
): CoverageStream<R> {
  const { abortSignal } = options as { abortSignal?: AbortSignal };
  return answerStream(abortSignal, ({ signal, show }) => {
    const { options: guarded, loop } = guardedOptions({ ...options, abortSignal: signal }, session, { ...settings, onKept: 'end' });
    return ended(session, loop, async () => {
      const output = await stream(guarded);
      for await (const chunk of output.fullStream as AsyncIterable<Chunk>) {
        if (chunk.type === 'error') throw chunk.payload?.error;
        if (chunk.type === 'text-delta' && loop.finals > 0 && settings.finalStep !== 'instruction') show(chunk.payload?.text ?? '');
      }
      return output.getFullOutput();
    });
  });
}

interface Chunk {
  type: string;
  payload?: { text?: string; error?: unknown };
}

async function ended<R extends AgentResult>(session: GateSession, loop: StepLoop, call: () => Promise<R>): Promise<CoverageResult<R>> {
  try {
    const result = await call();
    loop.guard.rethrow();
    if (result.error !== undefined && result.error !== null) throw result.error;
    loop.spend(result.steps);
    const last = result.steps.at(-1);
    const answer = last?.text ?? '';
    if (result.finishReason === 'suspended' || isWaiting(last)) return { answer, stoppedBy: session.stoppedBy, open: true, result };
    session.finish();
    if (answer.trim() === '') throw new EmptyAnswerError(session.id);
    return { answer, stoppedBy: session.stoppedBy, open: false, result };
  } catch (error) {
    const kept = loop.guard.kept();
    session.finish('error');
    throw kept ? kept.error : error;
  }
}

/** A tool call without a result: that of a client's tool, or of one that waits for approval. */
function isWaiting(step: Pick<Step, 'content'> | undefined): boolean {
  const content = step?.content ?? [];
  const settled = new Set(content.filter(({ type }) => type === 'tool-result' || type === 'tool-error').map((one) => one.toolCallId));
  return content.some(({ type, toolCallId }) => type === 'tool-call' && !settled.has(toolCallId));
}

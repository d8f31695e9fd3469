import { answerStream } from '../answer-stream.js';
import type { GateSession } from '../../session/session.js';
import type { Step } from '../step-loop.js';
import type { CoverageCalls, CoverageSettings, HostOptions, Message } from './options.js';
import { type Called, type CoverageResult, isToolChoiceViolation, runToAnswer } from './run.js';

/** What is read of what `streamText` returns (ai 6 and ai 7). */
export interface HostStream {
  readonly fullStream: AsyncIterable<{ readonly type: string }>;
  readonly steps: PromiseLike<readonly Step[]>;
  readonly responseMessages?: PromiseLike<readonly Message[]>;
  readonly response: PromiseLike<{ readonly messages: readonly Message[] }>;
}

export interface CoverageStream<R> {
  /** The final answer alone, as it comes where tools are off by then; a text that may not be the last word is held back until it is. */
  textStream: ReadableStream<string>;
  /** How the run ended; it does not need to be awaited for the stream to go on. */
  done: Promise<CoverageResult<R>>;
}

type Part = { type: string; text?: string; error?: unknown };

/**
 * `generateWithCoverageStop` for `streamText`. Cancelling `textStream` aborts the host's call.
 *
 * @param stream the host's `streamText`
 */
export function streamWithCoverageStop<O extends HostOptions, R extends HostStream>(
  stream: (options: O) => R,
  options: O,
  session: GateSession,
  settings: CoverageSettings = {},
): CoverageStream<R> {
  const { abortSignal } = options as { abortSignal?: AbortSignal };
  return answerStream(abortSignal, (writer) => {
    const call = async (given: O, calls: CoverageCalls): Promise<Called<R>> => {
      const result = stream(given);
      try {
        await read(result, (text) => {
          if (session.stoppedBy !== null && calls.finals > 0 && settings.finalStep !== 'instruction') writer.show(text);
        });
      } catch (error) {
        // What was shown cannot be taken back: it is the answer, and the tool that was called behind it is not run.
        if (isToolChoiceViolation(error) && writer.shown.trim() !== '') return { result, text: writer.shown, steps: calls.steps, said: [] };
        throw error;
      }
      const [steps, said] = await Promise.all([result.steps, result.responseMessages ?? messagesOf(result)]);
      return { result, text: steps.at(-1)?.text ?? '', steps, said };
    };
    return runToAnswer(call, { ...options, abortSignal: writer.signal }, session, settings);
  });
}

/** Reads a host's stream to its end, and throws what it reports as an error. */
async function read({ fullStream }: HostStream, onText: (text: string) => void): Promise<void> {
  for await (const part of fullStream as AsyncIterable<Part>) {
    if (part.type === 'text-delta') onText(part.text ?? '');
    if (part.type === 'error') throw part.error;
  }
}

async function messagesOf({ response }: HostStream): Promise<readonly Message[]> {
  return (await response).messages;
}

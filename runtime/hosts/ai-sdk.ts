import type { GateSession } from '../session/session.js';
import { type CoverageSettings, type HostOptions, coverageCalls, guardedOptions } from './ai-sdk/options.js';
import { type CoverageResult, type HostResult, called, runToAnswer } from './ai-sdk/run.js';

// The door `hopgate/ai-sdk`: the Vercel AI SDK, ai 6 and ai 7. Nothing of it is imported; what is needed of it at run time is passed in.
export { type DecideFunction, type DecisionModel, decisionDecider, verifierModel } from './ai-sdk/decision.js';
export type { CoverageSettings, FinalStep, HostOptions } from './ai-sdk/options.js';
export type { CoverageResult, HostResult } from './ai-sdk/run.js';
export { type CoverageStream, type HostStream, streamWithCoverageStop } from './ai-sdk/stream.js';
export { EmptyAnswerError, GateDeciderError } from '../session/gate-errors.js';

/**
 * Options of `generateText`, `streamText` or `ToolLoopAgent` with the gate in them, for one question: the search tool's `execute` runs through the
 * session, and no tool runs once it has stopped; the stop leads into one last request with tools off that asks for the answer, and only
 * then the loop ends (the user's own `stopWhen` too leads there; `prepareStep` is kept). What the model says is not looked at: a model that
 * ends by itself, or answers nothing, needs `generateWithCoverageStop`. The session is the caller's to `finish`.
 *
 * Throws InputError where it is not plain which tool searches.
 */
export function withCoverageStop<O extends HostOptions>(options: O, session: GateSession, settings: CoverageSettings = {}): O {
  return guardedOptions(options, coverageCalls(session, settings), settings);
}

/**
 * Runs an agent with the gate in it to its one final answer. Over `withCoverageStop`: a model that ends before coverage is told to go on
 * (`forceContinue`), one that calls a tool or says nothing in place of its answer is asked once more, tokens are reported, and the session is
 * finished.
 *
 * Throws EmptyAnswerError where the answer was empty twice (none is made up), GateDeciderError once under `onError: 'throw'`, and what the host throws.
 *
 * @param generate the host's `generateText`, or a function that builds an agent from the options and calls it
 */
export function generateWithCoverageStop<O extends HostOptions, R extends HostResult>(
  generate: (options: O) => PromiseLike<R>,
  options: O,
  session: GateSession,
  settings: CoverageSettings = {},
): Promise<CoverageResult<R>> {
  return runToAnswer(async (given) => called(await generate(given)), options, session, settings);
}

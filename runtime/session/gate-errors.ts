/** A decider, the maker of its claims, or the encoder failed or took too long, and the gate was told to throw. */
export class GateDeciderError extends Error {
  readonly stage: 'decider' | 'claims' | 'encoder';
  readonly session: string;

  constructor(stage: GateDeciderError['stage'], session: string, reason: unknown) {
    super(`${stage} failed: ${errorText(reason)}`, { cause: reason });
    this.name = 'GateDeciderError';
    this.stage = stage;
    this.session = session;
  }
}

/** What failed, and with what. */
export interface Failure {
  stage: GateDeciderError['stage'];
  reason: unknown;
}

/** The agent's model gave an empty final answer twice. No answer is made up in its place. */
export class EmptyAnswerError extends Error {
  constructor(session: string) {
    super(`session ${session}: the model's final answer was empty twice, expected a text`);
    this.name = 'EmptyAnswerError';
  }
}

/** A failure in our own words, which hold nothing of question or evidence. */
export class KnownFailure extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'KnownFailure';
  }
}

/** Longest text of a failure that is logged. */
const MOST_CHARACTERS = 300;

/**
 * A failure as it is logged and told to clients. What a decider's server says may hold the prompt it was sent, so without content only what failed
 * and the kind of failure are said.
 */
export function failureWords(stage: GateDeciderError['stage'], reason: unknown, content: boolean): string {
  if (content || reason instanceof KnownFailure) return `${stage} failed: ${errorText(reason).slice(0, MOST_CHARACTERS)}`;
  const status = (reason as { status?: unknown } | null)?.status;
  return `${stage} failed: ${reason instanceof Error ? reason.name : typeof reason}${typeof status === 'number' ? ` ${status}` : ''}`;
}

export function errorText(reason: unknown): string {
  return reason instanceof Error ? reason.message : String(reason);
}

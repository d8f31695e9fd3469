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

/** The agent's model gave an empty final answer twice. No answer is made up in its place. */
export class EmptyAnswerError extends Error {
  constructor(session: string) {
    super(`session ${session}: the model's final answer was empty twice, expected a text`);
    this.name = 'EmptyAnswerError';
  }
}

export function errorText(reason: unknown): string {
  return reason instanceof Error ? reason.message : String(reason);
}

import { type Row, int, nullable, text } from './columns.js';

/**
 * Table `answers` of a run, one row a question in the order of its trajectories: what the agent itself answered, and all that it wrote. A run
 * whose agent gives no answers has no such table.
 */
export const answerColumns = {
  question_id: text(),
  row: int(),
  /** Null where the agent ended without an answer. */
  answer: nullable(text()),
  /** Everything that the agent wrote, with what it was given to read, in its own layout. */
  transcript: text(),
} as const;

export type AgentAnswer = Row<typeof answerColumns>;

import { type Row, choice, float, int, list, nullable, struct, text } from './columns.js';
import { InputError } from './errors.js';

/** Why a trajectory ended where it did, as its agent knows it. */
export const STOP_REASONS = [
  /** The agent had no other query: it answered, or its script ended. */
  'no_follow_up',
  /** It had another query and was not allowed it. */
  'budget',
  /** Its last searches brought nothing new. */
  'no_progress',
  /** Its language model wrote nothing. */
  'no_output',
  /** Its language model wrote neither a query nor an answer. */
  'off_format',
  /** It was told to go on after its own stop (forced continuation) and asked nothing. */
  'continue_refused',
  /** FLARE: the text was finished. */
  'finished',
  /** FLARE: as many sentences as there may be. */
  'sentence_limit',
  /** FLARE: the model wrote a sentence again. */
  'repeated_sentence',
  /** Imported: it ends with the agent's answer. */
  'answered',
  /** Imported: it ends without one. */
  'cut_off',
  /** Imported: the file does not say. */
  'unknown',
] as const;
export type StopReason = (typeof STOP_REASONS)[number];

/** One loop of one question: a query and the sentences that it newly brought (one already retrieved does not return). */
export const trajectoryColumns = {
  question_id: text(),
  row: int(),
  /** One-based. */
  loop: int(),
  query: text(),
  sub_answer: nullable(text()),
  sentences: list(struct({ page: int(), sentence: int(), title: text(), text: text(), score: float() })),
  /** Null on every loop but a question's last. */
  stop_reason: nullable(choice(STOP_REASONS)),
} as const;

export type Loop = Row<typeof trajectoryColumns>;
export type RetrievedSentence = Loop['sentences'][number];

/** All loops of one question in order. */
export interface Trajectory {
  question_id: string;
  row: number;
  loops: Loop[];
}

/**
 * Groups rows, which stand question by question and loop by loop, into trajectories. Throws InputError for a loop that does not follow the
 * one before it: two questions of one row and id would be read as one, a torn trajectory as a whole.
 */
export async function* groupTrajectories(rows: Iterable<Loop> | AsyncIterable<Loop>): AsyncGenerator<Trajectory> {
  let current: Trajectory | undefined;
  for await (const loop of rows) {
    const follows = current !== undefined && current.row === loop.row && current.question_id === loop.question_id;
    const expected = follows ? (current as Trajectory).loops.length + 1 : 1;
    if (loop.loop !== expected) {
      throw new InputError(`got loop ${loop.loop}, expected loop ${expected} of this question`, {
        row: loop.row,
        questionId: loop.question_id,
      });
    }
    if (current && follows) {
      current.loops.push(loop);
      continue;
    }
    if (current) yield current;
    current = { question_id: loop.question_id, row: loop.row, loops: [loop] };
  }
  if (current) yield current;
}

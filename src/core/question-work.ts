import { CheckFailedError } from './errors.js';
import type { Journal } from './journal.js';
import { type QuestionKey, questionKey } from './question-key.js';

export interface QuestionWorkOptions<Q, E> {
  /** Finished questions, so that an interrupted run goes on behind them. */
  journal: Journal<E>;
  keyOf: (question: Q) => QuestionKey;
  /** One question's work; what it returns is journalled. Calls for several questions may overlap. */
  work: (question: Q, signal: AbortSignal) => Promise<E>;
  /** Questions worked on at once, at least 1. Default 1. */
  concurrency?: number | undefined;
  /** Whether an error belongs to its question alone: the others go on. Default: none does, the first error ends the run. */
  failed?: ((error: unknown) => boolean) | undefined;
  /** Called for each such question. */
  onFailed?: ((failure: QuestionKey & { message: string }) => void) | undefined;
  signal?: AbortSignal | undefined;
}

/** Some questions failed and the rest is journalled; exit code 1, and `--resume` tries them again. */
export class FailedQuestionsError extends CheckFailedError {
  readonly failures: readonly (QuestionKey & { message: string })[];

  constructor(failures: readonly (QuestionKey & { message: string })[], total: number) {
    const [first] = failures;
    super(
      `${failures.length} of ${total} questions failed; the others are kept, and the same command with --resume tries the failed ones again ` +
        `(question ${JSON.stringify(first?.question_id)}: ${first?.message})`,
    );
    this.name = 'FailedQuestionsError';
    this.failures = failures;
  }
}

/** How far ahead of the oldest unfinished question work may run, in multiples of the concurrency: results wait in memory for their turn. */
const AHEAD = 8;

/**
 * Works on questions, several at a time, keeps each finished one in a journal, and yields all in the order of `questions`, whatever order
 * they were finished in.
 *
 * @throws FailedQuestionsError behind the last question when some failed on their own; else the first error, after which no work is begun
 */
export async function* questionWork<Q, E extends QuestionKey>(
  questions: AsyncIterable<Q> | Iterable<Q>,
  options: QuestionWorkOptions<Q, E>,
): AsyncGenerator<{ question: Q; entry: E }> {
  const { journal, keyOf, work, concurrency = 1, failed = () => false, onFailed, signal } = options;
  const earlier = new Map(journal.done.map((entry) => [questionKey(entry), entry]));
  const failures: (QuestionKey & { message: string })[] = [];
  const ended = new AbortController();
  const stop = signal ? AbortSignal.any([signal, ended.signal]) : ended.signal;
  const running = new Set<Promise<unknown>>();
  const waiting: { question: Q; entry: Promise<E | null> }[] = [];
  let total = 0;

  const begin = async (question: Q): Promise<E | null> => {
    try {
      const entry = await work(question, stop);
      await journal.append(entry);
      return entry;
    } catch (error) {
      if (!failed(error)) {
        ended.abort(error);
        throw error;
      }
      const failure = { ...keyOf(question), message: (error as Error).message };
      failures.push(failure);
      onFailed?.(failure);
      return null;
    }
  };
  const started = (question: Q): Promise<E | null> => {
    const known = earlier.get(questionKey(keyOf(question)));
    if (known) return Promise.resolve(known);
    const entry = begin(question);
    const settled: Promise<unknown> = entry.then(
      () => running.delete(settled),
      () => running.delete(settled),
    );
    running.add(settled);
    return entry;
  };

  try {
    for await (const question of questions) {
      signal?.throwIfAborted();
      total++;
      waiting.push({ question, entry: started(question) });
      while (running.size >= concurrency) await Promise.race(running);
      // With one at a time the head is finished by now, so that rows are written while the work goes on.
      while (waiting.length > 0 && (running.size === 0 || waiting.length > concurrency * AHEAD)) yield* headOf(waiting);
      if (ended.signal.aborted) break;
    }
    while (waiting.length > 0) yield* headOf(waiting);
  } catch (error) {
    // What was aborted after the first error says less than that error.
    throw ended.signal.aborted ? ended.signal.reason : error;
  } finally {
    ended.abort(new Error('the work has ended'));
    await Promise.allSettled(running);
    await Promise.allSettled(waiting.map(({ entry }) => entry));
  }
  if (failures.length > 0) {
    const inOrder = failures.toSorted((a, b) => a.row - b.row);
    throw new FailedQuestionsError(inOrder, total);
  }
}

async function* headOf<Q, E>(waiting: { question: Q; entry: Promise<E | null> }[]): AsyncGenerator<{ question: Q; entry: E }> {
  const { question, entry } = waiting.shift() as { question: Q; entry: Promise<E | null> };
  const finished = await entry;
  if (finished !== null) yield { question, entry: finished };
}

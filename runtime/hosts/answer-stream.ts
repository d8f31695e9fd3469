/** The text of an answer while it comes, for a host's stream. */
export interface AnswerWriter {
  /** Aborts where the reader cancelled the stream, or the user's own signal does. */
  readonly signal: AbortSignal;
  /** What was shown so far; it cannot be taken back. */
  readonly shown: string;
  show: (text: string) => void;
}

/**
 * A stream of an answer's text. `work` shows what may be shown as it comes and gives the run's end: a whole answer that was not shown before follows then,
 * unless the run is `open`. What `work` throws is the stream's error, and the promise's.
 */
export function answerStream<End extends { answer: string; open: boolean }>(
  abortSignal: AbortSignal | undefined,
  work: (writer: AnswerWriter) => Promise<End>,
): { textStream: ReadableStream<string>; done: Promise<End> } {
  const cancelled = new AbortController();
  let done: Promise<End> | undefined;
  const textStream = new ReadableStream<string>({
    start: (controller) => {
      let shown = '';
      const show = (text: string): void => {
        if (cancelled.signal.aborted || text === '') return;
        shown += text;
        controller.enqueue(text);
      };
      done = work({
        signal: abortSignal ? AbortSignal.any([abortSignal, cancelled.signal]) : cancelled.signal,
        get shown() {
          return shown;
        },
        show,
      });
      const finished = ({ answer, open }: End): void => {
        if (!open && shown.trim() === '') show(answer);
        if (!cancelled.signal.aborted) controller.close();
      };
      const failed = (error: unknown): void => {
        if (!cancelled.signal.aborted) controller.error(error);
      };
      // Who reads the stream alone has its error from there.
      done.then(finished, failed);
    },
    cancel: (reason) => cancelled.abort(reason ?? new Error('the reader of the stream cancelled it')),
  });
  return { textStream, done: done as Promise<End> };
}

import { type Gate, type LiveDecider, gateLogMemory } from '../../runtime/index.js';
import { type LoggedSession, groupGateEvents } from '../../src/core/gate-log.js';
import { type RunQuestion, readRunQuestions } from '../../src/core/run-questions.js';
import { collect } from '../../src/core/tables.js';

export interface LiveRun {
  /** In the order of the run. */
  sessions: LoggedSession[];
  questions: RunQuestion[];
}

/**
 * Feeds the loops of a run to a live gate, as its agent would have: sentences with their places, one observation a loop, until the session stops or the
 * trajectory ends. Its length is the question's budget.
 */
export async function liveRun(
  run: string,
  gateOf: (log: ReturnType<typeof gateLogMemory>) => Gate,
  { runOn = false, atOnce = 8 }: { runOn?: boolean; atOnce?: number } = {},
): Promise<LiveRun> {
  const questions = await collect(readRunQuestions(run));
  const log = gateLogMemory();
  const gate = gateOf(log);
  const one = async ({ record, trajectory }: RunQuestion): Promise<void> => {
    const { length } = trajectory.loops;
    const session = await gate.open(record?.question as string, {
      id: String(trajectory.row),
      questionId: trajectory.question_id,
      bounds: { maxSteps: length, noProgress: null },
      runOn,
    });
    for (const { query, sub_answer: subAnswer, sentences } of trajectory.loops) {
      if (session.stoppedBy !== null) break;
      await session.observe(sentences, { query, subAnswer });
    }
    session.finish();
  };
  const left = [...questions];
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      for (let next = left.shift(); next; next = left.shift()) await one(next);
    }),
  );
  const bySession = new Map(groupGateEvents(log.events).sessions.map((session) => [session.open.session, session]));
  return { questions, sessions: questions.map(({ trajectory }) => bySession.get(String(trajectory.row)) as LoggedSession) };
}

/** A decider that counts and passes on. */
export function countedDecider(decider: LiveDecider): LiveDecider & { asked: number } {
  const counted = {
    ...decider,
    asked: 0,
    open: (question: Parameters<LiveDecider['open']>[0]) => {
      const session = decider.open(question);
      return {
        call: (...args: Parameters<typeof session.call>) => {
          counted.asked++;
          return session.call(...args);
        },
      };
    },
  };
  return counted;
}

import type { Bound, StoppedBy } from '../../src/core/gate-log.js';
import type { Gate } from './create-gate.js';
import type { Evidence } from './evidence.js';
import { finalInstruction } from './final-instruction.js';
import { EmptyAnswerError } from './gate-errors.js';
import type { OpenOptions } from './gate-options.js';
import type { GateSession, Observation } from './session.js';

export interface LoopedSearch {
  query: string;
  observation: Observation;
}

export interface GatedLoopOptions extends OpenOptions {
  gate: Gate;
  question: string;
  /** The agent's next query, or null when it wants no other. `message` is what it has to be told, once: the force-continue message. */
  next: (state: {
    searches: readonly LoopedSearch[];
    session: GateSession;
    message: string | null;
  }) => Promise<string | null> | string | null;
  /** The final answer, from the instruction that says what stopped the search. Left out: no answer is asked for. */
  answer?: ((instruction: string, session: GateSession) => Promise<string> | string) | undefined;
}

export interface GatedLoopResult {
  stoppedBy: StoppedBy;
  bound: Bound | null;
  searches: LoopedSearch[];
  session: GateSession;
  /** Not empty; null where none was asked for. */
  answer: string | null;
}

/**
 * The plain search loop with the gate in it: ask for a query, search, observe, until something stops it. Throws what `search`, `next` and `answer`
 * throw, GateDeciderError under `onError: 'throw'`, and EmptyAnswerError.
 */
export async function gatedLoop(
  search: (query: string, options: { signal: AbortSignal | undefined }) => Promise<Evidence> | Evidence,
  { gate, question, next, answer, ...open }: GatedLoopOptions,
): Promise<GatedLoopResult> {
  const session = await gate.open(question, open);
  const { signal } = open;
  const searches: LoopedSearch[] = [];
  let message: string | null = null;
  try {
    while (session.stoppedBy === null) {
      signal?.throwIfAborted();
      const query = await next({ searches, session, message });
      message = null;
      if (query === null) {
        message = session.nativeStop();
        if (message === null) break;
        continue;
      }
      const searched = await session.search(() => search(query, { signal }), { evidence: (found) => found, query, signal });
      if (searched.ran) searches.push({ query, observation: searched.observation });
    }
  } catch (error) {
    session.finish('error');
    throw error;
  }
  const { stopped_by: stoppedBy, bound } = session.finish();
  const text = answer ? await finalAnswer(session, (instruction) => answer(instruction, session)) : null;
  return { stoppedBy, bound, searches, session, answer: text };
}

/** The model's final answer, asked for a second time where it is empty. Throws EmptyAnswerError: none is made up. */
export async function finalAnswer(session: GateSession, ask: (instruction: string) => Promise<string> | string): Promise<string> {
  for (let tries = 0; tries < 2; tries++) {
    const text = await ask(finalInstruction(session));
    if (text.trim() !== '') return text;
  }
  throw new EmptyAnswerError(session.id);
}

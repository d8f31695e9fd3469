import type { Json } from '../core/manifest.js';
import type { HopRecord } from '../core/records.js';
import type { Loop } from '../core/trajectories.js';
import { type Retriever, placeKey } from '../retrieval/index.js';

/** What an agent sees when it is asked for its next query: the question and its loops so far, never the gold labels. */
export interface AgentState {
  question: string;
  loops: readonly Loop[];
}

export interface Agent {
  readonly name: string;
  /** Everything that moves its queries, for manifests. */
  readonly identity: Json;
  /** The next query; null ends the trajectory. Asked for the first time before the first loop. */
  nextQuery(state: AgentState): string | null | Promise<string | null>;
}

export interface LoopOptions {
  /** Loops at most, at least 1. Default 6 (method.md §9). */
  budget?: number | undefined;
  /** Sentences a query brings at most, at least 1. Default 3. */
  top?: number | undefined;
  /** Whether a sentence already retrieved takes a place again (and adds nothing), instead of being passed over. Default false. */
  repeat?: boolean | undefined;
  signal?: AbortSignal | undefined;
}

export const DEFAULT_LOOPS = { budget: 6, top: 3 } as const;

/**
 * The loops of one question, up to the budget, whatever any policy would have stopped. The last loop says which bound ended it: `budget`
 * when the agent had another query and was not allowed it, `no_follow_up` when it had none.
 */
export async function* searchLoops(
  agent: Agent,
  { record, retriever, ...options }: { record: Pick<HopRecord, 'question_id' | 'row' | 'question'>; retriever: Retriever } & LoopOptions,
): AsyncGenerator<Loop> {
  const { budget = DEFAULT_LOOPS.budget, top = DEFAULT_LOOPS.top, repeat = false, signal } = options;
  if (!(Number.isInteger(budget) && budget >= 1)) throw new RangeError(`budget: got ${budget}, expected an integer of at least 1`);
  const { question_id, row, question } = record;
  const seen = new Set<string>();
  const loops: Loop[] = [];
  let query = await agent.nextQuery({ question, loops });
  while (query !== null) {
    signal?.throwIfAborted();
    const found = await retriever.search(query, { top, exclude: repeat ? undefined : seen });
    const sentences = found.filter(({ page, sentence }) => !seen.has(placeKey(page, sentence)));
    for (const { page, sentence } of sentences) seen.add(placeKey(page, sentence));
    const loop: Loop = { question_id, row, loop: loops.length + 1, query, sub_answer: null, sentences, stop_reason: null };
    loops.push(loop);
    query = await agent.nextQuery({ question, loops });
    if (query === null) loop.stop_reason = 'no_follow_up';
    else if (loops.length === budget) [loop.stop_reason, query] = ['budget', null];
    yield loop;
  }
}

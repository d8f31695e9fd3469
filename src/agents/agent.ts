import type { Json } from '../core/manifest.js';
import type { HopRecord } from '../core/records.js';
import type { Loop, RetrievedSentence, StopReason } from '../core/trajectories.js';
import type { Usage } from '../llm/index.js';
import { type Retriever, placeKey } from '../retrieval/index.js';

/** What an agent is given for one question. It never sees the gold labels, and it cannot search past its budget. */
export interface AgentTools {
  /** The sentences that a query newly brings, one loop; null where the budget allows no other loop. */
  search: (query: string) => Promise<RetrievedSentence[] | null>;
  /** Loops that the budget still allows. */
  left: () => number;
  signal?: AbortSignal | undefined;
}

/** One loop as its agent knows it. */
export interface AgentLoop {
  query: string;
  sub_answer: string | null;
  sentences: RetrievedSentence[];
}

/** How an agent ended a question. */
export interface AgentEnd {
  stop_reason: StopReason;
  /** Of an agent that answers by itself: its answer (null where it gave none), and all that it wrote and was given to read. */
  answered?: { answer: string | null; transcript: string };
  /** What its language model's calls took. */
  usage?: Usage;
  /** What else it counts, by name; summed over the run. */
  counts?: { [name: string]: number };
}

export interface Agent {
  readonly name: string;
  /** Everything that moves its queries, for manifests. */
  readonly identity: Json;
  /** Checks, before the first question, that it can work at all. Throws InputError where it cannot. */
  prepare?(signal?: AbortSignal): Promise<void>;
  /** The loops of one question. All state of the question is the generator's own, so several may run at once. */
  run(question: string, tools: AgentTools): AsyncGenerator<AgentLoop, AgentEnd>;
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

export type SearchQuestion = { record: Pick<HopRecord, 'question_id' | 'row' | 'question'>; retriever: Retriever } & LoopOptions;

/**
 * The loops of one question, up to the budget, whatever any policy would have stopped. Loops are yielded as soon as they are whole, so that
 * their `stop_reason` is not known yet (null); how the question ended is what the generator returns.
 */
export async function* searchLoops(agent: Agent, { record, retriever, ...options }: SearchQuestion): AsyncGenerator<Loop, AgentEnd> {
  const { budget = DEFAULT_LOOPS.budget, top = DEFAULT_LOOPS.top, repeat = false, signal } = options;
  if (!(Number.isInteger(budget) && budget >= 1)) throw new RangeError(`budget: got ${budget}, expected an integer of at least 1`);
  const { question_id, row, question } = record;
  const seen = new Set<string>();
  let searched = 0;
  const search: AgentTools['search'] = async (query) => {
    signal?.throwIfAborted();
    if (searched === budget) return null;
    searched++;
    const found = await retriever.search(query, { top, exclude: repeat ? undefined : seen, signal });
    const sentences = found.filter(({ page, sentence }) => !seen.has(placeKey(page, sentence)));
    for (const { page, sentence } of sentences) seen.add(placeKey(page, sentence));
    return sentences;
  };
  const loops = agent.run(question, { search, left: () => budget - searched, signal });
  for (let loop = 1; ; loop++) {
    signal?.throwIfAborted();
    const next = await loops.next();
    if (next.done) return next.value;
    yield { question_id, row, loop, ...next.value, stop_reason: null };
  }
}

/** All loops of one question, the last with the reason that ended it, and how the agent ended. */
export async function searchQuestion(agent: Agent, question: SearchQuestion): Promise<{ loops: Loop[]; end: AgentEnd }> {
  const loops: Loop[] = [];
  const search = searchLoops(agent, question);
  for (;;) {
    const next = await search.next();
    if (!next.done) {
      loops.push(next.value);
      continue;
    }
    const last = loops.at(-1);
    if (last) last.stop_reason = next.value.stop_reason;
    return { loops, end: next.value };
  }
}

/** What an agent sees that only asks queries: the question and its loops so far. */
export interface QueryState {
  question: string;
  loops: readonly AgentLoop[];
}

/** An agent that has nothing but the next query to say; null where it has none, which ends the question. */
export function queryAgent(name: string, identity: Json, nextQuery: (state: QueryState) => string | null): Agent {
  return {
    name,
    identity,
    run: async function* (question, { search }) {
      const loops: AgentLoop[] = [];
      for (;;) {
        const query = nextQuery({ question, loops });
        if (query === null) return { stop_reason: 'no_follow_up' };
        const sentences = await search(query);
        if (sentences === null) return { stop_reason: 'budget' };
        const loop: AgentLoop = { query, sub_answer: null, sentences };
        loops.push(loop);
        yield loop;
      }
    },
  };
}

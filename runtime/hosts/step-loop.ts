import type { GateSession } from '../session/session.js';
import { type GuardedSearch, type SearchReading, guardedSearch } from './guarded-search.js';

/** The parts of a step that are read: one request to the model and the tools it called. The Vercel AI SDK's, and Mastra's after it. */
export interface Step {
  text?: string;
  toolCalls?: readonly { toolName: string; toolCallId: string; providerExecuted?: boolean | undefined }[];
  content?: readonly { type: string; toolCallId?: string }[];
  usage?: { inputTokens?: number | undefined; outputTokens?: number | undefined; totalTokens?: number | undefined } | undefined;
}

/** Asked by the host after a step with tool calls: true ends its loop. */
export type StopWhen = (options: { steps: readonly Step[] }) => PromiseLike<boolean> | boolean;

/** One question's run in a host that takes step after step, over all calls of the host. */
export interface StepLoop {
  readonly guard: GuardedSearch;
  /** Requests to which the model had to answer. */
  finals: number;
  /** Steps of the host's calls before the present one, and of this one as far as they are known. */
  before: readonly Step[];
  steps: readonly Step[];
  /** Tells the session what the present call's steps cost, as far as it was not told yet. */
  spend(steps: readonly Step[]): void;
  /** The present call has ended. */
  endCall(): void;
}

/** Requests for the final answer: one, and one more where the first brought none. */
export const MOST_FINALS = 2;

/** Requests before the answer is asked for, where nothing else is said: also what ai's agents allow. */
export const DEFAULT_MAX_TURNS = 20;

export function stepLoop(session: GateSession, reading: SearchReading): StepLoop {
  let told = 0;
  return {
    guard: guardedSearch(session, reading),
    finals: 0,
    before: [],
    steps: [],
    spend(steps) {
      this.steps = steps;
      const all = [...this.before, ...steps];
      for (const { usage } of all.slice(told)) session.spend(tokensOf(usage));
      told = Math.max(told, all.length);
    },
    endCall() {
      this.before = [...this.before, ...this.steps];
      this.steps = [];
    },
  };
}

export interface StopOptions {
  /** The user's own conditions, asked in order. */
  own: readonly StopWhen[];
  maxTurns: number;
  /** The tools that are guarded. */
  guarded: () => readonly string[];
  /** What an error that was kept does here: it is thrown, or the loop ends, or goes on to where it is thrown before the next request. */
  onKept: 'throw' | 'end' | 'goOn';
}

/**
 * The host's stop condition: it ends the loop only where no answer is owed any more (known fault P79). A condition of the user's, or too many turns, end the
 * search, and the host goes on for the answer; only a tool that is not guarded, an answer by itself or one that waits for someone, ends the
 * loop at once, as the user wants it.
 */
export function stopCondition(loop: StepLoop, { own, maxTurns, guarded, onKept }: StopOptions): StopWhen {
  const { guard } = loop;
  return async ({ steps }) => {
    if (onKept === 'throw') guard.rethrow();
    loop.spend(steps);
    if (guard.kept()) return onKept === 'end';
    if (guard.session.stoppedBy !== null) return loop.finals >= MOST_FINALS;
    const all = [...loop.before, ...steps];
    if (all.length < maxTurns && !(await anyHolds(own, all))) return false;
    const names = guarded();
    if (!(steps.at(-1)?.toolCalls ?? []).every(({ toolName }) => names.includes(toolName))) return true;
    guard.session.finish('hostFinished');
    return false;
  };
}

/** A tool call without a result, which the host leaves to its user. */
export function isWaiting(step: Step | undefined): boolean {
  if (!step) return false;
  const settled = new Set(
    (step.content ?? []).filter(({ type }) => type.startsWith('tool-') && type !== 'tool-call').map((one) => one.toolCallId),
  );
  return (step.toolCalls ?? []).some(({ toolCallId, providerExecuted }) => providerExecuted !== true && !settled.has(toolCallId));
}

export function asList<T>(value: T | readonly T[] | undefined): readonly T[] {
  if (value === undefined) return [];
  return Array.isArray(value) ? (value as readonly T[]) : [value as T];
}

async function anyHolds(conditions: readonly StopWhen[], steps: readonly Step[]): Promise<boolean> {
  for (const condition of conditions) if (await condition({ steps })) return true;
  return false;
}

function tokensOf(usage: Step['usage']): number {
  const { inputTokens = 0, outputTokens = 0, totalTokens } = usage ?? {};
  return totalTokens ?? inputTokens + outputTokens;
}

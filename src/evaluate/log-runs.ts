import type { GateLog, GateLoop, LoggedSession } from '../core/gate-log.js';
import { type DatasetRun, type QuestionRun, noExclusions } from './question-run.js';
import { headerOf } from './log-traffic.js';

/**
 * Why a session of a log says nothing about agreement and cut, counted. `enforced`: its skips were not asked at. `gap`: some of its lines are
 * lost. `unfinished`: the process ended, or was killed, before the question. `error`: an error ended it. `call_bound`: `maxCalls`, `maxTokens` or
 * `maxMillis` ended it, which always-verify's own calls spend; a gate that asks less would have got further, nobody knows how far. `no_claims`:
 * the gate could not speak. `no_loop`: nothing was asked. `no_margin`, `no_verdict`: the encoder, or the decider, failed at a loop and the run went
 * on. `not_asked`: a loop in the middle was not asked at.
 */
export const LOG_EXCLUSIONS = [
  'enforced',
  'gap',
  'unfinished',
  'error',
  'call_bound',
  'no_claims',
  'no_loop',
  'no_margin',
  'no_verdict',
  'not_asked',
] as const;
export type LogExclusion = (typeof LOG_EXCLUSIONS)[number];

/** One question that ran in shadow. */
export interface ShadowQuestion {
  session: LoggedSession;
  /** Loops at which the decider was asked: what was observed. */
  observed: QuestionRun;
  /**
   * The whole trajectory under the two assumptions about the loops that nobody saw, because the agent stopped where the decider fired: the gate
   * that skips that loop asks at none of the others, or at every one. Both are the observed loops where nothing is missing.
   */
  optimistic: QuestionRun;
  pessimistic: QuestionRun;
  /** Loops that nobody saw; at most, in the pessimistic completion. */
  unseen: number;
  /** It ended where the decider fired and has no budget of steps: that the agent would have gone on is assumed. */
  assumed: boolean;
}

export interface ShadowRun {
  name: string;
  questions: ShadowQuestion[];
  sessions: number;
  excluded: Record<LogExclusion, number>;
  /** Questions that are `assumed` to go on: the most loops that any session of the log made stand for their budget. */
  withoutBudget: number;
  longest: number;
  /** Questions of which the log has neither the host's id nor the text, so that each counts as another one. */
  unnamed: number;
}

/**
 * The questions of a log that ran in shadow, as policies read them. A live shadow run follows the decider, so it ends where the decider first
 * fires, and what a gate that skips this loop would have done later was not observed. Where it stops is known all the same: later than
 * always-verify, so agreement is exact at every τ. (A fire at the last loop of the budget agrees by definition: both stop there.) Its calls are
 * not, so they are completed in two ways. No further call: the loops that are left have the last margin seen, which was above τ. One call at
 * each: they have the margin 0, which every τ of at least 0 admits, and no verdict fires. What would have happened lies between the two.
 *
 * Without a budget nothing says that a fire came at the last loop. The agent is then assumed to go on for at least one loop (**choice**), so that a
 * gate which skips the fire disagrees, and at most to as many loops as the log's longest session made; such questions are counted.
 */
export function shadowRun(log: GateLog, name: string): ShadowRun {
  const excluded = Object.fromEntries(LOG_EXCLUSIONS.map((reason) => [reason, 0])) as Record<LogExclusion, number>;
  const kept: LoggedSession[] = [];
  for (const session of log.sessions) {
    const reason = exclusionOf(session);
    if (reason === null) kept.push(session);
    else excluded[reason]++;
  }
  const longest = Math.max(0, ...kept.map((session) => session.loops.length));
  const questions = kept.map((session, row) => {
    const observed = observedRun(session, row, headerOf(log, session).settings.decider.reads_claims);
    const loops = observed.margins.length;
    const cut = !session.open.run_on && observed.fires[loops - 1] === true;
    const { budget } = session.open;
    const assumed = cut && budget === null;
    const unseen = cut ? (budget === null ? Math.max(1, longest - loops) : Math.max(0, budget - loops)) : 0;
    if (unseen === 0) return { session, observed, optimistic: observed, pessimistic: observed, unseen, assumed };
    const lastMargin = observed.margins[loops - 1] as number;
    return {
      session,
      observed,
      optimistic: completed(observed, 1, lastMargin),
      pessimistic: completed(observed, unseen, 0),
      unseen,
      assumed,
    };
  });
  return {
    name,
    questions,
    sessions: log.sessions.length,
    excluded,
    withoutBudget: questions.filter((one) => one.assumed).length,
    longest,
    unnamed: kept.filter(({ open }) => open.question_id === null && open.question === null).length,
  };
}

/** Runs of one name become one, in the order given. */
export function joinShadowRuns(runs: readonly ShadowRun[]): ShadowRun[] {
  return [...new Set(runs.map((run) => run.name))].map((name) => {
    const parts = runs.filter((run) => run.name === name);
    const excluded = Object.fromEntries(
      LOG_EXCLUSIONS.map((reason) => [reason, parts.reduce((sum, part) => sum + part.excluded[reason], 0)]),
    ) as Record<LogExclusion, number>;
    const total = (of: (part: ShadowRun) => number): number => parts.reduce((sum, part) => sum + of(part), 0);
    return {
      name,
      questions: parts.flatMap((part) => part.questions).map(renumbered),
      sessions: total((part) => part.sessions),
      excluded,
      withoutBudget: total((part) => part.withoutBudget),
      longest: Math.max(0, ...parts.map((part) => part.longest)),
      unnamed: total((part) => part.unnamed),
    };
  });
}

/** A completion of all questions as a dataset that can be calibrated on. */
export function completion(run: ShadowRun, which: 'observed' | 'optimistic' | 'pessimistic'): DatasetRun {
  const { enforced, no_claims, no_loop } = run.excluded;
  // Enforced questions are no rows of it at all: they were never meant to say anything here.
  const rows = run.sessions - enforced;
  const others = rows - run.questions.length - no_claims - no_loop;
  return {
    dataset: run.name,
    questions: run.questions.map((one) => one[which]),
    excluded: { ...noExclusions(), no_claims, no_loop, undecided: others },
    rows,
  };
}

function exclusionOf({ open, loops, end, gap }: LoggedSession): LogExclusion | null {
  if (open.mode !== 'shadow') return 'enforced';
  if (gap) return 'gap';
  if (end === null) return 'unfinished';
  if (end.stopped_by === 'error') return 'error';
  if (end.stopped_by === 'budget') return 'call_bound';
  const asked = askedLoops(loops);
  if (asked.length === 0) return 'no_loop';
  if (open.claims === 0) return 'no_claims';
  if (asked.some((one) => one.because === 'no_claims')) return 'no_claims';
  if (asked.some((one) => one.margin === null)) return 'no_margin';
  if (asked.some((one) => !one.asked)) return 'not_asked';
  return asked.some((one) => one.covered === null) ? 'no_verdict' : null;
}

/** A bound that ends a run does so before the decider is asked; such a loop has no verdict under any policy, so it is none of theirs. */
function askedLoops(loops: readonly GateLoop[]): readonly GateLoop[] {
  const last = loops.findLastIndex((one) => one.asked || one.because !== 'stopped');
  return loops.slice(0, last + 1);
}

function observedRun(session: LoggedSession, row: number, readsClaims: boolean): QuestionRun {
  const loops = askedLoops(session.loops);
  const { open, claims } = session;
  const perClaim = loops[0]?.per_claim.length ?? 0;
  return {
    // Sessions that ask the same are no independent questions.
    id: open.question_id ?? open.question ?? open.session,
    row,
    margins: Float64Array.from(loops, (one) => one.margin as number),
    fires: loops.map((one) => one.covered === true),
    goldLoop: null,
    claims: open.claims,
    deciderClaims: readsClaims ? (claims?.k ?? open.claims) : null,
    claimMargins: Array.from({ length: perClaim }, (_, claim) => Float64Array.from(loops, (one) => one.per_claim[claim] as number)),
  };
}

function completed(run: QuestionRun, loops: number, margin: number): QuestionRun {
  const longer = (margins: Float64Array, value: number): Float64Array =>
    Float64Array.from({ length: margins.length + loops }, (_, at) => margins[at] ?? value);
  return {
    ...run,
    margins: longer(run.margins, margin),
    fires: [...run.fires, ...Array.from({ length: loops }, () => false)],
    claimMargins: undefined,
  };
}

function renumbered(question: ShadowQuestion, row: number): ShadowQuestion {
  const at = (run: QuestionRun): QuestionRun => ({ ...run, row });
  return { ...question, observed: at(question.observed), optimistic: at(question.optimistic), pessimistic: at(question.pessimistic) };
}

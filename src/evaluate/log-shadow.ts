import type { ShadowQuestion, ShadowRun } from './log-runs.js';
import { completion } from './log-runs.js';
import type { Measured } from './measured.js';
import { type MeasureOptions, type Measures, measure } from './measures.js';
import { alwaysVerify, gate } from './policies.js';
import { figure, withInterval } from './text-table.js';

/** What a gate enforced at τ would have done to the questions that ran in shadow. */
export interface ShadowFigures {
  name: string;
  tau: number;
  questions: Measures['questions'];
  alwaysCalls: number;
  /** Share of questions that would have stopped at the same loop; exact. */
  agreement: Measured;
  /** Questions that would have stopped later: the decider fired where the gate skips. */
  deferred: number;
  /** Observed loops up to always-verify's stop that the gate skips. */
  skipped: number;
  /** One call at every loop that nobody saw, and no further call. */
  callCut: { pessimistic: Measured; optimistic: Measured };
  addedLoops: { pessimistic: Measured; optimistic: Measured };
  /** Questions of which loops that this gate would have come to were not observed. */
  unseen: number;
  /** Those of them that have no budget of steps: that they would have gone on is assumed. */
  assumed: number;
}

/** Null for a run without a question that was observed in shadow. */
export function shadowFigures(run: ShadowRun, tau: number, options: MeasureOptions = {}): ShadowFigures | null {
  if (run.questions.length === 0) return null;
  const of = (which: 'pessimistic' | 'optimistic'): Measures => {
    const { questions, rows } = completion(run, which);
    return measure(questions, gate(tau), { rows, ...options });
  };
  const [pessimistic, optimistic] = [of('pessimistic'), of('optimistic')];
  let [deferred, skipped] = [0, 0];
  for (const { observed, pessimistic: question } of run.questions) {
    const stop = alwaysVerify(observed).stop;
    if (gate(tau)(question).stop > stop) deferred++;
    skipped += observed.margins.subarray(0, stop).filter((margin) => margin > tau).length;
  }
  return {
    name: run.name,
    tau,
    questions: pessimistic.questions,
    alwaysCalls: pessimistic.alwaysCalls,
    agreement: pessimistic.agreement,
    deferred,
    skipped,
    callCut: { pessimistic: pessimistic.callCut, optimistic: optimistic.callCut },
    addedLoops: { pessimistic: pessimistic.addedLoops, optimistic: optimistic.addedLoops },
    unseen: run.questions.filter((one) => isOpen(one, tau)).length,
    assumed: run.questions.filter((one) => one.assumed && isOpen(one, tau)).length,
  };
}

/** The gate at τ goes on past where the log of the question ends. */
export function isOpen({ observed, pessimistic, unseen }: ShadowQuestion, tau: number): boolean {
  return unseen > 0 && gate(tau)(pessimistic).stop > observed.margins.length;
}

/** The figures in words, with the reason why the cut is an interval. */
export function shadowWords(figures: ShadowFigures): string {
  const { name, tau, questions, alwaysCalls, agreement, deferred, skipped, callCut, unseen, assumed } = figures;
  const { pessimistic, optimistic } = callCut;
  const why =
    assumed === 0
      ? `, and nothing is assumed in it: who skips a loop that fires stops later`
      : `; ${counted(assumed, 'question')} that the gate would have skipped the fire of count as not agreeing, although they have no budget of steps and nothing says that the agent would have gone on`;
  const cut =
    unseen === 0
      ? `The call cut is ${withInterval(pessimistic)}: every loop that the gate would have come to was observed.`
      : `The call cut lies between ${figure(pessimistic.value)} (one call at every remaining loop) and ${figure(optimistic.value)} (no further call): a live shadow run follows the decider and ends where it fires, so what the gate would have asked after skipping that loop was not observed (${counted(unseen, 'question')}).`;
  return `${name}: at τ ${tau} the gate would have skipped ${skipped} of the decider's ${counted(alwaysCalls, 'call')} in ${counted(questions.valid, 'question')}, and ${counted(deferred, 'question')} would have stopped later. Agreement is ${withInterval(agreement)}${why}. ${cut}`;
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

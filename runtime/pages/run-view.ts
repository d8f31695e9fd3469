import { roundMargin } from '../../src/core/units.js';
import type { GateLoop, GateSettings, LoggedSession } from '../../src/core/gate-log.js';
import { type GateDecision, gate } from '../gate/gate.js';
import { alwaysWords, gateWords, listed, stopWords, whyWords } from './run-words.js';

export interface RunViewOptions {
  /** Of the gate that logged the run. */
  settings: GateSettings;
  /** Threshold that the margins are held against. Default: the gate's own. */
  tau?: number | null | undefined;
}

export interface StepView {
  line: GateLoop;
  /** What the gate says at the page's τ; null without one. */
  says: GateDecision | null;
  /** The decider's word; null where it is not known. */
  verdict: boolean | null;
  /** `called`, `skipped`, `not called`. */
  action: 'called' | 'skipped' | 'not called';
  why: string;
  verdictWords: string;
  /** What always-verify would have done after this loop. */
  always: string;
}

/** One question's run as its page tells it. */
export interface RunView {
  /** The question, or the id that stands for it where content was not logged. */
  name: string;
  tau: number | null;
  /** The page's τ is another than the one that the gate ran with. */
  otherTau: boolean;
  steps: StepView[];
  /** How the run went and ended, what always-verify would have done, and what the gate would have. */
  stop: string;
  always: string;
  gate: string;
}

/** Reads one logged run against τ. What was not observed is said to be so, and never guessed. */
export function runView(session: LoggedSession, { settings, tau: given }: RunViewOptions): RunView {
  const { open, loops } = session;
  const tau = given === undefined ? settings.tau : given;
  const otherTau = tau !== settings.tau;
  const known = loops.map((line) => ({
    line,
    says: otherTau ? (tau === null ? null : gate(line.margin === null ? null : roundMargin(line.margin), tau)) : line.decision,
    verdict: line.covered,
  }));
  const fire = known.find((one) => one.verdict === true)?.line.loop ?? null;
  const unseen = known.filter((one) => one.verdict === null && (fire === null || one.line.loop < fire)).map(({ line: { loop } }) => loop);
  return {
    name: open.question ?? open.question_id ?? open.session,
    tau,
    otherTau,
    steps: known.map((one) => ({
      ...one,
      action: one.line.asked ? 'called' : one.line.because === 'gate' ? 'skipped' : 'not called',
      why: whyWords(one, { settings, tau, otherTau }),
      verdictWords: verdictWords(one.line),
      always: alwaysAt(one.line, fire, unseen),
    })),
    stop: stopWords(session),
    always: alwaysWords(known.length, { fire, unseen, maxCalls: open.bounds.maxCalls }),
    gate: gateWords(known, { tau, fire, enforced: open.mode === 'enforce' && !otherTau, ended: session.end !== null }),
  };
}

function verdictWords({ asked, because, covered, p, error }: GateLoop): string {
  const probability = p === null ? '' : ` (p ${p})`;
  if (covered !== null) return `${covered ? 'covered' : 'not covered'}${probability}${asked ? '' : ', without a call'}`;
  if (error !== null) return 'none, since something failed';
  if (asked) return 'none, since the decider did not answer in the time that was left';
  return because === 'gate' ? 'not known, since the decider was not asked at this loop' : 'none, since the decider was not asked';
}

function alwaysAt({ loop, covered, asked, because }: GateLoop, fire: number | null, unseen: readonly number[]): string {
  if (fire !== null && loop > fire) return `would have stopped at loop ${fire} already.`;
  if (!asked && because === 'no_claims') return 'would have gone on: there is nothing that could be covered.';
  if (covered === false) return 'would have called here, and gone on.';
  if (covered === null) return 'would have called here; whether it would have stopped was not observed.';
  return unseen.length === 0
    ? 'would have called here, and stopped.'
    : `would have called here, and stopped here at the latest; whether it would have stopped at ${listed(unseen)} was not observed.`;
}

// A population of questions whose true agreement is known at every τ, and how often a chosen τ violates the bar on it.
import { random } from '../../src/core/random.js';
import { certify } from '../../src/evaluate/guarantee.js';
import type { QuestionRun } from '../../src/evaluate/question-run.js';
import { selectTau } from '../../src/evaluate/select-tau.js';
import { thresholdCurve } from '../../src/evaluate/threshold-curve.js';

const LOOPS = 6;
/** Share of questions at which the decider never fires before the last loop: they agree at any τ. */
const NEVER = 0.3;

/**
 * The agreement of a further question at τ: the margin at the first fire is uniform on [0, 1], and the gated run stops where always-verify does
 * exactly where that margin is at most τ.
 */
export function trueAgreement(tau: number): number {
  return NEVER + (1 - NEVER) * Math.min(1, Math.max(0, tau));
}

/** Questions of that population: margins fall from loop to loop, and a decider that has fired goes on firing. */
export function drawQuestions(n: number, seed: number, name: string): QuestionRun[] {
  const stream = random(seed, 'known agreement', name);
  return Array.from({ length: n }, (_, row): QuestionRun => {
    const first = stream.float() < NEVER ? LOOPS : 1 + stream.int(LOOPS - 1);
    const atFire = stream.float();
    const margins = new Float64Array(LOOPS);
    margins[first - 1] = atFire;
    for (let loop = first - 1; loop >= 1; loop--) margins[loop - 1] = between(margins[loop] as number, 1, stream.float());
    for (let loop = first + 1; loop <= LOOPS; loop++) margins[loop - 1] = between(0, margins[loop - 2] as number, stream.float());
    const fires = Array.from({ length: LOOPS }, (_unused, at) => at + 1 >= first);
    return { id: `${name}${row}`, row, margins, fires, goldLoop: null, claims: 1, deciderClaims: 1 };
  });
}

function between(low: number, high: number, share: number): number {
  return low + (high - low) * share;
}

export interface ViolationOptions {
  /** Training datasets, all of the same population, so that nothing but chance moves τ. */
  datasets: number;
  /** Questions of each. */
  n: number;
  bar: number;
  delta: number;
  repetitions: number;
}

export interface Violations {
  /** Share of repetitions in which the τ chosen has a true agreement below the bar: point selection (LODO's rule), and with the guarantee. */
  point: number;
  guaranteed: number;
  /** Share in which the guarantee certified nothing, so that the gate calls always. */
  nothing: number;
  /** Mean call cut on the training questions. */
  pointCut: number;
  guaranteedCut: number;
}

export function violations({ datasets, n, bar, delta, repetitions }: ViolationOptions): Violations {
  const sum: Violations = { point: 0, guaranteed: 0, nothing: 0, pointCut: 0, guaranteedCut: 0 };
  for (let repetition = 0; repetition < repetitions; repetition++) {
    const curves = Array.from({ length: datasets }, (_, d) => thresholdCurve(drawQuestions(n, repetition, `set ${d} of ${datasets}, `)));
    const point = selectTau(curves, { bar, grid: 'exact' });
    const certificate = certify(curves, { bar, delta });
    const guaranteed = selectTau(curves, { bar, grid: 'exact', floor: certificate.floor });
    sum.point += Number(trueAgreement(point.tau) < bar);
    sum.guaranteed += Number(trueAgreement(guaranteed.tau) < bar);
    sum.nothing += Number(certificate.parts.some((part) => part.tau === null));
    sum.pointCut += point.after.callCut;
    sum.guaranteedCut += guaranteed.after.callCut;
  }
  for (const name of Object.keys(sum) as (keyof Violations)[]) sum[name] /= repetitions;
  return sum;
}

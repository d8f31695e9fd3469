import type { Calibration } from './calibration.js';
import { type CalibrationOptions, splitTraining } from './calibration.js';
import { alwaysVerify, gate, isCovered, isEarly } from './policies.js';
import type { DatasetRun } from './question-run.js';

/** One question under the τ that was chosen without its dataset: what stands behind a fold's figures (known fault P33). */
export interface EvaluationRow {
  dataset: string;
  question_id: string;
  row: number;
  claims: number;
  loops: number;
  /** The fold's τ; null where no fold held this dataset out (with --target, and with folds of one dataset). */
  tau: number | null;
  /** The profile's own τ. */
  profile_tau: number;
  in_training: boolean;
  /** Null where the decider never fires. */
  margin_at_first_fire: number | null;
  always_stop: number;
  always_calls: number;
  gated_stop: number;
  gated_calls: number;
  stopped_by: 'decider' | 'end';
  agrees: boolean;
  /** A decider stop before the last loop; whether it is at or after the gold loop. */
  early: boolean;
  safe: boolean | null;
  /** Null without gold labels, and where it is never reached. */
  gold_loop: number | null;
}

/** Every question of every dataset, under its fold's τ where there is one, else under the profile's. */
export function* evaluationRows(
  runs: readonly DatasetRun[],
  calibration: Calibration,
  options: CalibrationOptions,
): Generator<EvaluationRow> {
  for (const run of runs) {
    const fold = calibration.folds.find((one) => one.target === run.dataset);
    const tau = fold?.selection.tau ?? null;
    const policy = gate(tau ?? calibration.tau);
    const training = new Set(splitTraining(run, options).training);
    for (const question of run.questions) {
      const always = alwaysVerify(question);
      const gated = policy(question);
      const first = question.fires.indexOf(true);
      const early = isEarly(question, gated);
      yield {
        dataset: run.dataset,
        question_id: question.id,
        row: question.row,
        claims: question.claims,
        loops: question.margins.length,
        tau,
        profile_tau: calibration.tau,
        in_training: training.has(question),
        margin_at_first_fire: first < 0 ? null : (question.margins[first] as number),
        always_stop: always.stop,
        always_calls: always.calls,
        gated_stop: gated.stop,
        gated_calls: gated.calls,
        stopped_by: gated.stoppedBy === 'decider' ? 'decider' : 'end',
        agrees: gated.stop === always.stop,
        early,
        safe: early ? isCovered(question, gated) : null,
        gold_loop: question.goldLoop === null || question.goldLoop === Infinity ? null : question.goldLoop,
      };
    }
  }
}

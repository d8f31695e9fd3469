import { InputError } from '../core/errors.js';
import { random } from '../core/random.js';
import { type Extent, type FrontierPoint, cutAtAgreement, describe } from './frontier.js';
import { type Certificate, certify } from './guarantee.js';
import { type Measures, measure } from './measures.js';
import { OWN_QUESTIONS_RULE, ownSelection } from './own-questions.js';
import { alwaysVerify, gate } from './policies.js';
import type { DatasetRun, QuestionRun } from './question-run.js';
import { type Constraint, type SafetyReference, type Selection, type TauGrid, selectTau } from './select-tau.js';
import { type ThresholdCurve, pointAt, thresholdCurve } from './threshold-curve.js';

export interface CalibrationOptions {
  /** The least stop-loop agreement, in (0, 1]. Default 0.90. */
  bar?: number | undefined;
  /** Both constraints on each training dataset, or on the pooled questions. Default `per-dataset`. */
  constraint?: Constraint | undefined;
  /** Default `own`. Datasets without gold labels have no safety to compare. */
  safetyReference?: SafetyReference | undefined;
  /** Default 0.005. */
  grid?: TauGrid | undefined;
  /** δ of the finite-sample guarantee on agreement, in (0, 1). Default: none. */
  delta?: number | undefined;
  /** The training split: rows whose position in their file is below this. Default 600. */
  trainRows?: number | undefined;
  /** The training split by question instead; overrides `trainRows`. */
  inTraining?: ((dataset: string, questionId: string) => boolean) | undefined;
  /** Hold out this dataset alone; its name is one of the runs'. Default: each in turn. */
  target?: string | undefined;
  /**
   * With a target: its training split chooses τ too, together with the other datasets (`OWN_QUESTIONS_RULE`), and a guarantee holds for it alone. The fold is the
   * target's other questions; where there are none, the folds are parts of the training split, each with the τ of the rest. Default false.
   */
  ownQuestions?: boolean | undefined;
  /** Folds where there is one dataset only. Default 5. */
  parts?: number | undefined;
  /** Bootstrap resamples; 0 leaves the intervals out. Default 10,000. */
  resamples?: number | undefined;
  /** Default 13. */
  seed?: number | undefined;
}

/** Questions with equally many claims, held out: where the gate fails is part of a profile (known fault P34). */
export interface Slice {
  claims: number;
  questions: number;
  agreement: number;
  callCut: number;
}

export interface Fold {
  target: string;
  trainedOn: string[];
  selection: Selection;
  certificate: Certificate | null;
  /** The τ of this fold on the target's rows: all of them, and those outside the target's training split (null where there are none). */
  all: Measures;
  heldOut: Measures | null;
  /** The held-out agreement is below the bar. */
  miss: boolean;
  /** The τ chosen among all distinct margins instead of the grid, on the target's rows. */
  exact: FrontierPoint;
  /** The most that any τ reaches on the target itself at the bar: what the transfer of τ costs is the difference to it. */
  frontier: FrontierPoint;
  slices: Slice[];
}

export interface Calibration {
  mode: 'leave-one-dataset-out' | 'target' | 'k-fold';
  /** The profile's τ, chosen on the training splits of all datasets (with a target: of all others). */
  tau: number;
  extent: Extent;
  trainedOn: string[];
  selection: Selection;
  certificate: Certificate | null;
  folds: Fold[];
  /** The target, and how many questions (different ids) of its own chose τ; null where none did. */
  own: { dataset: string; questions: number } | null;
  /** No dataset has gold labels: agreement alone decided. */
  withoutGold: boolean;
  warnings: string[];
}

/**
 * Chooses τ and says how such a τ transfers (method.md §6). With several datasets each is the target once: τ is chosen on the other datasets' training splits and
 * applied once to the target. With one dataset the folds are parts of it, which says nothing about other datasets, hence the warning.
 * Throws InputError for an unknown target, or a dataset without a training question.
 */
export function calibrate(runs: readonly DatasetRun[], options: CalibrationOptions = {}): Calibration {
  const { target } = options;
  const names = runs.map((run) => run.dataset);
  if (runs.length === 0) throw new InputError('no run was given');
  if (target !== undefined && !names.includes(target)) {
    throw new InputError(`--target: got ${JSON.stringify(target)}, expected one of ${names.join(', ')}`);
  }
  if (target !== undefined && runs.length === 1) {
    throw new InputError(`--target ${target}: there is no other dataset to choose τ on; leave --target out for folds of this one`);
  }
  for (const run of runs) {
    if (run.questions.length === 0) throw new InputError(`dataset ${run.dataset}: no question is left (${exclusionWords(run)})`);
  }
  if (options.ownQuestions) refuseForOwn(options);
  const curveOf = curveCache();
  const training = new Map(runs.filter((run) => run.dataset !== target).map((run) => [run.dataset, trainingPart(run, options)]));
  const own = options.ownQuestions ? runs.find((run) => run.dataset === target) : undefined;
  const ownTraining = own && trainingPart(own, options);
  const { selection, certificate } = choose([...training.values()], curveOf, options, ownTraining);
  const folds = own
    ? ownFolds(own, training, curveOf, options)
    : runs.length === 1
      ? partFolds(runs[0] as DatasetRun, curveOf, options)
      : datasetFolds(runs, training, curveOf, options);
  const withoutGold = runs.every((run) => run.questions.every((question) => question.goldLoop === null));
  return {
    mode: runs.length === 1 ? 'k-fold' : target === undefined ? 'leave-one-dataset-out' : 'target',
    tau: selection.tau,
    extent: selection.extent,
    trainedOn: [...training.keys(), ...(own ? [own.dataset] : [])],
    own: own && ownTraining ? { dataset: own.dataset, questions: idsOf(ownTraining).length } : null,
    selection,
    certificate,
    folds,
    withoutGold,
    warnings: warningsOf(runs, folds, withoutGold, options),
  };
}

/** The questions of a dataset's training split, and the rest. */
export function splitTraining(run: DatasetRun, options: CalibrationOptions): { training: readonly QuestionRun[]; rest: QuestionRun[] } {
  const { trainRows = 600, inTraining } = options;
  const isTraining = (one: QuestionRun): boolean => (inTraining ? inTraining(run.dataset, one.id) : one.row < trainRows);
  const rest = run.questions.filter((one) => !isTraining(one));
  return { training: rest.length === 0 ? run.questions : run.questions.filter(isTraining), rest };
}

type CurveOf = (questions: readonly QuestionRun[]) => ThresholdCurve;

/** A dataset's curve serves every fold that it is in. */
function curveCache(): CurveOf {
  const curves = new Map<readonly QuestionRun[], ThresholdCurve>();
  return (questions) => {
    const known = curves.get(questions) ?? thresholdCurve(questions);
    curves.set(questions, known);
    return known;
  };
}

function trainingPart(run: DatasetRun, options: CalibrationOptions): readonly QuestionRun[] {
  const { training } = splitTraining(run, options);
  if (training.length === 0) throw new InputError(`dataset ${run.dataset}: no question of it is in the training split`);
  return training;
}

interface Choice {
  selection: Selection;
  certificate: Certificate | null;
  /** Among all distinct margins instead of the grid. */
  exactTau: number;
}

/** τ from the training parts; with own questions, from those and the parts as their prior. */
function choose(
  parts: readonly (readonly QuestionRun[])[],
  curveOf: CurveOf,
  options: CalibrationOptions,
  own?: readonly QuestionRun[],
): Choice {
  const { bar = 0.9, constraint = 'per-dataset', delta } = options;
  const others = (constraint === 'pooled' ? [parts.flat()] : parts).map(curveOf);
  const ownCurve = own && curveOf(own);
  const certificate = delta === undefined ? null : certify(ownCurve ? [ownCurve] : others, { bar, delta });
  const select = (grid: TauGrid | undefined): Selection => {
    const settings = { ...options, grid, floor: certificate?.floor };
    return ownCurve ? ownSelection(ownCurve, others, OWN_QUESTIONS_RULE, settings) : selectTau(others, settings);
  };
  const selection = select(options.grid);
  return { selection, certificate, exactTau: options.grid === 'exact' ? selection.tau : select('exact').tau };
}

/** Settings that say nothing about own questions: they have no gold labels, and are one curve with the others. */
function refuseForOwn({ target, constraint, safetyReference }: CalibrationOptions): void {
  if (target === undefined) throw new InputError('--own-questions: expected --target, the dataset whose questions they are');
  if (constraint === 'pooled')
    throw new InputError('--own-questions: the other datasets are a prior, dataset by dataset; leave --constraint pooled out');
  if (typeof safetyReference === 'number')
    throw new InputError('--own-questions: agreement alone decides; leave the number of --safety-reference out');
}

function datasetFolds(
  runs: readonly DatasetRun[],
  training: ReadonlyMap<string, readonly QuestionRun[]>,
  curveOf: CurveOf,
  options: CalibrationOptions,
): Fold[] {
  const targets = options.target === undefined ? runs : runs.filter((run) => run.dataset === options.target);
  return targets.map((run) => {
    const others = [...training].filter(([name]) => name !== run.dataset);
    const { rest } = splitTraining(run, options);
    return foldOf(run.dataset, others.map(([name]) => name), others.map(([, part]) => part), { all: run.questions, rest, rows: run.rows }, curveOf, options); // prettier-ignore
  });
}

function partFolds(run: DatasetRun, curveOf: CurveOf, options: CalibrationOptions): Fold[] {
  return partsOf(run, run.questions, options).map(({ name, inPart, others }) =>
    foldOf(name, [run.dataset], [others], { all: inPart, rest: [] }, curveOf, options),
  );
}

/** τ from own questions and the other datasets, on the target's questions that it was not chosen on. */
function ownFolds(
  run: DatasetRun,
  training: ReadonlyMap<string, readonly QuestionRun[]>,
  curveOf: CurveOf,
  options: CalibrationOptions,
): Fold[] {
  const [trainedOn, priors] = [[...training.keys(), run.dataset], [...training.values()]];
  const { training: own, rest } = splitTraining(run, options);
  if (rest.length > 0) return [foldOf(run.dataset, trainedOn, priors, { all: rest, rest: [], own }, curveOf, options)];
  return partsOf(run, own, options).map(({ name, inPart, others }) =>
    foldOf(name, trainedOn, priors, { all: inPart, rest: [], own: others }, curveOf, options),
  );
}

/** Whole ids are dealt to the parts in seeded random order, so that a repeated question is never on both sides. */
function partsOf(
  run: DatasetRun,
  questions: readonly QuestionRun[],
  { parts = 5, seed = 13 }: CalibrationOptions,
): { name: string; inPart: QuestionRun[]; others: QuestionRun[] }[] {
  const ids = random(seed, 'calibrate', 'parts', run.dataset).shuffle(idsOf(questions));
  if (ids.length < parts) {
    throw new InputError(`dataset ${run.dataset}: got ${ids.length} questions, expected at least ${parts} for ${parts} folds`);
  }
  const partOf = new Map(ids.map((id, at) => [id, at % parts]));
  return Array.from({ length: parts }, (_, part) => ({
    name: `${run.dataset} ${part + 1}/${parts}`,
    inPart: questions.filter((one) => partOf.get(one.id) === part),
    others: questions.filter((one) => partOf.get(one.id) !== part),
  }));
}

function idsOf(questions: readonly QuestionRun[]): string[] {
  return [...new Set(questions.map((one) => one.id))];
}

function foldOf(
  target: string,
  trainedOn: string[],
  parts: readonly (readonly QuestionRun[])[],
  held: { all: readonly QuestionRun[]; rest: readonly QuestionRun[]; rows?: number; own?: readonly QuestionRun[] },
  curveOf: CurveOf,
  options: CalibrationOptions,
): Fold {
  const { bar = 0.9 } = options;
  const { selection, certificate, exactTau } = choose(parts, curveOf, options, held.own);
  const curve = curveOf(held.all);
  const policy = gate(selection.tau);
  const { resamples, seed } = options;
  const all = measure(held.all, policy, { resamples, seed, rows: held.rows });
  return {
    target,
    trainedOn,
    selection,
    certificate,
    all,
    heldOut: held.rest.length === 0 ? null : measure(held.rest, policy, { resamples, seed }),
    miss: (all.agreement.value as number) < bar,
    exact: describe(pointAt(curve, exactTau)),
    frontier: cutAtAgreement(curve, bar),
    slices: slicesOf(held.all, selection.tau),
  };
}

function slicesOf(questions: readonly QuestionRun[], tau: number): Slice[] {
  const sizes = [...new Set(questions.map((one) => one.claims))].sort((a, b) => a - b);
  return sizes.map((claims) => {
    const part = questions.filter((one) => one.claims === claims);
    let [agreeing, calls, alwaysCalls] = [0, 0, 0];
    for (const one of part) {
      const [gated, always] = [gate(tau)(one), alwaysVerify(one)];
      if (gated.stop === always.stop) agreeing++;
      calls += gated.calls;
      alwaysCalls += always.calls;
    }
    return { claims, questions: part.length, agreement: agreeing / part.length, callCut: 1 - calls / alwaysCalls };
  });
}

function warningsOf(runs: readonly DatasetRun[], folds: readonly Fold[], withoutGold: boolean, options: CalibrationOptions): string[] {
  const { bar = 0.9 } = options;
  const warnings: string[] = [];
  if (runs.length === 1) {
    const name = (runs[0] as DatasetRun).dataset;
    warnings.push(`one dataset only: the folds are parts of ${name} and say nothing about how τ transfers to other questions`);
  }
  if (withoutGold) warnings.push('no supporting facts: coverage safety is unknown, agreement alone chose τ');
  for (const fold of folds) {
    if (!fold.miss) continue;
    const got = (fold.all.agreement.value as number).toFixed(3);
    warnings.push(`a miss on ${fold.target}: held-out agreement ${got} is below the bar ${bar}`);
  }
  for (const run of runs) {
    const { no_claims, no_loop, undecided, repeated } = run.excluded;
    if (no_claims + no_loop + undecided + repeated > 0) warnings.push(`${run.dataset}: left out ${exclusionWords(run)}`);
  }
  return warnings;
}

function exclusionWords({ excluded, rows }: DatasetRun): string {
  const { no_claims, no_loop, undecided, repeated } = excluded;
  return `${no_claims} without claims, ${no_loop} without a loop, ${undecided} without verdicts, ${repeated} repeated, of ${rows} rows`;
}

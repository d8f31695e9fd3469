import { type HeldOutFigures, type Profile, type ProfileFold, profileSchema } from '../../runtime/index.js';
import { product } from '../core/product.js';
import { type Calibration, type CalibrationOptions, type Fold, splitTraining } from './calibration.js';
import type { FrontierPoint } from './frontier.js';
import type { Certificate } from './guarantee.js';
import type { JoinedRuns, Repeats } from './join-runs.js';
import { QUANTILE_PROBABILITIES, firstMargins, marginQuantiles } from './margin-quantiles.js';
import type { Measures } from './measures.js';
import { OWN_QUESTIONS_RULE } from './own-questions.js';
import type { DatasetRun } from './question-run.js';
import type { Selection, TauOnTraining } from './select-tau.js';

export interface ProfileOrigin {
  options: CalibrationOptions;
  repeats: Repeats | undefined;
  /** sha256 of the list of training questions, where one was given. */
  trainListSha256: string | null;
  seed: number;
  resamples: number;
  /** Where loops of the datasets are assumed, not observed: the observed ones, in which margins are counted. Default: the datasets. */
  observed?: readonly DatasetRun[] | undefined;
  fromLog?: Profile['from_log'];
}

/** The profile file's content: τ, what it belongs to, what it was chosen on and how far it holds (architecture.md §4). */
export function makeProfile(calibration: Calibration, joined: JoinedRuns, origin: ProfileOrigin): Profile {
  const { options } = origin;
  const observed = origin.observed ?? joined.datasets;
  const { identity } = joined;
  const pooled = options.constraint === 'pooled';
  const certificate = (part: Certificate | null, trainedOn: readonly string[]): Profile['guarantee'] =>
    part && {
      delta: options.delta as number,
      bar: options.bar ?? 0.9,
      floor: part.floor,
      parts: part.parts.map((one, at) => ({
        dataset: pooled ? 'pooled' : (calibration.own?.dataset ?? (trainedOn[at] as string)),
        tau: one.tau,
        questions: one.questions,
        questions_needed: one.questionsNeeded,
        agreeing_needed: one.agreeingNeeded,
        p: one.p,
      })),
    };
  const foldOf = (fold: Fold): ProfileFold => ({
    target: fold.target,
    trained_on: fold.trainedOn,
    tau: fold.selection.tau,
    selection: selectionOf(fold.selection),
    guarantee: certificate(fold.certificate, fold.trainedOn),
    all: heldOut(fold.all),
    held_out: fold.heldOut && heldOut(fold.heldOut),
    miss: fold.miss,
    exact: pointOf(fold.exact),
    frontier: pointOf(fold.frontier),
    slices: fold.slices.map(({ claims, questions, agreement, callCut }) => ({ claims, questions, agreement, call_cut: callCut })),
  });
  const { name, version } = product();
  return profileSchema.parse({
    kind: 'hopgate calibration profile',
    format_version: 1,
    created_by: { product: name, version, command: 'calibrate', seed: origin.seed },
    tau: calibration.tau,
    extent: calibration.extent,
    encoder: identity.encoder,
    aggregation: identity.aggregation,
    policy: identity.policy,
    claim_source: identity.claimSource,
    claim_text: identity.claimText,
    drafter_sha256: identity.drafterSha256,
    evidence_text: identity.evidenceText,
    splitter: joined.splitter,
    decider: identity.decider,
    agents: joined.agents,
    corpora: joined.corpora,
    datasets: joined.datasets.map((run) => ({
      name: run.dataset,
      sha256: run.sha256,
      files: run.files,
      questions: {
        rows: run.rows,
        unique: new Set(run.questions.map((one) => one.id)).size,
        valid: run.questions.length,
      },
      training: splitTraining(run, options).training.length,
      excluded: run.excluded,
    })),
    split:
      origin.trainListSha256 === null
        ? { rule: 'first rows', rows: options.trainRows ?? 600, list_sha256: null }
        : { rule: 'listed', rows: null, list_sha256: origin.trainListSha256 },
    repeats: origin.repeats ?? null,
    mode: calibration.mode,
    trained_on: calibration.trainedOn,
    bar: options.bar ?? 0.9,
    constraint: options.constraint ?? 'per-dataset',
    safety_reference: calibration.withoutGold || calibration.own !== null ? 'none' : (options.safetyReference ?? 'own'),
    without_gold: calibration.withoutGold,
    ...(calibration.own && {
      own_questions: { ...calibration.own, prior_weight: OWN_QUESTIONS_RULE.weight, spare: 1 },
    }),
    grid: options.grid ?? 0.005,
    guarantee: certificate(calibration.certificate, calibration.trainedOn),
    selection: selectionOf(calibration.selection),
    resamples: origin.resamples,
    folds: calibration.folds.map(foldOf),
    quantiles: { probabilities: [...QUANTILE_PROBABILITIES], datasets: observed.map(marginQuantiles) },
    first_margins: firstMargins(observed),
    from_log: origin.fromLog,
    fallback: { no_claims: 'call', no_evidence: 'margin 2' },
    transferred: [],
  });
}

function heldOut(measures: Measures): HeldOutFigures {
  return {
    questions: measures.questions,
    call_cut: measures.callCut,
    agreement: measures.agreement,
    coverage_safety: measures.coverageSafety,
    own_safety: measures.ownSafety,
    delta_coverage: measures.deltaCoverage,
    added_loops: measures.addedLoops,
  };
}

function selectionOf(selection: Selection): Profile['selection'] {
  const { tau, extent, before, after, unchanged, candidates, feasible, refused } = selection;
  return { tau, extent, before: onTraining(before), after: onTraining(after), unchanged, candidates, feasible, refused };
}

function onTraining({ tau, callCut, agreement, coverageSafety }: TauOnTraining): Profile['selection']['before'] {
  return { tau, call_cut: callCut, agreement, coverage_safety: coverageSafety };
}

function pointOf({ tau, callCut, agreement, coverageSafety }: FrontierPoint): ProfileFold['exact'] {
  return { tau, call_cut: callCut, agreement, coverage_safety: coverageSafety };
}

// The door of the evaluation: policies on cached loops, the choice of τ, replay, and their words.
export { type AnswerScore, normaliseAnswer, scoreAnswer } from './answer-scores.js';
export { type BreakEvenInput, breakEven, breakEvenWords } from './break-even.js';
export { type Calibration, type CalibrationOptions, type Fold, type Slice, calibrate } from './calibration.js';
export { type ExtractRunOptions, extractRun } from './extract-run.js';
export { type EvaluationRow, evaluationRows } from './evaluation-rows.js';
export { type LoggedRuns, fromLog, loggedRuns } from './log-calibration.js';
export { type LogFigureOptions, type LogFigures, logFigures, storedLogFigures } from './log-figures.js';
export { type LogReportOptions, NO_DRIFT, logReportHtml, verdictWords } from './log-report.js';
export {
  LOG_EXCLUSIONS,
  type LogExclusion,
  type ShadowQuestion,
  type ShadowRun,
  completion,
  joinShadowRuns,
  shadowRun,
} from './log-runs.js';
export { type LogRunPages, logRunPages } from './log-run-pages.js';
export { type GateTraffic, readTraffic, trafficOf } from './log-traffic.js';
export { logWarnings } from './log-warnings.js';
export { markInSample } from './in-sample.js';
export { explainProfile, extentWords, foldTable, guaranteeWords, isDiagnostic, logWords, selectionWords } from './explain.js';
export { type Extent, type FrontierPoint, cutAtAgreement, frontier, frontierPoints } from './frontier.js';
export { type JoinedDataset, type JoinedRuns, REPEATS, type Repeats, joinRuns } from './join-runs.js';
export {
  type JudgedLabelRow,
  type VerifierDifference,
  type VerifierFigures,
  balancedRows,
  verifierDifferences,
  verifierFigures,
} from './judged-rows.js';
export { type LoadOptions, type LoadedRun, type RunIdentity, type RunSources, loadRun, runManifests } from './load-run.js';
export { makeProfile } from './make-profile.js';
export type { Measured } from './measured.js';
export { type MeasureOptions, type Measures, measure } from './measures.js';
export { type AnswerMeasures, PARITY, type Parity, measureAnswers, parityOf } from './answer-measures.js';
export { type StageCost, costWords, runCosts, usageOf } from './run-costs.js';
export { type PageOverlap, pageOverlap } from './page-overlap.js';
export {
  ALWAYS_CALL,
  NEVER_CALL,
  type Outcome,
  type Policy,
  alwaysVerify,
  fixedK,
  full,
  gate,
  marginOnly,
  matchPolicy,
  twoThreshold,
} from './policies.js';
export type { DatasetRun, Exclusions, QuestionCounts, QuestionRun } from './question-run.js';
export { type Replay, type ReplayRow, type ReplayedDataset, type ReplayedSystem, replay, replayRows, replayTable } from './replay.js';
export { type ReportSources, buildReport, readReportSources } from './report.js';
export { type Section, htmlParagraphs, htmlTable } from '../core/html-page.js';
export { CONSTRAINTS, type Constraint, type SafetyReference, type Selection, type TauGrid, selectTau } from './select-tau.js';
export { storedReplay, storedRouters } from './stored-replay.js';
export { type RunClaims, readRunClaims } from './run-claims.js';
export { type RunFolderManifest, checkVerdictsOfRun } from './same-run.js';
export { SYSTEM_NAMES } from './system-fidelity.js';
export { type SystemSettings, type SystemSpec, parseSystems, readySystem } from './systems.js';
export { figure, signed, textTable, withInterval } from './text-table.js';
export { type ThresholdCurve, thresholdCurve } from './threshold-curve.js';
export {
  OWN_QUESTIONS_RULE,
  type OwnRule,
  type OwnSelectionOptions,
  agreementRange,
  questionsForMean,
  tauFromOwn,
} from './own-questions.js';
export { type DrawnFigure, type TransferCurve, type TransferOptions, type TransferPoint, transferCurve } from './transfer-curve.js';
export { type TrainList, readTrainList } from './train-list.js';
export { type StandIn, draftedStandIn, storedMeanClaims } from './stand-in.js';
export { FRONTIER_AGREEMENT, type MeasuredFrontier, drafterFrontier, learntWarnings } from './drafter-frontier.js';
export { type RunEvidence, runEvidence } from './run-evidence.js';
export { type Ablation, type AblationWishes, ablations } from './verifier-ablations.js';
export { type RouterComparison, type RouterOptions, type RouterRow, ROUTER_BARS, compareRouters } from './compare-routers.js';
export { ROUTER_NAMES, type RouterName } from './router-scores.js';
export { routerTables } from './router-tables.js';
export { CLAIM_ORDERS, type ClaimOrder, type ClaimWork, claimOrderWork } from './claim-order.js';
export { type ContinueTrigger, continueTrigger } from './continue-trigger.js';

export {
  type CallOptions,
  type ClaimScan,
  type ClaimScanOptions,
  type ScanCall,
  type ScanPair,
  byMargin,
  claimScan,
} from './claim-scan.js';
export { type DecideRunOptions, type DecidedCounts, decideRun } from './decide-run.js';
export type { Decider, DeciderInput, Decision, Excluded, Preparation, VerdictScore } from './decider.js';
export { type FileDeciderOptions, fileDecider } from './file.js';
export { type GoldDeciderOptions, goldDecider } from './gold.js';
export { headDecider, liveHeadDecider } from './head.js';
export { type JudgeOptions, judgeDecider, liveJudgeDecider, yesShare } from './judge.js';
export {
  HYPOTHESES,
  type Hypothesis,
  type NliOptions,
  TRIVIAL_SHARES,
  hypothesisOf,
  liveNliDecider,
  nliDecider,
  trivialCell,
} from './nli.js';
export {
  type DeciderAnswer,
  type FunctionDeciderOptions,
  type LiveCallOptions,
  type LiveClaimsOptions,
  type LiveDecider,
  type LiveDeciderSession,
  type LiveLoop,
  type LiveQuestion,
  type LiveVerdict,
  functionDecider,
  liveClaimsDecider,
} from './live.js';
export { orDecider } from './or.js';
export { type StoredVerdicts, type VerdictsDetails, openVerdicts, verdictsDetails } from './read-verdicts.js';
export { CANDIDATE_RULE, type PairScore, type ScanOptions, candidateSentences, scanTrajectory } from './scan.js';
export { type SmallDeciderOptions, liveSmallDecider, smallDecider } from './small.js';
export { type ServerVerifierOptions, openServerVerifier, serverScores } from './verifier-server.js';
export { type VerifierDeciderOptions, liveVerifierDecider, verifierDecider, verifierFieldsOf } from './verifier.js';
export {
  DEFAULT_SCAN,
  DEFAULT_THRESHOLD,
  type DeciderCall,
  POLICIES,
  type Policy,
  type QuestionVerdict,
  type Scan,
  type Threshold,
  type VerdictRule,
  callsAt,
  isMatch,
  questionVerdict,
} from './verdict.js';

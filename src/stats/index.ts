// The door of the statistics: numbers to numbers, pure, seeded.
export { auditEstimate, type AuditCounts, type AuditEstimate, type Estimated } from './audit-estimate.js';
export { auroc, bootstrapAuroc, type AurocBootstrapOptions, type ScoredCases } from './auroc.js';
export { binomialSelection, type BinomialSelection, type BinomialSelectionOptions } from './binomial-selection.js';
export { binomialTest, clopperPearson, type BinomialTestOptions, type ClopperPearsonOptions } from './binomial-test.js';
export { binomialAt, binomialAtLeast, binomialAtMost, logBinomialAtLeast, logBinomialAtMost, type BinomialLaw } from './binomial.js';
export { pAbove, pBelow, percentileInterval, summariseBootstrap, type Bootstrap } from './bootstrap-interval.js';
export { FEWEST_DISCORDANT, countPairs, discordanceWarning } from './discordance.js';
export { mean, normalCdf, normalQuantile, standardDeviation } from './distributions.js';
export { formatP } from './format-p.js';
export {
  holm,
  holmCells,
  holmFamily,
  type HolmCell,
  type HolmCells,
  type HolmEndpoint,
  type HolmFamily,
  type HolmOptions,
  type HolmResult,
} from './holm.js';
export { learnThenTest, type LearnThenTestOptions, type LearnThenTestResult } from './learn-then-test.js';
export { mcnemarExact, type DiscordantCounts } from './mcnemar.js';
export { newcombePaired, type NewcombeOptions, type PairedCounts, type PairedDifference } from './newcombe.js';
export {
  SENSITIVITY_MARGINS,
  nonInferiority,
  nonInferiorityAt,
  relativeContrast,
  relativeNonInferiority,
  type NonInferiority,
  type NonInferiorityOptions,
  type NonInferioritySensitivityOptions,
  type RelativeNonInferiority,
  type RelativeNonInferiorityOptions,
} from './non-inferiority.js';
export { normalTest, type NormalTest, type NormalTestOptions } from './normal-test.js';
export {
  observedStatistics,
  pairedBootstrap,
  pairedBootstraps,
  resampleStatistics,
  type BootstrapData,
  type BootstrapOptions,
  type Drawn,
  type PairedBootstrapOptions,
  type PairedBootstrapsOptions,
  type Statistic,
  type StatisticsOf,
  type StatisticsPart,
  type Totals,
} from './paired-bootstrap.js';
export { pairedEffect, type PairedColumns, type PairedEffect } from './paired-effect.js';
export { pooledDifference, type PairedSet, type PooledDifference, type PooledDifferenceOptions } from './pooled-difference.js';
export {
  discordantDeviation,
  mcnemarPower,
  minimumDetectableEffect,
  normalPower,
  questionsForPower,
  type DetectableEffectOptions,
  type DiscordantShares,
  type McnemarPowerOptions,
  type NormalPowerOptions,
  type QuestionsForPowerOptions,
} from './power.js';
export { type ResampleDesign } from './resample.js';
export { superiority, type Superiority, type SuperiorityOptions } from './superiority.js';
export { bootstrapTost, bootstrapTostAt, tost, type Equivalence, type EquivalenceOptions, type TostOptions } from './tost.js';
export { wilson, type Interval, type WilsonOptions } from './wilson.js';

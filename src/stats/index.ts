// The door of the statistics: numbers to numbers, pure, seeded.
export { auditEstimate, type AuditCounts, type AuditEstimate, type Estimated } from './audit-estimate.js';
export { auroc, bootstrapAuroc, type AurocBootstrapOptions, type ScoredCases } from './auroc.js';
export { binomialAtLeast, binomialAtMost, logBinomialAtLeast, logBinomialAtMost, type BinomialLaw } from './binomial.js';
export { pAbove, pBelow, percentileInterval, summariseBootstrap, type Bootstrap } from './bootstrap-interval.js';
export { mean, normalCdf, normalQuantile, standardDeviation } from './distributions.js';
export { formatP } from './format-p.js';
export { holm, holmFamily, type HolmCell, type HolmFamily, type HolmOptions, type HolmResult } from './holm.js';
export { learnThenTest, type LearnThenTestOptions, type LearnThenTestResult } from './learn-then-test.js';
export { mcnemarExact, type DiscordantCounts } from './mcnemar.js';
export { newcombePaired, type NewcombeOptions, type PairedCounts, type PairedDifference } from './newcombe.js';
export { nonInferiority, type NonInferiority, type NonInferiorityOptions } from './non-inferiority.js';
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
export { type ResampleDesign } from './resample.js';
export { bootstrapTost, tost, type Equivalence, type EquivalenceOptions, type TostOptions } from './tost.js';
export { wilson, type Interval, type WilsonOptions } from './wilson.js';

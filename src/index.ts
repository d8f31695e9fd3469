// The package's main door: reading artefacts, agents over closed pools, and the evaluation.
export { CLAIM_TEXTS, type Claim, type ClaimSource, type ClaimText, claimColumns, claimText, defaultClaimText } from './core/claims.js';
export { type CoverageRule, coveredLoops, goldLoop } from './core/coverage.js';
export {
  type EmbeddingRow,
  type EncoderIdentity,
  type EvidenceText,
  type Role,
  embeddingColumns,
  evidenceText,
} from './core/embeddings.js';
export { CheckFailedError, InputError, type Place, ProfileMismatchError } from './core/errors.js';
export { type GoldHop, type GoldHops, goldHops } from './core/gold-hops.js';
export { type Label, type LabelRow, labelColumns } from './core/labels.js';
export { type Manifest, checkedFile, readManifest } from './core/manifest.js';
export { product } from './core/product.js';
export { type HopRecord, recordColumns } from './core/records.js';
export { runFolder } from './core/run-folder.js';
export { collect, readTable } from './core/tables.js';
export { type Loop, type Trajectory, groupTrajectories, trajectoryColumns } from './core/trajectories.js';
export { type DecidedQuestion, type Verdict, decidedColumns, verdictColumns } from './core/verdicts.js';
export * from './agents/index.js';
export * from './evaluate/index.js';
export * from './retrieval/index.js';

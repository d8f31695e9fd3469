export * from './deciders/index.js';
export * from './session/index.js';
export { loadServer } from './load-server.js';
export type { HttpServer, RecentSessions, RunningService, ServiceLimits, StartOptions } from './server/index.js';
export { type Draft, type Drafter, type DrafterOptions, openDraftModel, openDrafter } from './gate/drafter.js';
export { type CachedEncoder, type CacheCounts, cachedEncoder, identityHash } from './encoders/embedding-cache.js';
export { EMBEDDED, type Embedded, type EmbeddingTexts, type TextSelection, embeddingTexts } from './encoders/embedding-texts.js';
export { BUILT_IN_ENCODER, type EncodeOptions, type Encoder, type EncoderOptions, openEncoder } from './encoders/encoder.js';
export {
  DRIFT_ALPHA,
  type DriftOptions,
  type DriftState,
  MARGIN_BIN,
  type MarginHistogram,
  createDrift,
  driftReference,
  marginHistogram,
  observeDrift,
} from './gate/drift.js';
export { type GateDecision, callsDecider, gate } from './gate/gate.js';
export { type HttpEncoderOptions, openHttpEncoder } from './encoders/http-encoder.js';
export {
  ENCODER_NAMES,
  type EncoderName,
  type KnownEncoder,
  isEncoderName,
  knownEncoder,
  readEncoderRegistry,
} from './encoders/known-encoders.js';
export { type MarginRange, OUTSIDE_ALARM, marginRange } from './gate/margin-range.js';
export {
  AGGREGATIONS,
  type Aggregation,
  type MarginSettings,
  type MarginState,
  type MarginTracker,
  cosine,
  createMargin,
} from './gate/margin.js';
export { POOLINGS, type Pooling } from './encoders/pooling.js';
export { type ProfileMatch, type ProfileUse, matchProfile } from './gate/profile-match.js';
export {
  type HeldOutFigures,
  type Profile,
  type ProfileFold,
  parseProfile,
  profileSchema,
  profileText,
  readProfile,
  writeProfile,
} from './gate/profile.js';
export { DTYPES, type Dtype } from './encoders/transformers-model.js';
export { type LabelScores, labelOf } from './verifier/label-scores.js';
export { PROVIDERS, type ProviderChoice } from './models/onnx-session.js';
export { sameEncoder } from './encoders/same-encoder.js';
export { type EncodedPairs, type SmallVerifier, openSmallVerifier, readSmallVerifier } from './verifier/small-verifier.js';
export {
  type PairVerifier,
  type ReadCounts,
  type Verifier,
  type VerifierOptions,
  openTrainedTokens,
  openVerifier,
  pairScoring,
  readVerifier,
  verifierIdentity,
} from './verifier/verifier.js';
export { type KeptPrompts, type PromptSource, keptPrompts } from './verifier/verifier-prompts.js';
export { type KeysAndValues, MAY_NOT_ATTEND, type VerifierGraph, type VerifierPass, openVerifierGraph } from './verifier/verifier-model.js';
export { type NaiveOptions, scoreNaive } from './verifier/verifier-naive.js';
export { type LabelTokens, type TokenCounts, type TreeScorer, type TreeScorerOptions, treeScorer } from './verifier/verifier-scorer.js';
export { type TreePrompt } from './verifier/verifier-tree.js';
export { type ModelState, checkPulled, pullModel, pulledModels } from './models/pulled-models.js';
export { type Vectors, openVectors } from './encoders/vectors.js';
export { type WriteEmbeddingsOptions, writeEmbeddings } from './encoders/write-embeddings.js';
export { type CorpusWriteOptions, DEFAULT_PART_ROWS, type WrittenCorpus, writeCorpus } from './encoders/write-corpus.js';
export { type NliModel, type NliPair, openNliModel } from './models/nli-model.js';
export { type HeadModel, openHead } from './models/head-model.js';
export { type RunListOptions, runListPage } from './pages/run-list.js';
export { type RunPageOptions, runPage } from './pages/run-page.js';

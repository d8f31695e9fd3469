export * from './deciders/index.js';
export { type Draft, type Drafter, type DrafterOptions, openDraftModel, openDrafter } from './drafter.js';
export { type CachedEncoder, type CacheCounts, cachedEncoder, identityHash } from './embedding-cache.js';
export { EMBEDDED, type Embedded, type EmbeddingTexts, type TextSelection, embeddingTexts } from './embedding-texts.js';
export { BUILT_IN_ENCODER, type EncodeOptions, type Encoder, type EncoderOptions, openEncoder } from './encoder.js';
export { type GateDecision, callsDecider, gate } from './gate.js';
export { type HttpEncoderOptions, openHttpEncoder } from './http-encoder.js';
export { ENCODER_NAMES, type EncoderName, type KnownEncoder, isEncoderName, knownEncoder, readEncoderRegistry } from './known-encoders.js';
export { type MarginRange, OUTSIDE_ALARM, marginRange } from './margin-range.js';
export {
  AGGREGATIONS,
  type Aggregation,
  type MarginSettings,
  type MarginState,
  type MarginTracker,
  cosine,
  createMargin,
} from './margin.js';
export { POOLINGS, type Pooling } from './pooling.js';
export { type ProfileMatch, type ProfileUse, matchProfile } from './profile-match.js';
export {
  type HeldOutFigures,
  type Profile,
  type ProfileFold,
  parseProfile,
  profileSchema,
  profileText,
  readProfile,
  writeProfile,
} from './profile.js';
export { DTYPES, type Dtype } from './transformers-model.js';
export { type LabelScores, labelOf } from './label-scores.js';
export { PROVIDERS, type ProviderChoice } from './onnx-session.js';
export { sameEncoder } from './same-encoder.js';
export { type EncodedPairs, type SmallVerifier, openSmallVerifier, readSmallVerifier } from './small-verifier.js';
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
} from './verifier.js';
export { type KeptPrompts, type PromptSource, keptPrompts } from './verifier-prompts.js';
export { type KeysAndValues, MAY_NOT_ATTEND, type VerifierGraph, type VerifierPass, openVerifierGraph } from './verifier-model.js';
export { type NaiveOptions, scoreNaive } from './verifier-naive.js';
export { type LabelTokens, type TokenCounts, type TreeScorer, type TreeScorerOptions, treeScorer } from './verifier-scorer.js';
export { type TreePrompt } from './verifier-tree.js';
export { type ModelState, checkPulled, pullModel, pulledModels } from './pulled-models.js';
export { type Vectors, openVectors } from './vectors.js';
export { type WriteEmbeddingsOptions, writeEmbeddings } from './write-embeddings.js';
export { type CorpusWriteOptions, DEFAULT_PART_ROWS, type WrittenCorpus, writeCorpus } from './write-corpus.js';
export { type NliModel, type NliPair, openNliModel } from './nli-model.js';
export { type HeadModel, openHead } from './head-model.js';

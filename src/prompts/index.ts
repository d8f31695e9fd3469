export { type ChatContents, type ChatEncoder, type FittedPrompt, openChatEncoder } from './chat-encoder.js';
export {
  CLAIM_FIELDS,
  CLAIM_ROLE_DEFINITIONS,
  CLAIM_SCHEMA,
  CLAIM_TOKENS,
  type ClaimField,
  claimContents,
  claimPromptSha256,
} from './claim-prompt.js';
export {
  EXTRACTION_INPUT_TOKENS,
  EXTRACTION_TOKENS,
  type FittedExtraction,
  answerOf,
  extractionContents,
  extractionPromptSha256,
  fittedExtraction,
} from './extraction-prompt.js';
export { flareConclusion, flareSentence, flareSha256 } from './flare-prompt.js';
export { chatLayout } from './chat-template.js';
export { type HeadFields, type HeadTask, headContents, headEvidence, headPromptSha256, headText } from './head-prompts.js';
export {
  type FittedJudgement,
  JUDGE_INPUT_TOKENS,
  JUDGE_READS,
  JUDGE_WORDS,
  type JudgeReads,
  type JudgedState,
  fittedJudge,
  judgeCanaries,
  judgeContents,
  judgePromptSha256,
} from './judge-prompt.js';
export { type LabelIds, equalLabels, labelIds } from './label-ids.js';
export {
  type AnsweredQuestion,
  type ChatTurn,
  NO_ANSWER,
  SELF_ASK_STOP,
  type SelfAskLine,
  readSelfAsk,
  readShortAnswer,
  selfAskIntermediate,
  selfAskSha256,
  selfAskStep,
} from './self-ask-prompt.js';
export { spoken } from './spoken.js';
export { type CountTokens, TEMPLATE_TOKENS, cutToFit, estimateTokens } from './token-count.js';
export { type AddedToken, type TextTokenizer, openTextTokenizer } from './tokenizer.js';
export { tokenizerFolder } from './tokenizer-folder.js';
export { LABEL_DEFINITIONS, VERIFIER_LINES, promptLine, promptSha256, verifierSystem, verifierUser } from './verifier-prompt.js';
export { type VerifierTokens, openVerifierTokens, verifierTokens } from './verifier-tokens.js';

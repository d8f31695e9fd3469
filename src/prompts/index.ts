export { type ChatContents, type ChatEncoder, type FittedPrompt, openChatEncoder } from './chat-encoder.js';
export { type HeadFields, type HeadTask, headContents, headEvidence, headPromptSha256, headText } from './head-prompts.js';
export { type LabelIds, equalLabels, labelIds } from './label-ids.js';
export { type AddedToken, type TextTokenizer, openTextTokenizer } from './tokenizer.js';
export { tokenizerFolder } from './tokenizer-folder.js';
export { LABEL_DEFINITIONS, VERIFIER_LINES, promptLine, promptSha256, verifierSystem, verifierUser } from './verifier-prompt.js';
export { type VerifierTokens, openVerifierTokens, verifierTokens } from './verifier-tokens.js';

export {
  type ChatMessage,
  type ChatOptions,
  type ChatReply,
  type ChatRequest,
  type LanguageModel,
  LanguageModelError,
  NoLogprobsError,
  type TokenLogprob,
  type Usage,
} from './language-model.js';
export { addUsage, metered, noUsage } from './meter.js';
export { type Budget, BudgetError, type BudgetLimits, type BudgetOptions, type Paid, openBudget, paidWords } from './budget.js';
export { type ChatLayout, type GgufModelOptions, openGgufModel } from './gguf-model.js';
export { type HttpModelOptions, openHttpModel } from './http-model.js';
export { type Limiter, limiter } from './limiter.js';
export type { LoadPackage } from './llama-library.js';
export { type PaidModel, type PaidModelOptions, paidModel } from './paid-model.js';
export { DEFAULT_KEY_VARIABLE, PostError, type PostOptions, keyFromEnvironment, postJson, serviceAddress } from './post-json.js';
export { type Price, costOf, readPrice } from './prices.js';
export { type ReplyCache, openReplyCache, replyKey } from './reply-cache.js';

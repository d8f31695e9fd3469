export {
  type ChatMessage,
  type ChatOptions,
  type ChatReply,
  type ChatRequest,
  type LanguageModel,
  LanguageModelError,
  type TokenLogprob,
  type Usage,
} from './language-model.js';
export { addUsage, metered, noUsage } from './meter.js';

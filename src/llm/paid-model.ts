import { type Budget, BudgetError } from './budget.js';
import { type ChatReply, type ChatRequest, type LanguageModel, LanguageModelError } from './language-model.js';
import { limiter } from './limiter.js';
import { type ReplyCache, replyKey } from './reply-cache.js';

export interface PaidModelOptions {
  /** Default: every call is made, and paid. */
  cache?: ReplyCache | undefined;
  budget: Budget;
  /** Calls under way at once. Default 1. */
  concurrency?: number | undefined;
}

/** A model that pays for a reply once. */
export interface PaidModel extends LanguageModel {
  /** Replies that cost this process nothing: from the cache, or shared with an equal request under way. */
  cached(): number;
}

/**
 * Puts the cache and the budget before a model. A reply is on the disk before anything else is done with it; equal requests at one time are one
 * call; a call that is under way when the budget ends is waited for and kept.
 */
export function paidModel(model: LanguageModel, { cache, budget, concurrency = 1 }: PaidModelOptions): PaidModel {
  const inTurn = limiter(concurrency);
  const underWay = new Map<string, SharedCall>();
  let cached = 0;

  const call = (key: string, request: ChatRequest, signal: AbortSignal): Promise<ChatReply> =>
    inTurn(async () => {
      const ticket = await budget.begin(key, request, signal);
      let end: () => Promise<void> = () => ticket.fail(null);
      try {
        const reply = await model.chat(request, { signal });
        end = () => ticket.end(reply.usage);
        await cache?.put(key, reply);
        return reply;
      } catch (error) {
        if (error instanceof LanguageModelError) end = () => ticket.fail(error.took);
        throw error;
      } finally {
        await end();
      }
    }, signal);

  const kept = async (key: string, request: ChatRequest, signal: AbortSignal): Promise<ChatReply> => {
    const found = await cache?.get(key);
    if (found === undefined) return call(key, request, signal);
    cached++;
    await budget.found(key, found.usage);
    return found;
  };
  return {
    identity: model.identity,
    constrains: model.constrains,
    countTokens: model.countTokens?.bind(model),
    cached: () => cached,
    chat: async (request, options = {}) => {
      options.signal?.throwIfAborted();
      const key = replyKey(model.identity, request);
      const other = cache === undefined ? undefined : underWay.get(key);
      if (other !== undefined) {
        const reply = await other.join(options.signal);
        cached++;
        return reply;
      }
      const begun = sharedCall((own) => kept(key, request, own));
      underWay.set(key, begun);
      begun.onEnd(() => {
        if (underWay.get(key) === begun) underWay.delete(key);
      });
      return begun.join(options.signal);
    },
    close: () => model.close(),
  };
}

interface SharedCall {
  /** The reply; a caller that is aborted leaves, and the last one takes the call with it. */
  join(signal: AbortSignal | undefined): Promise<ChatReply>;
  /** Called when it has a reply or failed, and when the last caller has left it. */
  onEnd(listener: () => void): void;
}

function sharedCall(work: (signal: AbortSignal) => Promise<ChatReply>): SharedCall {
  const ended = new AbortController();
  let callers = 0;
  let onEnd: () => void = () => undefined;
  const reply = work(ended.signal);
  reply.then(
    () => onEnd(),
    () => onEnd(),
  );
  return {
    onEnd: (listener) => (onEnd = listener),
    join: (signal) => {
      callers++;
      if (signal === undefined) return reply;
      return new Promise((resolve, reject) => {
        const leave = (): void => {
          // What is under way is paid for: without more to spend it is kept all the same.
          if (signal.reason instanceof BudgetError) return;
          if (--callers > 0) return reject(signal.reason as Error);
          // None may join it any more; this caller waits until it has really ended.
          onEnd();
          ended.abort(signal.reason);
        };
        signal.addEventListener('abort', leave, { once: true });
        reply.then(resolve, reject).finally(() => signal.removeEventListener('abort', leave));
      });
    },
  };
}

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { StoppedError } from '../core/errors.js';
import { canonicalJson, sha256 } from '../core/hash.js';
import type { Json } from '../core/manifest.js';
import { writeFileAtomic } from '../core/output-folder.js';
import type { ChatReply, ChatRequest } from './language-model.js';

/** Replies of one model on the disk, one file each. Any number of processes may use one folder. */
export interface ReplyCache {
  /** Undefined where there is none, or a damaged one, which is then made again. Throws StoppedError where the disk does not give it. */
  get(key: string): Promise<ChatReply | undefined>;
  /** Whole or not at all, and there for every process once it is done. */
  put(key: string, reply: ChatReply): Promise<void>;
}

const tokens = z.array(
  z.strictObject({
    token: z.string(),
    logprob: z.number(),
    top: z.array(z.strictObject({ token: z.string(), logprob: z.number() })),
  }),
);
const entrySchema = z.strictObject({
  key: z.string(),
  reply: z.strictObject({
    text: z.string(),
    finish: z.enum(['stop', 'length']),
    usage: z.strictObject({ promptTokens: z.int().nonnegative(), completionTokens: z.int().nonnegative() }),
    logprobs: z.nullable(tokens),
  }),
});

/** sha256 of all that determines a reply: the model's identity and the whole request. Neither holds a key or an address. */
export function replyKey(identity: Json, request: ChatRequest): string {
  const { messages, maxTokens, temperature = 0, stop = [], logprobs = null, schema = null } = request;
  return sha256(
    canonicalJson({
      identity,
      messages: messages.map(({ role, content }) => ({ role, content })),
      maxTokens,
      temperature,
      stop,
      logprobs,
      schema,
    }),
  );
}

/** The replies in `cacheDir/replies`. Nothing is written before the first one. */
export function openReplyCache(cacheDir: string): ReplyCache {
  const pathOf = (key: string): string => join(cacheDir, 'replies', key.slice(0, 2), `${key}.json`);
  return {
    get: async (key) => {
      const text = await readFile(pathOf(key), 'utf8').catch((error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOENT') return undefined;
        // What cannot be read may have been paid already, and is not paid again unasked.
        throw new StoppedError(`${pathOf(key)}: a kept reply that cannot be read (${error.message})`);
      });
      return text === undefined ? undefined : whole(key, text);
    },
    put: (key, reply) => {
      const json = JSON.stringify({ key, reply });
      return writeFileAtomic(pathOf(key), `${sha256(json)} ${json}\n`);
    },
  };
}

const DIGEST_END = 64;

function whole(key: string, text: string): ChatReply | undefined {
  const json = text.slice(DIGEST_END + 1, -1);
  if (text !== `${sha256(json)} ${json}\n`) return undefined;
  const entry = entrySchema.safeParse(JSON.parse(json));
  // Of another version of this product, or copied here under another name: made again.
  return entry.success && entry.data.key === key ? entry.data.reply : undefined;
}

import { LRUCache } from 'lru-cache';
import { sha256 } from '../../src/core/hash.js';
import type { Role } from '../../src/core/embeddings.js';
import type { Encoder } from '../encoders/encoder.js';
import { KnownFailure } from './gate-errors.js';
import { orAborted, timeLimit } from './time-limit.js';

export interface SharedEncoderOptions {
  /** Texts of one request to the encoder at most. Default 256. */
  maxTexts?: number | undefined;
  /** Vectors kept in memory, the least recently used leaves first. Default 20,000 (31 MB at 384 dimensions); 0 keeps none. */
  keep?: number | undefined;
  /** Milliseconds after which a request is given up, so that one that hangs does not hold all others. Default 60,000. */
  timeout?: number | undefined;
}

/** An encoder for many sessions at once, and for their deciders. Closing it closes the encoder behind it. */
export interface SharedEncoder extends Encoder {
  readonly shared: true;
  /** Requests made to the encoder and texts in them; texts that were at hand. */
  readonly counts: { readonly requests: number; readonly encoded: number; readonly kept: number };
}

interface Waiting {
  text: string;
  role: Role;
  resolve: (vector: Float32Array) => void;
  reject: (error: unknown) => void;
}

/**
 * One encoder for many sessions: while a request runs, what others ask for waits, and goes together in the next one. There is no timer: a lone
 * session never waits for company. A text's vector does not depend on its company either (`Encoder.encode`), so sessions cannot see each other. An
 * encoder that is shared already stays as it is.
 */
export function sharedEncoder(
  encoder: Encoder | SharedEncoder,
  { maxTexts = 256, keep = 20_000, timeout = 60_000 }: SharedEncoderOptions = {},
): SharedEncoder {
  if ('shared' in encoder) return encoder;
  const kept = keep > 0 ? new LRUCache<string, Float32Array>({ max: keep }) : undefined;
  const pending = new Map<string, Promise<Float32Array>>();
  let queue: Waiting[] = [];
  let running = false;
  const counts = { requests: 0, encoded: 0, kept: 0 };

  const request = async (texts: readonly string[], role: Role): Promise<Float32Array[]> => {
    counts.requests++;
    counts.encoded += texts.length;
    const limit = timeLimit(timeout, undefined);
    return limit.race(encoder.encode(texts, role)).finally(() => limit.clear());
  };
  const answer = async (batch: readonly Waiting[], role: Role): Promise<void> => {
    try {
      const vectors = await request(
        batch.map(({ text }) => text),
        role,
      );
      for (const [at, one] of batch.entries()) one.resolve(vectors[at] as Float32Array);
    } catch (error) {
      // One session's text must not fail another's: each is tried by itself, unless time is what ran out.
      if (batch.length === 1 || error instanceof KnownFailure) for (const one of batch) one.reject(error);
      else for (const one of batch) await answer([one], role);
    }
  };

  const run = async (): Promise<void> => {
    running = true;
    // Everything that is asked for in this turn of the event loop goes together.
    await new Promise((resolve) => setImmediate(resolve));
    while (queue.length > 0) {
      const { role } = queue[0] as Waiting;
      const batch = queue.filter((one) => one.role === role).slice(0, maxTexts);
      const taken = new Set(batch);
      queue = queue.filter((one) => !taken.has(one));
      await answer(batch, role);
    }
    running = false;
  };

  const vectorOf = (text: string, role: Role): Promise<Float32Array> => {
    // A text may be a whole document, its key is short.
    const key = sha256(`${role} ${text}`);
    const known = kept?.get(key);
    if (known) {
      counts.kept++;
      return Promise.resolve(known);
    }
    const asked = pending.get(key);
    if (asked) return asked;
    const made = new Promise<Float32Array>((resolve, reject) => {
      queue.push({ text, role, resolve, reject });
    }).finally(() => pending.delete(key));
    pending.set(key, made);
    made.then(
      (vector) => kept?.set(key, vector),
      () => undefined,
    );
    return made;
  };

  return {
    shared: true,
    identity: encoder.identity,
    counts,
    tokenCount: (text, role) => encoder.tokenCount(text, role),
    close: () => encoder.close(),
    encode: (texts, role, { signal } = {}) => {
      signal?.throwIfAborted();
      const all = Promise.all(texts.map((text) => vectorOf(text, role)));
      if (!running && queue.length > 0) void run();
      return signal === undefined ? all : orAborted(all, signal);
    },
  };
}
